//! The name of one request, in its reply and in every line of the log about it.

use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderName, HeaderValue};

use crate::limits;

/// The header.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

tokio::task_local! {
    static CURRENT: HeaderValue;
}

/// The id of the HTTP request on whose behalf this code runs, for the log.
pub fn current() -> Option<String> {
    CURRENT.try_with(|id| id.to_str().map(str::to_owned).ok()).ok().flatten()
}

/// Does some work on behalf of a request.
pub(crate) fn on_behalf<T>(id: HeaderValue, work: impl Future<Output = T>) -> impl Future<Output = T> {
    CURRENT.scope(id, work)
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
    pub(crate) fn of(&self, sent: Option<&HeaderValue>) -> HeaderValue {
        if let Some(sent) = sent.filter(|sent| is_plain(sent.as_bytes())) {
            return sent.clone();
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let minted = format!("{}-{number}", self.process);
        HeaderValue::try_from(minted).unwrap_or_else(|_| HeaderValue::from_static("unnamed"))
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
        let of =
            |sent: &str| ids.of(Some(&HeaderValue::from_str(sent).unwrap())).to_str().unwrap().to_owned();
        assert_eq!(of("a.B:c-1_2"), "a.B:c-1_2");
        assert_eq!(of("a b"), "p-1");
        assert_eq!(of(&"x".repeat(129)), "p-2");
        assert_eq!(of(""), "p-3");
        assert_eq!(ids.of(None), "p-4");
    }
}
