//! The pages of policies.

use quad_core::Result;
use quad_store::Sql;

use super::PageBuilder;
use super::page_builder::{Section, escape_markdown};
use crate::policy::{self, Policy};
use crate::{calendar, entity, tags};

/// The page of one policy.
pub(super) fn build_page(sql: &mut dyn Sql, id: &str) -> Result<Option<PageBuilder>> {
    let Some(policy) = entity::find::<Policy>(sql, id)? else { return Ok(None) };
    let builder = PageBuilder::new(sql, format!("Policy {id}"));
    Ok(Some(add_policy(builder, &policy)))
}

/// The page of the active policy, or a page that says that there is none.
pub(super) fn build_active_page(sql: &mut dyn Sql) -> Result<PageBuilder> {
    let active_policy = policy::active(sql)?;
    let mut builder = PageBuilder::new(sql, "Active policy");
    builder.read_set.tags.insert(tags::rows_of_kind("policy"));
    Ok(match active_policy {
        Some(policy) => add_policy(builder, &policy),
        None => {
            builder.add_line(
                Section::CurrentTruth,
                "No policy is active: nothing is allowed without a person's approval",
            );
            builder
        }
    })
}

fn add_policy(mut builder: PageBuilder, policy: &Policy) -> PageBuilder {
    builder.depend_on(policy);
    builder.add_line(
        Section::CurrentTruth,
        format!("{}, version {}, {}", policy.id, policy.version, policy.state),
    );
    builder.add_line(
        Section::CurrentTruth,
        format!("Quorum: {} of {} signers", policy.quorum_required, policy.signers.len()),
    );
    builder.add_line(Section::CurrentTruth, format!("Hash of its content: {}", policy.content_hash));
    for signer in policy.signers.iter().take(10) {
        builder.add_line(Section::LinkedEntities, format!("Signed by {}", escape_markdown(signer)));
    }
    builder.add_line(Section::Timeline, format!("{}: made", calendar::format_date(policy.meta.created_at)));
    if let Some(at) = policy.activated_at {
        builder.add_line(Section::Timeline, format!("{}: activated", calendar::format_date(at)));
    }
    builder
}
