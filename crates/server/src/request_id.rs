//! The id of one request, which is in its reply and in every log line about it.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderName, HeaderValue};

use crate::limits;

/// The header of the id.
pub(crate) static HEADER: HeaderName = HeaderName::from_static("x-request-id");

thread_local! {
    static CURRENT: RefCell<Option<RequestId>> = const { RefCell::new(None) };
}

/// The id of the HTTP request that this code runs for. For the log.
pub fn current() -> Option<String> {
    let text = |id: &RequestId| String::from_utf8_lossy(id.as_bytes()).into_owned();
    CURRENT.with(|current| current.try_borrow().ok()?.as_ref().map(text))
}

/// The id of one request. A generated id is stored inline, without allocation: every request has one, and few log lines
/// need it.
#[derive(Clone, Debug)]
pub(crate) enum RequestId {
    /// From the client.
    FromClient(HeaderValue),
    /// Generated here: the text and its length.
    Generated([u8; GENERATED_LEN], u8),
}

/// The length of the longest generated id: the ULID of the process, a hyphen and the largest number.
const GENERATED_LEN: usize = 26 + 1 + 20;

impl RequestId {
    fn generate(process: &[u8], number: u64) -> RequestId {
        let mut text = [0; GENERATED_LEN];
        let mut length = 0;
        for part in [process, b"-", itoa::Buffer::new().format(number).as_bytes()] {
            let free = &mut text[length..];
            let copied_len = part.len().min(free.len());
            free[..copied_len].copy_from_slice(&part[..copied_len]);
            length += copied_len;
        }
        RequestId::Generated(text, length as u8)
    }

    fn as_bytes(&self) -> &[u8] {
        match self {
            RequestId::FromClient(id) => id.as_bytes(),
            RequestId::Generated(text, length) => &text[..usize::from(*length)],
        }
    }

    /// Runs `f` with this id as the [`current`] one.
    pub(crate) fn in_scope<T>(&self, f: impl FnOnce() -> T) -> T {
        /// Restores the previous id, also after a panic.
        struct RestoreOnDrop(Option<RequestId>);
        impl Drop for RestoreOnDrop {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }
        let _restore = RestoreOnDrop(CURRENT.replace(Some(self.clone())));
        f()
    }

    /// The id as a header value.
    pub(crate) fn into_header_value(self) -> HeaderValue {
        match self {
            RequestId::FromClient(id) => id,
            RequestId::Generated(..) => HeaderValue::from_bytes(self.as_bytes())
                .unwrap_or_else(|_| HeaderValue::from_static("unnamed")),
        }
    }
}

/// Generates request ids: a random prefix for the process and a counter, which is cheaper than a random number each
/// time.
#[derive(Debug)]
pub(crate) struct RequestIds {
    process: String,
    next: AtomicU64,
}

impl RequestIds {
    /// Ids that begin with `process`, which must be unique.
    pub(crate) fn new(process: String) -> RequestIds {
        RequestIds { process, next: AtomicU64::new(1) }
    }

    /// The id that the client sent if it is short and plain, else a new one.
    pub(crate) fn for_request(&self, sent: Option<&HeaderValue>) -> RequestId {
        match sent.filter(|sent| is_plain(sent.as_bytes())) {
            Some(sent) => RequestId::FromClient(sent.clone()),
            None => RequestId::generate(self.process.as_bytes(), self.next.fetch_add(1, Ordering::Relaxed)),
        }
    }
}

fn is_plain(id: &[u8]) -> bool {
    (1..=limits::REQUEST_ID_CHARS_MAX).contains(&id.len())
        && id.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._:-".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_client_id_is_kept_and_others_replaced() {
        let ids = RequestIds::new("p".to_owned());
        let id_for = |sent: Option<&str>| {
            let sent = sent.map(|sent| HeaderValue::from_str(sent).unwrap());
            ids.for_request(sent.as_ref()).into_header_value().to_str().unwrap().to_owned()
        };
        assert_eq!(id_for(Some("a.B:c-1_2")), "a.B:c-1_2");
        assert_eq!(id_for(Some("a b")), "p-1");
        assert_eq!(id_for(Some(&"x".repeat(129))), "p-2");
        assert_eq!(id_for(Some("")), "p-3");
        assert_eq!(id_for(None), "p-4");
    }

    #[test]
    fn longest_generated_id_is_not_truncated() {
        let ids =
            RequestIds { process: "0123456789ABCDEFGHJKMNPQRS".to_owned(), next: AtomicU64::new(u64::MAX) };
        assert_eq!(
            ids.for_request(None).into_header_value(),
            "0123456789ABCDEFGHJKMNPQRS-18446744073709551615"
        );
    }

    #[test]
    fn nested_scope_restores_outer_request_id() {
        let ids = RequestIds::new("p".to_owned());
        assert_eq!(current(), None);
        ids.for_request(None).in_scope(|| {
            assert_eq!(current().as_deref(), Some("p-1"));
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                ids.for_request(None).in_scope(|| {
                    assert_eq!(current().as_deref(), Some("p-2"));
                    panic!("a request that fails");
                })
            }));
            assert!(panicked.is_err());
            assert_eq!(current().as_deref(), Some("p-1"));
        });
        assert_eq!(current(), None);
    }
}
