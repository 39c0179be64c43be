//! Projections: what a parser extracted from an artifact. Immutable; another parser version adds another projection.

use quad_core::{Error, Result, Timestamp};
use quad_store::{Row, Sql, Tx, params};
use serde_json::{Value, json};

use crate::ids::ParsedId;
use crate::{limits, raw, tags};

/// A stored projection.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Projection {
    pub id: ParsedId,
    pub raw_id: String,
    pub parser: String,
    pub parser_version: String,
    pub extracted: Value,
    pub confidence: Option<f64>,
    pub extracted_at: Timestamp,
}

const COLUMNS: &str = "id, raw_id, parser, parser_version, extracted, confidence, extracted_at";

impl Projection {
    fn from_row(row: &Row) -> Result<Projection> {
        Ok(Projection {
            id: ParsedId::from_db(row.text(0)?),
            raw_id: row.text(1)?.to_owned(),
            parser: row.text(2)?.to_owned(),
            parser_version: row.text(3)?.to_owned(),
            extracted: serde_json::from_str(row.text(4)?).map_err(Error::internal)?,
            confidence: if *row.value(5) == quad_store::Value::Null { None } else { Some(row.real(5)?) },
            extracted_at: Timestamp(row.int(6)?),
        })
    }

    /// The JSON within its artifact.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "id": self.id.as_str(),
            "raw_artifact_id": self.raw_id,
            "parser": self.parser,
            "parser_version": self.parser_version,
            "extracted": self.extracted,
            "confidence": self.confidence,
            "extracted_at": self.extracted_at,
        })
    }
}

/// The JSON Schema of [`Projection::to_json`].
pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "raw_artifact_id": {"type": "string"},
            "parser": {"type": "string"},
            "parser_version": {"type": "string"},
            "extracted": {"type": "object", "description": "What was read; its fields depend on the parser"},
            "confidence": {"type": ["number", "null"]},
            "extracted_at": {"type": "string"},
        },
        "required": ["id", "raw_artifact_id", "parser", "parser_version", "extracted", "confidence", "extracted_at"],
    })
}

/// The projections of an artifact, newest first.
pub(crate) fn by_artifact(sql: &mut dyn Sql, raw: &str) -> Result<Vec<Projection>> {
    let query = format!(
        "SELECT {COLUMNS} FROM brain_parsed WHERE tenant_id = $1 AND raw_id = $2 \
         ORDER BY parser DESC, parser_version DESC LIMIT {}",
        limits::MAX_PROJECTIONS_RETURNED
    );
    let tenant = sql.tenant().as_str().to_owned();
    sql.query(&query, params![tenant, raw])?.iter().map(Projection::from_row).collect()
}

/// Inserts a projection unless this parser version has one of the artifact. Returns its id.
pub(crate) fn get_or_insert(
    tx: &mut Tx<'_>,
    raw_id: &str,
    (parser, version): (&str, &str),
    extracted: &str,
    confidence: f64,
) -> Result<ParsedId> {
    let artifact = raw::find(tx, raw_id)?.ok_or_else(|| raw::artifact_not_found(raw_id))?;
    if artifact.tombstoned_at.is_some() {
        return Err(raw::artifact_tombstoned(raw_id));
    }
    let (tenant, now) = (tx.tenant().as_str().to_owned(), tx.now());
    let existing = tx.query_opt(
        "SELECT id FROM brain_parsed WHERE tenant_id = $1 AND raw_id = $2 AND parser = $3 AND parser_version = $4",
        params![tenant.as_str(), raw_id, parser, version],
    )?;
    if let Some(existing) = existing {
        return Ok(ParsedId::from_db(existing.text(0)?));
    }
    let id = ParsedId::generate()?;
    tx.execute(
        &format!("INSERT INTO brain_parsed (tenant_id, {COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"),
        params![tenant, id.as_str(), raw_id, parser, version, extracted, confidence, now],
    )?;
    tx.invalidate(tags::row(raw::KIND, raw_id));
    Ok(id)
}
