//! A link: from one address to another, with a relation and an optional note.
//!
//! Both addresses are stored in canonical form, so that all spellings of an address are equal. They are indexed by a
//! hash: an address may be longer than an index entry can be. This file knows the rows; visibility is in
//! [`visibility`](super::visibility).

use quad_core::{Result, Tag, Timestamp, canonical, typed_id};
use quad_store::{Component, Row, Sql, Tx, params};
use serde_json::{Map, Value};

use super::relation::Relation;

typed_id!(
    /// The id of a link. It begins with a timestamp, so ids are in order of creation.
    LinkId,
    "lnk_"
);

/// The tables of links.
pub const COMPONENT: Component = Component { name: "link", migrations: &[MIGRATION_1] };

const MIGRATION_1: &str = r#"
-- from_key and to_key are hashes of the canonical addresses beside them.
CREATE TABLE link (
    tenant_id TEXT NOT NULL,
    id TEXT NOT NULL,
    from_key TEXT NOT NULL,
    to_key TEXT NOT NULL,
    relation TEXT NOT NULL,
    from_uri TEXT NOT NULL,
    to_uri TEXT NOT NULL,
    note TEXT,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX link_once ON link (tenant_id, from_key, to_key, relation);
CREATE INDEX link_from ON link (tenant_id, from_key, id);
CREATE INDEX link_to ON link (tenant_id, to_key, id);

-- Between which addresses a link was last removed: see gone.rs.
CREATE TABLE link_gone (
    tenant_id TEXT NOT NULL,
    from_key TEXT NOT NULL,
    to_key TEXT NOT NULL,
    from_uri TEXT NOT NULL,
    to_uri TEXT NOT NULL,
    mark TEXT NOT NULL,
    PRIMARY KEY (tenant_id, from_key, to_key)
);
CREATE INDEX link_gone_from ON link_gone (tenant_id, from_key, mark);
CREATE INDEX link_gone_to ON link_gone (tenant_id, to_key, mark);
"#;

const COLUMNS: &str = "id, from_uri, to_uri, relation, note, created_by, created_at";

/// A canonical address with the key that indexes its links.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LinkEnd {
    pub(crate) uri: String,
    pub(crate) key: String,
}

impl LinkEnd {
    /// The end with this canonical address.
    pub(crate) fn new(uri: &str) -> LinkEnd {
        let mut key = canonical::sha256_hex(uri.as_bytes());
        // 128 bits: no accidental collisions, and a deliberate one gains nothing.
        key.truncate(32);
        LinkEnd { uri: uri.to_owned(), key }
    }
}

/// The direction in which links are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Links that start at an address.
    From,
    /// Links that end at it.
    To,
}

impl Direction {
    /// The column that indexes the links of an address.
    pub(super) fn column(self) -> &'static str {
        match self {
            Direction::From => "from_key",
            Direction::To => "to_key",
        }
    }

    /// The other end of a link.
    pub(crate) fn other_end(self, link: &Link) -> &str {
        match self {
            Direction::From => &link.to,
            Direction::To => &link.from,
        }
    }

    /// The tag of such a list.
    pub(crate) fn tag(self, end: &LinkEnd) -> Tag {
        match self {
            Direction::From => Tag::new(format!("link:from:{}", end.key)),
            Direction::To => Tag::new(format!("link:to:{}", end.key)),
        }
    }
}

/// The tag of all links.
pub(crate) fn any_link_tag() -> Tag {
    Tag::new("link:any")
}

/// A stored link.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Link {
    pub(crate) id: LinkId,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) relation: Relation,
    pub(crate) note: Option<String>,
    pub(crate) created_by: String,
    pub(crate) created_at: Timestamp,
}

impl Link {
    fn from_row(row: &Row) -> Result<Link> {
        Ok(Link {
            id: LinkId::from_db(row.text(0)?),
            from: row.text(1)?.to_owned(),
            to: row.text(2)?.to_owned(),
            relation: Relation::from_db(row.text(3)?),
            note: row.opt_text(4)?.map(str::to_owned),
            created_by: row.text(5)?.to_owned(),
            created_at: Timestamp(row.int(6)?),
        })
    }

    /// The JSON of a link.
    pub(crate) fn to_json(&self) -> Map<String, Value> {
        let mut json = Map::new();
        json.insert("id".into(), self.id.as_str().into());
        json.insert("from".into(), self.from.as_str().into());
        json.insert("to".into(), self.to.as_str().into());
        json.insert("relation".into(), self.relation.as_str().into());
        if let Some(note) = &self.note {
            json.insert("note".into(), note.as_str().into());
        }
        json.insert("created_by".into(), self.created_by.as_str().into());
        json.insert("created_at".into(), self.created_at.to_string().into());
        json
    }
}

/// Finds a link by id.
pub(crate) fn find(sql: &mut dyn Sql, id: &LinkId) -> Result<Option<Link>> {
    let row = sql.query_opt(
        &format!("SELECT {COLUMNS} FROM link WHERE tenant_id = $1 AND id = $2"),
        params![sql.tenant().as_str(), id.as_str()],
    )?;
    row.as_ref().map(Link::from_row).transpose()
}

/// Finds the link between two addresses with this relation.
pub(crate) fn find_between(
    sql: &mut dyn Sql,
    from: &LinkEnd,
    to: &LinkEnd,
    relation: &Relation,
) -> Result<Option<Link>> {
    let row = sql.query_opt(
        &format!(
            "SELECT {COLUMNS} FROM link WHERE tenant_id = $1 AND from_key = $2 AND to_key = $3 AND relation = $4"
        ),
        params![sql.tenant().as_str(), from.key.as_str(), to.key.as_str(), relation.as_str()],
    )?;
    row.as_ref().map(Link::from_row).transpose()
}

/// The links of an address in one direction, newest first, those before `before`.
pub(crate) fn list(
    sql: &mut dyn Sql,
    end: &LinkEnd,
    direction: Direction,
    before: Option<&LinkId>,
    limit: usize,
) -> Result<Vec<Link>> {
    let column = direction.column();
    let mut values =
        params![sql.tenant().as_str(), end.key.as_str(), i64::try_from(limit).unwrap_or(i64::MAX)].to_vec();
    let mut before_clause = "";
    if let Some(before) = before {
        values.push(before.as_str().into());
        before_clause = "AND id < $4";
    }
    let rows = sql.query(
        &format!(
            "SELECT {COLUMNS} FROM link WHERE tenant_id = $1 AND {column} = $2 {before_clause} ORDER BY id DESC LIMIT $3"
        ),
        &values,
    )?;
    rows.iter().map(Link::from_row).collect()
}

/// The newest links of the tenant.
pub(crate) fn list_newest(sql: &mut dyn Sql, limit: usize) -> Result<Vec<Link>> {
    let rows = sql.query(
        &format!("SELECT {COLUMNS} FROM link WHERE tenant_id = $1 ORDER BY id DESC LIMIT $2"),
        params![sql.tenant().as_str(), i64::try_from(limit).unwrap_or(i64::MAX)],
    )?;
    rows.iter().map(Link::from_row).collect()
}

/// The number of links that start at an address.
pub(crate) fn count_from(sql: &mut dyn Sql, from: &LinkEnd) -> Result<i64> {
    let row = sql.query_opt(
        "SELECT COUNT(*) FROM link WHERE tenant_id = $1 AND from_key = $2",
        params![sql.tenant().as_str(), from.key.as_str()],
    )?;
    Ok(row.map(|row| row.int(0)).transpose()?.unwrap_or(0))
}

/// Stores a new link.
pub(crate) fn insert(tx: &mut Tx<'_>, link: &Link) -> Result<()> {
    let (from, to) = (LinkEnd::new(&link.from), LinkEnd::new(&link.to));
    let tenant = tx.tenant().clone();
    tx.execute(
        "INSERT INTO link (tenant_id, id, from_key, to_key, relation, from_uri, to_uri, note, created_by, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        params![
            tenant.as_str(),
            link.id.as_str(),
            from.key.as_str(),
            to.key.as_str(),
            link.relation.as_str(),
            link.from.as_str(),
            link.to.as_str(),
            link.note.as_deref(),
            link.created_by.as_str(),
            link.created_at
        ],
    )?;
    invalidate_links(tx, &from, &to);
    Ok(())
}

/// Replaces the note of a link.
pub(crate) fn set_note(tx: &mut Tx<'_>, link: &Link, note: Option<&str>) -> Result<()> {
    let tenant = tx.tenant().clone();
    tx.execute(
        "UPDATE link SET note = $3 WHERE tenant_id = $1 AND id = $2",
        params![tenant.as_str(), link.id.as_str(), note],
    )?;
    invalidate_links(tx, &LinkEnd::new(&link.from), &LinkEnd::new(&link.to));
    Ok(())
}

/// Deletes a link. False if a concurrent call has deleted it.
pub(crate) fn delete(tx: &mut Tx<'_>, link: &Link) -> Result<bool> {
    let tenant = tx.tenant().clone();
    let removed = tx.execute(
        "DELETE FROM link WHERE tenant_id = $1 AND id = $2",
        params![tenant.as_str(), link.id.as_str()],
    )?;
    invalidate_links(tx, &LinkEnd::new(&link.from), &LinkEnd::new(&link.to));
    Ok(removed > 0)
}

fn invalidate_links(tx: &mut Tx<'_>, from: &LinkEnd, to: &LinkEnd) {
    tx.invalidate(any_link_tag());
    tx.invalidate(Direction::From.tag(from));
    tx.invalidate(Direction::To.tag(to));
}
