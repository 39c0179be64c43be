//! The evidence, provenance and confidence of a ledger row.
//!
//! Every row cites evidence: artifacts or projections. A row that only an agent or a customer asserts has a confidence
//! of at most 0.5. A match with an extracted or confirmed row raises it.

use quad_core::{Result, Timestamp};
use quad_store::{Row, Value as Cell};
use serde_json::{Map, Value};

use crate::entity;
use crate::errors::invalid;
use crate::field::{Field, UnitInterval};
use crate::string_enum::string_enum;

string_enum!(
    /// How a row became known.
    Provenance, "provenance" {
        Extracted = "extracted",
        Inferred = "inferred",
        Ambiguous = "ambiguous",
        HumanConfirmed = "human_confirmed",
        AgentContributed = "agent_contributed",
        CustomerAsserted = "customer_asserted",
    }
);

/// The maximum confidence of a row that is only asserted.
pub(crate) const MAX_ASSERTED_CONFIDENCE: f64 = 0.5;

/// The maximum confidence after a match.
const MAX_CORROBORATED_CONFIDENCE: f64 = 0.9;

impl Provenance {
    /// True if the only source is a claim of an agent or a customer.
    pub(crate) fn is_assertion(self) -> bool {
        matches!(self, Provenance::AgentContributed | Provenance::CustomerAsserted)
    }

    /// Whether a match with such a row raises the confidence of the other.
    fn corroborates(self) -> bool {
        matches!(self, Provenance::Extracted | Provenance::HumanConfirmed)
    }

    /// Limits a confidence to what this provenance allows.
    pub(crate) fn cap(self, confidence: f64) -> f64 {
        let confidence = confidence.clamp(0.0, 1.0);
        if self.is_assertion() { confidence.min(MAX_ASSERTED_CONFIDENCE) } else { confidence }
    }
}

/// The fields that every ledger row has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RowMeta {
    /// Ids of artifacts.
    pub source_ids: Vec<String>,
    /// Ids of projections.
    pub evidence_ids: Vec<String>,
    pub provenance: Provenance,
    /// From 0 to 1, limited by the provenance.
    pub confidence: f64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// The columns of these fields.
pub(crate) const COLUMNS: &[&str] =
    &["source_ids", "evidence_ids", "provenance", "confidence", "created_at", "updated_at"];

impl RowMeta {
    /// The fields of a row that cites one artifact and perhaps its projection.
    pub(crate) fn from_artifact(
        raw: &str,
        parsed: Option<&str>,
        provenance: Provenance,
        confidence: f64,
        now: Timestamp,
    ) -> RowMeta {
        RowMeta {
            source_ids: vec![raw.to_owned()],
            evidence_ids: parsed.map(str::to_owned).into_iter().collect(),
            provenance,
            confidence: provenance.cap(confidence),
            created_at: now,
            updated_at: now,
        }
    }

    /// The fields that a line gives; those that it omits are taken from `defaults`.
    pub(crate) fn from_line(line: &Map<String, Value>, defaults: &RowMeta) -> Result<RowMeta> {
        let mut meta = defaults.clone();
        if let Some(provenance) = entity::parse_field::<Option<Provenance>>(line, "provenance")? {
            meta.provenance = provenance;
        }
        if let Some(UnitInterval(confidence)) =
            entity::parse_field::<Option<UnitInterval>>(line, "confidence")?
        {
            meta.confidence = confidence;
        }
        meta.confidence = meta.provenance.cap(meta.confidence);
        let (sources, evidence): (Vec<String>, Vec<String>) =
            (entity::parse_field(line, "source_ids")?, entity::parse_field(line, "evidence_ids")?);
        for (field, ids) in [("source_ids", &sources), ("evidence_ids", &evidence)] {
            if ids.iter().any(|id| !quad_core::id::is_id(id)) {
                return Err(invalid(field, "must be ids"));
            }
        }
        if !sources.is_empty() || !evidence.is_empty() {
            meta.source_ids = sources;
            meta.evidence_ids = evidence;
        }
        if let Some(at) = entity::parse_field::<Option<Timestamp>>(line, "created_at")? {
            meta.created_at = at;
        }
        meta.updated_at = entity::parse_field::<Option<Timestamp>>(line, "updated_at")?
            .unwrap_or(meta.created_at.max(meta.updated_at));
        Ok(meta)
    }

    /// The fields after a match with a row that has the fields `counterpart`; `None` if nothing changes.
    pub(crate) fn corroborated_by(
        &self,
        counterpart: &RowMeta,
        score: f64,
        now: Timestamp,
    ) -> Option<RowMeta> {
        if !counterpart.provenance.corroborates() {
            return None;
        }
        let confidence = self.confidence.max(score.min(MAX_CORROBORATED_CONFIDENCE));
        let provenance = if self.provenance.is_assertion() { Provenance::Extracted } else { self.provenance };
        if confidence == self.confidence && provenance == self.provenance {
            return None;
        }
        Some(RowMeta { confidence, provenance, updated_at: now, ..self.clone() })
    }

    pub(crate) fn bind(&self, cells: &mut Vec<Cell>) {
        self.source_ids.bind(cells);
        self.evidence_ids.bind(cells);
        self.provenance.bind(cells);
        cells.push(self.confidence.into());
        self.created_at.bind(cells);
        self.updated_at.bind(cells);
    }

    pub(crate) fn from_row(row: &Row, at: &mut usize) -> Result<RowMeta> {
        Ok(RowMeta {
            source_ids: Field::from_row(row, at)?,
            evidence_ids: Field::from_row(row, at)?,
            provenance: Field::from_row(row, at)?,
            confidence: <UnitInterval as Field>::from_row(row, at)?.0,
            created_at: Field::from_row(row, at)?,
            updated_at: Field::from_row(row, at)?,
        })
    }

    /// Adds the JSON Schemas of these fields.
    pub(crate) fn add_schemas(schemas: &mut Map<String, Value>) {
        for (name, schema) in [
            ("source_ids", <Vec<String> as Field>::schema()),
            ("evidence_ids", <Vec<String> as Field>::schema()),
            ("provenance", Provenance::schema()),
            ("confidence", UnitInterval::schema()),
            ("created_at", Timestamp::schema()),
            ("updated_at", Timestamp::schema()),
        ] {
            schemas.insert(name.into(), schema);
        }
    }

    pub(crate) fn write_json(&self, json: &mut Map<String, Value>) {
        json.insert("source_ids".into(), self.source_ids.to_json());
        json.insert("evidence_ids".into(), self.evidence_ids.to_json());
        json.insert("provenance".into(), self.provenance.to_json());
        json.insert("confidence".into(), self.confidence.into());
        json.insert("created_at".into(), self.created_at.to_json());
        json.insert("updated_at".into(), self.updated_at.to_json());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row_meta(provenance: Provenance, confidence: f64) -> RowMeta {
        RowMeta::from_artifact("raw_1", None, provenance, confidence, Timestamp(1))
    }

    #[test]
    fn asserted_confidence_capped_at_half() {
        assert_eq!(row_meta(Provenance::AgentContributed, 0.9).confidence, 0.5);
        assert_eq!(row_meta(Provenance::Extracted, 0.9).confidence, 0.9);
        let line = json!({"provenance": "customer_asserted", "confidence": 1});
        let parsed =
            RowMeta::from_line(line.as_object().unwrap(), &row_meta(Provenance::Extracted, 1.0)).unwrap();
        assert_eq!(parsed.confidence, 0.5);
        assert_eq!(parsed.source_ids, ["raw_1"]);
    }

    #[test]
    fn only_confirmed_rows_raise_confidence() {
        let agent = row_meta(Provenance::AgentContributed, 0.4);
        assert!(agent.corroborated_by(&agent, 1.0, Timestamp(2)).is_none());
        let raised =
            agent.corroborated_by(&row_meta(Provenance::Extracted, 1.0), 0.95, Timestamp(2)).unwrap();
        assert_eq!((raised.provenance, raised.confidence), (Provenance::Extracted, 0.9));
        // A match never lowers the confidence.
        let certain = row_meta(Provenance::Extracted, 1.0);
        assert!(certain.corroborated_by(&certain, 0.2, Timestamp(2)).is_none());
    }
}
