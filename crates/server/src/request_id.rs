//! The name of one request, in its reply and in every line of the log about it.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderName, HeaderValue};

use crate::limits;

/// The header.
pub(crate) static HEADER: HeaderName = HeaderName::from_static("x-request-id");

thread_local! {
    static CURRENT: RefCell<Option<RequestId>> = const { RefCell::new(None) };
}

/// The id of the HTTP request on whose behalf this code runs, for the log.
pub fn current() -> Option<String> {
    let text = |id: &RequestId| String::from_utf8_lossy(id.as_bytes()).into_owned();
    CURRENT.with(|current| current.try_borrow().ok()?.as_ref().map(text))
}

/// The name of one request. One that we have given is written where it stands, since every request has one and hardly any log
/// line asks for it.
#[derive(Clone, Debug)]
pub(crate) enum RequestId {
    /// The caller's own.
    FromClient(HeaderValue),
    /// One of ours.
    Generated([u8; GENERATED_LEN], u8),
}

/// The longest id of ours: the process's ULID, a hyphen and the largest number.
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

    /// Does some work on behalf of the request.
    pub(crate) fn in_scope<T>(&self, f: impl FnOnce() -> T) -> T {
        /// Whoever was named before is named again, also after a panic.
        struct RestoreOnDrop(Option<RequestId>);
        impl Drop for RestoreOnDrop {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }
        let _restore = RestoreOnDrop(CURRENT.replace(Some(self.clone())));
        f()
    }

    /// The header's value.
    pub(crate) fn into_header_value(self) -> HeaderValue {
        match self {
            RequestId::FromClient(id) => id,
            RequestId::Generated(..) => HeaderValue::from_bytes(self.as_bytes())
                .unwrap_or_else(|_| HeaderValue::from_static("unnamed")),
        }
    }
}

/// Gives out request ids: one random name for the process, then a counter, which costs less than chance every time.
#[derive(Debug)]
pub(crate) struct RequestIds {
    process: String,
    next: AtomicU64,
}

impl RequestIds {
    /// Ids that no other process gives out.
    pub(crate) fn new(process: String) -> RequestIds {
        RequestIds { process, next: AtomicU64::new(1) }
    }

    /// The caller's own id if it is short and plain, else a new one.
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
                    panic!("work that fails");
                })
            }));
            assert!(panicked.is_err());
            assert_eq!(current().as_deref(), Some("p-1"));
        });
        assert_eq!(current(), None);
    }
}
