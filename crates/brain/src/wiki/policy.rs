//! The pages of policies.

use quad_core::Result;
use quad_store::Sql;

use super::Draft;
use super::draft::{Section, plain};
use crate::policy::{self, Policy};
use crate::{civil, noun, tags};

/// The page of one policy.
pub(super) fn draft(sql: &mut dyn Sql, id: &str) -> Result<Option<Draft>> {
    let Some(policy) = noun::find::<Policy>(sql, id)? else { return Ok(None) };
    let draft = Draft::new(sql, format!("Policy {id}"));
    Ok(Some(fill(draft, &policy)))
}

/// The page of the policy that holds, or of its absence.
pub(super) fn active(sql: &mut dyn Sql) -> Result<Draft> {
    let found = policy::active(sql)?;
    let mut draft = Draft::new(sql, "Active policy");
    draft.basis.tags.insert(tags::all("policy"));
    Ok(match found {
        Some(policy) => fill(draft, &policy),
        None => {
            draft.say(
                Section::CurrentTruth,
                "No policy is active: nothing is allowed without a person's approval",
            );
            draft
        }
    })
}

fn fill(mut draft: Draft, policy: &Policy) -> Draft {
    draft.see(policy);
    draft.say(Section::CurrentTruth, format!("{}, version {}, {}", policy.id, policy.version, policy.state));
    draft.say(
        Section::CurrentTruth,
        format!("Quorum: {} of {} signers", policy.quorum_required, policy.signers.len()),
    );
    draft.say(Section::CurrentTruth, format!("Hash of its content: {}", policy.content_hash));
    for signer in policy.signers.iter().take(10) {
        draft.say(Section::LinkedEntities, format!("Signed by {}", plain(signer)));
    }
    draft.say(Section::Timeline, format!("{}: made", civil::date(policy.standing.created_at)));
    if let Some(at) = policy.activated_at {
        draft.say(Section::Timeline, format!("{}: activated", civil::date(at)));
    }
    draft
}
