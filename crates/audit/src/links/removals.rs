//! The last removal of a link between each pair of addresses: subscribers of an address must learn of a link that was
//! created and removed, and must not learn of one that was hidden from them.
//!
//! A subscriber is notified of a change only if what it sees differs ([`ReadSet::shows`](quad_core::ReadSet::shows)).
//! After a link was created and removed, it sees what it saw before, but another reader may have seen the link in
//! between. So the last removal that it could have seen is part of what it sees. One row per pair of addresses is
//! enough.

use quad_core::{Result, id};
use quad_store::{Sql, Tx, params};

use super::link::{Direction, Link, LinkEnd};
use super::visibility::LinkVisibility;
use crate::limits;

/// A removal: its mark, which only grows, and the other end.
#[derive(Clone, Debug)]
pub(crate) struct Removal {
    mark: String,
    other_uri: String,
}

/// Records the removal of a link.
pub(crate) fn record(tx: &mut Tx<'_>, link: &Link) -> Result<()> {
    let (from, to) = (LinkEnd::new(&link.from), LinkEnd::new(&link.to));
    let (tenant, mark) = (tx.tenant().clone(), id::ulid()?);
    tx.execute(
        "INSERT INTO link_gone (tenant_id, from_key, to_key, from_uri, to_uri, mark) VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT (tenant_id, from_key, to_key) DO UPDATE SET mark = excluded.mark",
        params![
            tenant.as_str(),
            from.key.as_str(),
            to.key.as_str(),
            link.from.as_str(),
            link.to.as_str(),
            mark
        ],
    )?;
    Ok(())
}

/// The last removals at an address, newest first: one more than are scanned.
pub(crate) fn list(sql: &mut dyn Sql, end: &LinkEnd, direction: Direction) -> Result<Vec<Removal>> {
    let (column, other_column) = match direction {
        Direction::From => (direction.column(), "to_uri"),
        Direction::To => (direction.column(), "from_uri"),
    };
    let rows = sql.query(
        &format!(
            "SELECT mark, {other_column} FROM link_gone WHERE tenant_id = $1 AND {column} = $2 \
             ORDER BY mark DESC LIMIT $3"
        ),
        params![sql.tenant().as_str(), end.key.as_str(), limits::REMOVALS_SCANNED_MAX as i64 + 1],
    )?;
    rows.iter()
        .map(|row| Ok(Removal { mark: row.text(0)?.to_owned(), other_uri: row.text(1)?.to_owned() }))
        .collect()
}

/// The mark of the last removal whose other end the caller can read. Beyond the scanned ones any removal counts: a
/// needless notification is better than a missing one.
pub(crate) async fn latest_visible(
    visibility: &mut LinkVisibility<'_>,
    removals: &[Removal],
) -> Result<String> {
    for removal in removals.iter().take(limits::REMOVALS_SCANNED_MAX) {
        if visibility.read_set_if_readable(&removal.other_uri).await?.is_some() {
            return Ok(removal.mark.clone());
        }
    }
    let is_truncated = removals.len() > limits::REMOVALS_SCANNED_MAX;
    Ok(removals.first().filter(|_| is_truncated).map(|removal| removal.mark.clone()).unwrap_or_default())
}
