//! The gate itself: from the text of an `Authorization` header to a principal.

use std::sync::Arc;

use quad_core::{Basis, Principal, Result, Timestamp};
use quad_store::Store;

use crate::jws::{self, Claims};
use crate::key::SigningKey;
use crate::key_home::KeyHome;
use crate::limits;
use crate::refusal::{Reason, Refusal};
use crate::token;
use crate::verdicts::{self, Verdicts};

/// Authenticates callers, and makes and withdraws what they authenticate with. Cheap to clone.
#[derive(Clone)]
pub struct Gate {
    pub(crate) store: Store,
    pub(crate) key: Arc<SigningKey>,
    verdicts: Arc<Verdicts>,
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate").field("key", &self.key).finish_non_exhaustive()
    }
}

impl Gate {
    /// Opens the gate with the key that `home` keeps; the first one that opens makes the key.
    pub async fn open(store: Store, home: KeyHome) -> Result<Gate> {
        let key = home.open(&store).await?;
        Ok(Gate { store, key: Arc::new(key), verdicts: Arc::default() })
    }

    /// Who sends this `Authorization` header.
    ///
    /// The principal's proof is as old as the registry row that was read for it. The store compares it with every audit
    /// commit; when that finds it stale, call [`Gate::forget`] and authenticate again.
    pub async fn authenticate(&self, authorization: Option<&str>) -> Result<Principal, Refusal> {
        let token = authorization.and_then(bearer).ok_or(Reason::Missing)?;
        if token.len() > limits::TOKEN_BYTES {
            return Err(Reason::TooLong.into());
        }
        let (now, fingerprint) = (Timestamp::now(), verdicts::fingerprint(token));
        if let Some(principal) = self.verdicts.get(&fingerprint, now) {
            return Ok(principal);
        }
        let claims = jws::verify(&self.key, token, now)?;
        let ends_at = claims.expires_at.plus_ms(limits::CLOCK_TOLERANCE_MS);
        let principal = self.prove(claims, ends_at).await?;
        self.verdicts.put(fingerprint, principal.clone(), now, ends_at);
        Ok(principal)
    }

    /// Forgets what was found out about this header's token, because an audit commit found the proof stale.
    pub fn forget(&self, authorization: &str) {
        if let Some(token) = bearer(authorization) {
            self.verdicts.forget(&verdicts::fingerprint(token));
        }
    }

    /// Asks the registry whether signed claims still stand.
    async fn prove(&self, claims: Claims, ends_at: Timestamp) -> Result<Principal, Refusal> {
        let (id, subject) = (claims.id.clone(), claims.subject.clone());
        let (standing, version) =
            self.store.read(&claims.tenant, move |snapshot| token::standing(snapshot, &id, &subject)).await?;
        match standing {
            token::Standing::Unregistered => return Err(Reason::Unregistered.into()),
            token::Standing::Revoked => return Err(Reason::Revoked.into()),
            token::Standing::Good => {}
        }
        let mut proof = Basis::at(version).on(token::tag(&claims.id)).on(token::holder_tag(&claims.subject));
        proof.valid_until = Some(ends_at);
        Ok(Principal {
            tenant: claims.tenant,
            subject: claims.subject,
            kind: claims.kind,
            scopes: claims.scopes,
            proof: Some(proof),
            expires_at: Some(claims.expires_at),
        })
    }
}

/// The token of a `Bearer` header. Any other way to authenticate is the same as none.
fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.trim().split_once(' ')?;
    let token = token.trim_start();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}
