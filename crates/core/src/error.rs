//! One error for every scheme: a stable code, a kind, one sentence, one hint, and facts.
//!
//! An error has two faces. Outside it is the [envelope](Error::envelope): what is wrong with what the caller sent and
//! what to do next. Inside it may carry a cause, which goes to the log and nowhere else.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// What sort of failure it is; decides the protocol's numbers and statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The credential lacks a scope.
    Scope,
    /// A well-formed name of nothing (or of something that the caller cannot see: the answers are equal).
    NotFound,
    /// What was sent does not fit the grammar, the schema or the rules.
    BadInput,
    /// It fits, but not with what is there.
    Conflict,
    /// A named limit.
    Limit,
    /// Our fault.
    Internal,
    /// The credential was withdrawn between its check and the commit; the caller must be authenticated anew.
    /// Never reaches a caller.
    Credential,
}

impl Kind {
    /// The spelling in the envelope.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Scope => "scope",
            Kind::NotFound => "not_found",
            Kind::BadInput => "bad_input",
            Kind::Conflict => "conflict",
            Kind::Limit => "limit",
            Kind::Internal => "internal",
            Kind::Credential => "credential",
        }
    }
}

/// The result of everything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// A failure. Boxed inside, so that a `Result` stays small.
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

/// What has become of the audit event that a refusal must leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AuditState {
    Pending,
    Recorded,
    Failed,
}

impl Error {
    /// A failure with a code of the scheme's own vocabulary.
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

    /// A well-formed address of nothing. The sentence is the same whether the thing is missing or another tenant's.
    pub fn not_found(uri: &str) -> Error {
        Error::new(Kind::NotFound, "NOT_FOUND", "Resource not found").with_uri(uri)
    }

    /// Input outside its grammar or its rules.
    pub fn bad_input(message: impl Into<String>) -> Error {
        Error::new(Kind::BadInput, "VALIDATION_ERROR", message)
    }

    /// Our fault. The cause is for the log; the caller learns only that it was us.
    pub fn internal(cause: impl Into<Cause>) -> Error {
        let mut error = Error::new(Kind::Internal, "INTERNAL", "The server failed to answer");
        error.0.hint = Some("Try again; if it stays, the server's log has the cause".to_owned());
        error.0.cause = Some(cause.into());
        error
    }

    /// The caller lacks what `need` asks for.
    pub fn scope_missing(requirement: crate::ScopeRequirement) -> Error {
        let scopes = requirement.0.join(" or ");
        Error::new(Kind::Scope, "SCOPE_INSUFFICIENT", format!("This needs the scope {scopes}"))
            .hint("Ask for a token that has the scope; `quad token mint --scope` makes one")
            .with_detail("scope", requirement.0.first().copied().unwrap_or_default())
    }

    /// Adds what to do next.
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds the address in question.
    pub fn with_uri(mut self, uri: &str) -> Error {
        self.0.uri = Some(uri.to_owned());
        self
    }

    /// Adds a fact: a field of the envelope beyond the common ones.
    pub fn with_detail(mut self, name: &str, value: impl Into<Value>) -> Error {
        self.0.details.insert(name.to_owned(), value.into());
        self
    }

    /// Adds the cause, for the log.
    pub fn with_cause(mut self, cause: impl Into<Cause>) -> Error {
        self.0.cause = Some(cause.into());
        self
    }

    /// Puts another code on it, where a scheme documents its own.
    pub fn with_code(mut self, code: impl Into<Cow<'static, str>>) -> Error {
        self.0.code = code.into();
        self
    }

    /// Says that the audit has it: whoever answers with it has nothing left to write down.
    pub(crate) fn mark_recorded(mut self) -> Error {
        self.0.audit_state = AuditState::Recorded;
        self
    }

    /// Says that the audit could not be written, which is what this error is about: nobody is to try again.
    pub(crate) fn mark_audit_failed(mut self) -> Error {
        self.0.audit_state = AuditState::Failed;
        self
    }

    /// Whether the refusal that this became is in the audit already.
    pub fn is_recorded(&self) -> bool {
        self.0.audit_state == AuditState::Recorded
    }

    /// Whether the refusal that this becomes has still to be written down.
    pub fn needs_audit_event(&self) -> bool {
        self.0.audit_state == AuditState::Pending
    }

    /// The kind.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The code.
    pub fn code(&self) -> &str {
        &self.0.code
    }

    /// The sentence.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What to do next.
    pub fn hint_text(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// A fact of the envelope.
    pub fn detail(&self, name: &str) -> Option<&Value> {
        self.0.details.get(name)
    }

    /// The address in question.
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

    /// The face that a caller sees.
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
    fn detail_never_overrides_standard_field() {
        let error = Error::bad_input("no").with_detail("code", "other").with_detail("field", "name");
        assert_eq!(error.envelope()["code"], "VALIDATION_ERROR");
        assert_eq!(error.envelope()["field"], "name");
    }
}
