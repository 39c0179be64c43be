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
    Sent(HeaderValue),
    /// One of ours.
    Given([u8; GIVEN_BYTES], u8),
}

/// The longest id of ours: the process's ULID, a hyphen and the largest number.
const GIVEN_BYTES: usize = 26 + 1 + 20;

impl RequestId {
    fn given(process: &[u8], number: u64) -> RequestId {
        let mut text = [0; GIVEN_BYTES];
        let mut length = 0;
        for part in [process, b"-", itoa::Buffer::new().format(number).as_bytes()] {
            let room = &mut text[length..];
            let fits = part.len().min(room.len());
            room[..fits].copy_from_slice(&part[..fits]);
            length += fits;
        }
        RequestId::Given(text, length as u8)
    }

    fn as_bytes(&self) -> &[u8] {
        match self {
            RequestId::Sent(id) => id.as_bytes(),
            RequestId::Given(text, length) => &text[..usize::from(*length)],
        }
    }

    /// Does some work on behalf of the request.
    pub(crate) fn on_behalf<T>(&self, work: impl FnOnce() -> T) -> T {
        /// Whoever was named before is named again, also after a panic.
        struct Before(Option<RequestId>);
        impl Drop for Before {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }
        let _before = Before(CURRENT.replace(Some(self.clone())));
        work()
    }

    /// The header's value.
    pub(crate) fn value(self) -> HeaderValue {
        match self {
            RequestId::Sent(id) => id,
            RequestId::Given(..) => HeaderValue::from_bytes(self.as_bytes())
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
    pub(crate) fn of(&self, sent: Option<&HeaderValue>) -> RequestId {
        match sent.filter(|sent| is_plain(sent.as_bytes())) {
            Some(sent) => RequestId::Sent(sent.clone()),
            None => RequestId::given(self.process.as_bytes(), self.next.fetch_add(1, Ordering::Relaxed)),
        }
    }
}

fn is_plain(id: &[u8]) -> bool {
    (1..=limits::REQUEST_ID_CHARS).contains(&id.len())
        && id.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._:-".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_id_is_kept_and_another_replaced() {
        let ids = RequestIds::new("p".to_owned());
        let of = |sent: Option<&str>| {
            let sent = sent.map(|sent| HeaderValue::from_str(sent).unwrap());
            ids.of(sent.as_ref()).value().to_str().unwrap().to_owned()
        };
        assert_eq!(of(Some("a.B:c-1_2")), "a.B:c-1_2");
        assert_eq!(of(Some("a b")), "p-1");
        assert_eq!(of(Some(&"x".repeat(129))), "p-2");
        assert_eq!(of(Some("")), "p-3");
        assert_eq!(of(None), "p-4");
    }

    #[test]
    fn the_longest_id_of_ours_is_whole() {
        let ids =
            RequestIds { process: "0123456789ABCDEFGHJKMNPQRS".to_owned(), next: AtomicU64::new(u64::MAX) };
        assert_eq!(ids.of(None).value(), "0123456789ABCDEFGHJKMNPQRS-18446744073709551615");
    }

    #[test]
    fn work_within_work_is_named_after_its_own_request() {
        let ids = RequestIds::new("p".to_owned());
        assert_eq!(current(), None);
        ids.of(None).on_behalf(|| {
            assert_eq!(current().as_deref(), Some("p-1"));
            let broken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                ids.of(None).on_behalf(|| {
                    assert_eq!(current().as_deref(), Some("p-2"));
                    panic!("work that fails");
                })
            }));
            assert!(broken.is_err());
            assert_eq!(current().as_deref(), Some("p-1"));
        });
        assert_eq!(current(), None);
    }
}
