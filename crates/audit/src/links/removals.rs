//! Between which addresses a link was removed, and when last: so that whoever watches an address hears of a link that came and
//! went, and nobody hears of one that was hidden from him.
//!
//! A watcher is told of a change only if what it sees differs ([`ReadSet::shows`](quad_core::Basis::shows)). After a link has come and gone it
//! sees what it saw before, but somebody may have read in between; so the last removal that it could have seen belongs to what it
//! sees. One row for each pair of addresses is enough.

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

/// Writes down that a link is removed.
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

/// The last removals at an address, newest first, and one more than are looked at.
pub(crate) fn list(sql: &mut dyn Sql, end: &LinkEnd, direction: Direction) -> Result<Vec<Removal>> {
    let (column, other_column) = match direction {
        Direction::From => (direction.column(), "to_uri"),
        Direction::To => (direction.column(), "from_uri"),
    };
    let rows = sql.query(
        &format!(
            "SELECT mark, {other_column} FROM link_gone WHERE tenant_id = $1 AND {column} = $2 ORDER BY mark DESC LIMIT $3"
        ),
        params![sql.tenant().as_str(), end.key.as_str(), limits::REMOVALS_SCANNED_MAX as i64 + 1],
    )?;
    rows.iter()
        .map(|row| Ok(Removal { mark: row.text(0)?.to_owned(), other_uri: row.text(1)?.to_owned() }))
        .collect()
}

/// The mark of the last removal whose other end the caller can read. Beyond those that are looked at, any removal counts: one
/// notice too many is better than one too few.
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
