//! The error type of all schemes: a stable code, a kind, one sentence, one hint, and details.
//!
//! An error has two sides. The caller gets the [envelope](Error::envelope): what is wrong, and what to do
//! next. The log gets the cause, which the caller never sees.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// The kind of an error. It decides the JSON-RPC code and the HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The credential lacks a scope.
    Scope,
    /// A well-formed name of a resource that does not exist, or that the caller cannot see: both answers are
    /// equal.
    NotFound,
    /// The input violates the grammar, the schema or a rule.
    BadInput,
    /// The input is valid but conflicts with the stored data.
    Conflict,
    /// A named limit is exceeded.
    Limit,
    /// A fault of the server.
    Internal,
    /// The database cannot store or read anything now: a full disk, a read-only file system, an I/O error. The same
    /// request succeeds when its operator has removed the reason.
    Unavailable,
    /// The credential was revoked or changed between its check and the commit. The transport authenticates
    /// the caller again; a caller never sees this kind.
    Credential,
}

impl Kind {
    /// The name in the envelope.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Scope => "scope",
            Kind::NotFound => "not_found",
            Kind::BadInput => "bad_input",
            Kind::Conflict => "conflict",
            Kind::Limit => "limit",
            Kind::Internal => "internal",
            Kind::Unavailable => "unavailable",
            Kind::Credential => "credential",
        }
    }
}

/// The code of a database that is busy: locked, out of connections, or not reachable for a moment.
pub const BUSY: &str = "BUSY";

/// A result with [`Error`] as the default error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The detail that says after how many seconds the request may be sent again. HTTP repeats it as `Retry-After`.
pub const RETRY_AFTER_DETAIL: &str = "retry_after_seconds";

/// Seconds after which a busy database is worth another try: a restart of PostgreSQL and a burst of writes take about
/// as long.
const RETRY_AFTER_SECONDS: u64 = 1;

/// Seconds after which an unavailable database is worth another try: the operator has to act first.
const UNAVAILABLE_RETRY_SECONDS: u64 = 10;

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// An error. Boxed inside, so that a `Result` stays small.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: Kind,
    code: Cow<'static, str>,
    message: String,
    hint: Option<String>,
    uri: Option<String>,
    details: Map<String, Value>,
    cause: Option<Cause>,
    audit_state: AuditState,
}

/// The state of the audit event that a failed call must leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AuditState {
    /// Not appended yet.
    Pending,
    /// Appended.
    Recorded,
    /// The append failed; this error is the reason.
    Failed,
}

impl Error {
    /// An error with a code that a scheme documents.
    pub fn new(kind: Kind, code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Error {
        Error(Box::new(Inner {
            kind,
            code: code.into(),
            message: message.into(),
            hint: None,
            uri: None,
            details: Map::new(),
            cause: None,
            audit_state: AuditState::Pending,
        }))
    }

    /// No resource has this address. The message is the same if the resource belongs to another tenant.
    pub fn not_found(uri: &str) -> Error {
        Error::new(Kind::NotFound, "NOT_FOUND", "Resource not found").with_uri(uri)
    }

    /// Invalid input.
    pub fn bad_input(message: impl Into<String>) -> Error {
        Error::new(Kind::BadInput, "VALIDATION_ERROR", message)
    }

    /// A fault of the server. The cause goes to the log; the caller gets a general message.
    pub fn internal(cause: impl Into<Cause>) -> Error {
        let mut error = Error::new(Kind::Internal, "INTERNAL", "The server failed to answer");
        error.0.hint =
            Some("Try again; if the error persists, see the server's log for its cause".to_owned());
        error.0.cause = Some(cause.into());
        error
    }

    /// The database cannot take the request now, for a reason that passes by itself.
    pub fn busy(message: impl Into<String>) -> Error {
        Error::new(Kind::Limit, BUSY, message)
            .hint("Send the request again after a second")
            .with_detail(RETRY_AFTER_DETAIL, RETRY_AFTER_SECONDS)
    }

    /// The database cannot store or read anything until its operator has removed the reason.
    pub fn unavailable(code: &'static str, message: impl Into<String>) -> Error {
        Error::new(Kind::Unavailable, code, message)
            .with_detail(RETRY_AFTER_DETAIL, UNAVAILABLE_RETRY_SECONDS)
    }

    /// The same error for another caller. The cause is text, since a cause cannot be cloned.
    pub fn duplicate(&self) -> Error {
        let inner = &self.0;
        let cause_text = self.cause_chain();
        Error(Box::new(Inner {
            kind: inner.kind,
            code: inner.code.clone(),
            message: inner.message.clone(),
            hint: inner.hint.clone(),
            uri: inner.uri.clone(),
            details: inner.details.clone(),
            cause: (!cause_text.is_empty()).then(|| cause_text.into()),
            audit_state: inner.audit_state,
        }))
    }

    /// The caller lacks the required scope.
    pub fn scope_missing(requirement: crate::ScopeRequirement) -> Error {
        let scopes = requirement.0.join(" or ");
        Error::new(Kind::Scope, "SCOPE_INSUFFICIENT", format!("This needs the scope {scopes}"))
            .hint("Ask for a token that has the scope; `quad token mint --scope` makes one")
            .with_detail("scope", requirement.0.first().copied().unwrap_or_default())
    }

    /// Sets the hint: what to do next.
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.0.hint = Some(hint.into());
        self
    }

    /// Sets the address that the error is about.
    pub fn with_uri(mut self, uri: &str) -> Error {
        self.0.uri = Some(uri.to_owned());
        self
    }

    /// Adds a detail: a field of the envelope beyond the standard ones.
    pub fn with_detail(mut self, name: &str, value: impl Into<Value>) -> Error {
        self.0.details.insert(name.to_owned(), value.into());
        self
    }

    /// Sets the cause, for the log.
    pub fn with_cause(mut self, cause: impl Into<Cause>) -> Error {
        self.0.cause = Some(cause.into());
        self
    }

    /// Replaces the code by one that a scheme documents.
    pub fn with_code(mut self, code: impl Into<Cow<'static, str>>) -> Error {
        self.0.code = code.into();
        self
    }

    /// Rewrites the message and the hint.
    pub fn map_text(mut self, rewrite: impl Fn(&str) -> String) -> Error {
        self.0.message = rewrite(&self.0.message);
        self.0.hint = self.0.hint.as_deref().map(rewrite);
        self
    }

    /// The message and the hint as one text, for clients that show only one.
    pub fn message_with_hint(&self) -> String {
        match self.hint_text() {
            None => self.message().to_owned(),
            Some(hint) if self.message().ends_with(['.', '?', '!']) => format!("{} {hint}", self.message()),
            Some(hint) => format!("{}. {hint}", self.message()),
        }
    }

    /// Marks the audit event as appended, so that it is not appended again.
    pub(crate) fn mark_recorded(mut self) -> Error {
        self.0.audit_state = AuditState::Recorded;
        self
    }

    /// Marks this error as the failure of an audit append, so that the append is not tried again.
    pub(crate) fn mark_audit_failed(mut self) -> Error {
        self.0.audit_state = AuditState::Failed;
        self
    }

    /// Whether the audit event of this error is appended.
    pub fn is_recorded(&self) -> bool {
        self.0.audit_state == AuditState::Recorded
    }

    /// Whether the audit event of this error is still to be appended.
    pub fn needs_audit_event(&self) -> bool {
        self.0.audit_state == AuditState::Pending
    }

    /// The kind.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// Whether the server is at fault, not the request: for logs, metrics and the outcome of an audit event.
    pub fn is_server_fault(&self) -> bool {
        matches!(self.kind(), Kind::Internal | Kind::Unavailable)
    }

    /// Whether the error says nothing about the request, so that the same request may succeed later: a fault of the
    /// server, a busy database, a credential that changed.
    pub fn may_pass(&self) -> bool {
        self.is_server_fault() || self.kind() == Kind::Credential || self.code() == BUSY
    }

    /// After how many seconds the request may be sent again, if the error says so.
    pub fn retry_after_seconds(&self) -> Option<u64> {
        self.detail(RETRY_AFTER_DETAIL).and_then(Value::as_u64)
    }

    /// The code.
    pub fn code(&self) -> &str {
        &self.0.code
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The hint.
    pub fn hint_text(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// A detail of the envelope.
    pub fn detail(&self, name: &str) -> Option<&Value> {
        self.0.details.get(name)
    }

    /// The address that the error is about.
    pub fn uri(&self) -> Option<&str> {
        self.0.uri.as_deref()
    }

    /// The cause chain as one line, for the log.
    pub fn cause_chain(&self) -> String {
        let mut line = String::new();
        let mut next: Option<&(dyn std::error::Error + 'static)> =
            self.0.cause.as_deref().map(|cause| cause as _);
        while let Some(cause) = next {
            if !line.is_empty() {
                line.push_str(": ");
            }
            line.push_str(&cause.to_string());
            next = cause.source();
        }
        line
    }

    /// The error as the caller sees it. A detail never replaces a standard field.
    pub fn envelope(&self) -> Map<String, Value> {
        let inner = &self.0;
        let mut envelope = Map::new();
        envelope.insert("code".into(), inner.code.as_ref().into());
        envelope.insert("kind".into(), inner.kind.as_str().into());
        envelope.insert("message".into(), inner.message.as_str().into());
        if let Some(hint) = &inner.hint {
            envelope.insert("hint".into(), hint.as_str().into());
        }
        if let Some(uri) = &inner.uri {
            envelope.insert("uri".into(), uri.as_str().into());
        }
        for (name, value) in &inner.details {
            envelope.entry(name.as_str()).or_insert_with(|| value.clone());
        }
        envelope
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.cause.as_deref().map(|cause| cause as _)
    }
}

impl From<quad_address::AddressError> for Error {
    fn from(error: quad_address::AddressError) -> Error {
        let mapped = Error::new(Kind::BadInput, "INVALID_URI", error.to_string());
        match error.hint() {
            Some(hint) => mapped.hint(hint),
            None => mapped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_envelope_hides_the_cause() {
        let error = Error::internal("disk on fire").with_uri("x://y");
        assert_eq!(error.cause_chain(), "disk on fire");
        let json = serde_json::to_string(&error.envelope()).unwrap();
        assert!(!json.contains("fire"), "{json}");
        assert!(json.contains(r#""kind":"internal""#));
    }

    #[test]
    fn message_with_hint_is_two_sentences() {
        let check = |message: &str, expect: &str| {
            assert_eq!(Error::bad_input(message).hint("Send an id").message_with_hint(), expect);
        };
        check("The id is missing", "The id is missing. Send an id");
        check("The id is missing.", "The id is missing. Send an id");
        assert_eq!(Error::bad_input("no").message_with_hint(), "no");
    }

    #[test]
    fn duplicate_has_the_same_envelope_and_cause() {
        let error =
            Error::unavailable("DISK_FULL", "The disk is full").hint("Free space").with_cause("ENOSPC");
        let duplicate = error.duplicate();
        assert_eq!((duplicate.envelope(), duplicate.cause_chain()), (error.envelope(), error.cause_chain()));
        assert_eq!(duplicate.retry_after_seconds(), Some(UNAVAILABLE_RETRY_SECONDS));
    }

    #[test]
    fn errors_that_may_pass_are_not_about_the_request() {
        for error in [Error::internal("x"), Error::busy("x"), Error::unavailable("DISK_FULL", "x")] {
            assert!(error.may_pass(), "{error:?}");
        }
        assert!(!Error::not_found("x://y").may_pass() && !Error::busy("x").is_server_fault());
    }

    #[test]
    fn detail_never_overrides_standard_field() {
        let error = Error::bad_input("no").with_detail("code", "other").with_detail("field", "name");
        assert_eq!(error.envelope()["code"], "VALIDATION_ERROR");
        assert_eq!(error.envelope()["field"], "name");
    }
}
