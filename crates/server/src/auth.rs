//! Authentication of one request: authenticate → rate limit → call → once more if the credential changed.
//!
//! What a credential means is decided by [`AuthPolicy`](crate::auth_policy::AuthPolicy). This file turns its answer
//! into a caller or a reply. Of a protocol reply it knows only whether the credential changed.

use std::sync::Arc;
use std::time::Instant;

use axum::response::Response;
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};
use quad_auth::{AuthError, AuthErrorKind};
use quad_core::error::RETRY_AFTER_DETAIL;
use quad_core::{Error, EventDraft, Kind, Principal};
use quad_mcp::RpcError;
use quad_mcp::http_post::{PostBody, PostReply};

use crate::credential_cache::ConnectionCredentialCache;
use crate::server::Server;
use crate::{metadata, response};

/// The code of a request above its tenant's rate limit.
const RATE_LIMITED_CODE: &str = "rate_limited";

/// The credential of one request, and what is needed to check it.
pub(crate) struct RequestAuth<'a> {
    pub(crate) server: &'a Server,
    pub(crate) headers: &'a HeaderMap,
    /// The cache of the connection. Handlers behind the router do not use it.
    pub(crate) cache: Option<&'a ConnectionCredentialCache>,
    pub(crate) started: Instant,
}

/// An answer that may say that the caller's credential changed while it was computed. Such an answer had no effect.
pub(crate) trait CredentialCheck {
    /// Whether the credential changed.
    fn credential_changed(&self) -> bool;
}

impl CredentialCheck for PostReply {
    fn credential_changed(&self) -> bool {
        matches!(self.body, PostBody::CredentialChanged)
    }
}

impl<T> CredentialCheck for Result<T, RpcError> {
    fn credential_changed(&self) -> bool {
        self.as_ref().is_err_and(RpcError::needs_reauth)
    }
}

impl<T> CredentialCheck for Result<T, Error> {
    fn credential_changed(&self) -> bool {
        self.as_ref().is_err_and(|error| error.kind() == Kind::Credential)
    }
}

impl RequestAuth<'_> {
    /// Authenticates, applies the rate limit and calls. `Err` is the reply to a caller that was not admitted.
    pub(crate) async fn with_caller<T: CredentialCheck, F: Future<Output = T>>(
        &self,
        call: impl Fn(Arc<Principal>) -> F,
    ) -> Result<T, Box<Response>> {
        let caller = self.authenticate_and_limit().await?;
        self.call_as(caller, call).await
    }

    /// The caller; or the reply that says how to authenticate or, above the rate limit, when to send the request again.
    pub(crate) async fn authenticate_and_limit(&self) -> Result<Arc<Principal>, Box<Response>> {
        let caller = match self.cached_caller() {
            Some(caller) => caller,
            // Rare, and its future is large: boxed.
            None => {
                let caller = Box::pin(self.authenticate()).await?;
                if let (Some(cache), Some(header)) = (self.cache, self.headers.get(AUTHORIZATION)) {
                    cache.put(header.as_bytes(), &caller, self.started);
                }
                caller
            }
        };
        self.check_rate_limit(&caller)?;
        Ok(caller)
    }

    /// Calls for an authenticated caller. If the credential changed meanwhile, authenticates once more and calls again.
    /// The second answer counts, whatever it is.
    pub(crate) async fn call_as<T: CredentialCheck, F: Future<Output = T>>(
        &self,
        caller: Arc<Principal>,
        call: impl Fn(Arc<Principal>) -> F,
    ) -> Result<T, Box<Response>> {
        let answer = call(caller).await;
        if !answer.credential_changed() {
            return Ok(answer);
        }
        if let Some(cache) = self.cache {
            cache.clear();
        }
        self.server.auth_policy.evict(self.authorization());
        let caller = Box::pin(self.authenticate()).await?;
        Ok(Box::pin(call(caller)).await)
    }

    /// Audits a request of an authenticated caller that was rejected before it reached the protocol, as a call of
    /// `method`.
    pub(crate) async fn reject_with_audit(
        &self,
        caller: &Principal,
        method: &'static str,
        status: StatusCode,
        error: Error,
    ) -> Response {
        let event = EventDraft::call(caller, method);
        let error = self.server.state.resolver().record_refusal(caller, event, error).await;
        if error.is_recorded() {
            response::error_response(status, &error)
        } else if error.kind() == Kind::Credential {
            self.server.auth_policy.evict(self.authorization());
            self.credential_changed_response()
        } else {
            response::error_response(response::status_for_kind(error.kind()), &error)
        }
    }

    /// The reply to a credential that changed again while its call was repeated.
    pub(crate) fn credential_changed_response(&self) -> Response {
        let error = credential_error(
            "auth_token_invalid",
            "changed",
            "The bearer token is no longer valid".to_owned(),
        );
        self.unauthorized_response(true, &error)
    }

    /// The caller, if the request has exactly one credential and the connection has it in its cache.
    fn cached_caller(&self) -> Option<Arc<Principal>> {
        let cache = self.cache?;
        let mut values = self.headers.get_all(AUTHORIZATION).iter();
        let authorization = values.next()?;
        if values.next().is_some() { None } else { cache.get(authorization.as_bytes(), self.started) }
    }

    /// The caller, or the reply that says how to authenticate.
    async fn authenticate(&self) -> Result<Arc<Principal>, Box<Response>> {
        let policy = &self.server.auth_policy;
        if self.headers.get_all(AUTHORIZATION).iter().nth(1).is_some() {
            policy.count_anonymous_refusal("several_credentials", "INVALID_REQUEST");
            return Err(Box::new(response::bad_input_response(
                StatusCode::BAD_REQUEST,
                "INVALID_REQUEST",
                "The request has more than one Authorization header",
                "Send exactly one",
            )));
        }
        policy
            .authenticate(self.authorization())
            .await
            .map_err(|error| Box::new(self.auth_error_response(error)))
    }

    /// The reply to a credential that was not accepted.
    fn auth_error_response(&self, error: AuthError) -> Response {
        self.server.metrics.count_unauthorized();
        if let AuthErrorKind::Failed(error) = &error.kind {
            tracing::error!(code = error.code(), cause = error.cause_chain(), "credential check failed");
            return response::error_response(response::status_for_kind(error.kind()), error);
        }
        tracing::info!(code = error.code(), reason = error.kind.as_str(), "credential refused");
        let envelope = credential_error(error.code(), error.kind.as_str(), error.to_string());
        self.unauthorized_response(!error.is_missing(), &envelope)
    }

    /// 401, with the challenge.
    fn unauthorized_response(&self, token_was_sent: bool, error: &Error) -> Response {
        let mut response = response::error_response(StatusCode::UNAUTHORIZED, error);
        let challenge = metadata::token_challenge(self.server, self.headers, token_was_sent);
        response::set_header(&mut response, WWW_AUTHENTICATE, &challenge);
        response
    }

    /// 429 if the caller's tenant is above its rate limit.
    fn check_rate_limit(&self, caller: &Principal) -> Result<(), Box<Response>> {
        let Some(rate_limiter) = &self.server.rate_limiter else { return Ok(()) };
        let Err(wait) = rate_limiter.try_acquire(&caller.tenant, self.started) else { return Ok(()) };
        self.server.metrics.count_rate_limited();
        self.server.auth_policy.count_refusal(caller, RATE_LIMITED_CODE);
        // Rounded up to whole seconds, so that a client that waits as told is admitted.
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        let error = Error::new(Kind::Limit, RATE_LIMITED_CODE, "Rate limit exceeded")
            .hint("Wait for the number of seconds in Retry-After")
            .with_detail("per_second", rate_limiter.limit().per_second)
            .with_detail("burst", rate_limiter.limit().burst)
            .with_detail(RETRY_AFTER_DETAIL, seconds);
        Err(Box::new(response::error_response(StatusCode::TOO_MANY_REQUESTS, &error)))
    }

    /// The `Authorization` header.
    fn authorization(&self) -> Option<&str> {
        self.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok())
    }
}

/// The envelope of every rejected credential. Only the code, the reason and the message differ.
fn credential_error(code: &'static str, reason: &'static str, message: String) -> Error {
    Error::new(Kind::Credential, code, message)
        .hint("Send Authorization: Bearer with a token of this server; `quad token mint` makes one")
        .with_detail("reason", reason)
}
