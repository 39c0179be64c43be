//! Where a ledger row comes from, and how sure we are of it.
//!
//! Every row cites evidence: raw artifacts or what a parser made of them. What an agent or a customer merely says is never
//! believed by more than half; only a match with something that was extracted or confirmed lifts it.

use quad_core::{Result, Timestamp};
use quad_store::{Row, Value as Cell};
use serde_json::{Map, Value};

use crate::noun::{self, Field, Share};
use crate::refusal::invalid;
use crate::words::words;

words!(
    /// How a row came to be known.
    Provenance, "provenance" {
        Extracted = "extracted",
        Inferred = "inferred",
        Ambiguous = "ambiguous",
        HumanConfirmed = "human_confirmed",
        AgentContributed = "agent_contributed",
        CustomerAsserted = "customer_asserted",
    }
);

/// The most that a bare assertion is believed.
pub(crate) const ASSERTION_CONFIDENCE: f64 = 0.5;

/// The most that a match lifts a confidence to.
const LIFTED_CONFIDENCE: f64 = 0.9;

impl Provenance {
    /// Whether nobody but the one who says so vouches for it.
    pub(crate) fn is_assertion(self) -> bool {
        matches!(self, Provenance::AgentContributed | Provenance::CustomerAsserted)
    }

    /// Whether a match with such a row corroborates the other.
    fn corroborates(self) -> bool {
        matches!(self, Provenance::Extracted | Provenance::HumanConfirmed)
    }

    /// A confidence within what this provenance allows.
    pub(crate) fn capped(self, confidence: f64) -> f64 {
        let confidence = confidence.clamp(0.0, 1.0);
        if self.is_assertion() { confidence.min(ASSERTION_CONFIDENCE) } else { confidence }
    }
}

/// The fields that every ledger row has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Standing {
    /// Raw artifacts.
    pub source_ids: Vec<String>,
    /// Parsed projections.
    pub evidence_ids: Vec<String>,
    pub provenance: Provenance,
    /// 0 to 1, within what the provenance allows.
    pub confidence: f64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Its columns.
pub(crate) const COLUMNS: &[&str] =
    &["source_ids", "evidence_ids", "provenance", "confidence", "created_at", "updated_at"];

impl Standing {
    /// The standing of a row that rests on one artifact and what was made of it.
    pub(crate) fn on(
        raw: &str,
        parsed: Option<&str>,
        provenance: Provenance,
        confidence: f64,
        now: Timestamp,
    ) -> Standing {
        Standing {
            source_ids: vec![raw.to_owned()],
            evidence_ids: parsed.map(str::to_owned).into_iter().collect(),
            provenance,
            confidence: provenance.capped(confidence),
            created_at: now,
            updated_at: now,
        }
    }

    /// The standing that a line claims; what it leaves out is as in `otherwise`.
    pub(crate) fn from_line(line: &Map<String, Value>, otherwise: &Standing) -> Result<Standing> {
        let mut standing = otherwise.clone();
        if let Some(provenance) = noun::field::<Option<Provenance>>(line, "provenance")? {
            standing.provenance = provenance;
        }
        if let Some(Share(confidence)) = noun::field::<Option<Share>>(line, "confidence")? {
            standing.confidence = confidence;
        }
        standing.confidence = standing.provenance.capped(standing.confidence);
        let (sources, evidence): (Vec<String>, Vec<String>) =
            (noun::field(line, "source_ids")?, noun::field(line, "evidence_ids")?);
        for (field, ids) in [("source_ids", &sources), ("evidence_ids", &evidence)] {
            if ids.iter().any(|id| !quad_core::id::is_id(id)) {
                return Err(invalid(field, "must be ids"));
            }
        }
        if !sources.is_empty() || !evidence.is_empty() {
            standing.source_ids = sources;
            standing.evidence_ids = evidence;
        }
        if let Some(at) = noun::field::<Option<Timestamp>>(line, "created_at")? {
            standing.created_at = at;
        }
        standing.updated_at = noun::field::<Option<Timestamp>>(line, "updated_at")?
            .unwrap_or(standing.created_at.max(standing.updated_at));
        Ok(standing)
    }

    /// What a match with a row of `counterpart`'s standing makes of this one; `None` if it changes nothing.
    pub(crate) fn lifted(&self, counterpart: &Standing, score: f64, now: Timestamp) -> Option<Standing> {
        if !counterpart.provenance.corroborates() {
            return None;
        }
        let confidence = self.confidence.max(score.min(LIFTED_CONFIDENCE));
        let provenance = if self.provenance.is_assertion() { Provenance::Extracted } else { self.provenance };
        if confidence == self.confidence && provenance == self.provenance {
            return None;
        }
        Some(Standing { confidence, provenance, updated_at: now, ..self.clone() })
    }

    pub(crate) fn cells(&self, cells: &mut Vec<Cell>) {
        self.source_ids.cells(cells);
        self.evidence_ids.cells(cells);
        self.provenance.cells(cells);
        cells.push(self.confidence.into());
        self.created_at.cells(cells);
        self.updated_at.cells(cells);
    }

    pub(crate) fn take(row: &Row, at: &mut usize) -> Result<Standing> {
        Ok(Standing {
            source_ids: Field::take(row, at)?,
            evidence_ids: Field::take(row, at)?,
            provenance: Field::take(row, at)?,
            confidence: <Share as Field>::take(row, at)?.0,
            created_at: Field::take(row, at)?,
            updated_at: Field::take(row, at)?,
        })
    }

    pub(crate) fn show(&self, shown: &mut Map<String, Value>) {
        shown.insert("source_ids".into(), self.source_ids.show());
        shown.insert("evidence_ids".into(), self.evidence_ids.show());
        shown.insert("provenance".into(), self.provenance.show());
        shown.insert("confidence".into(), self.confidence.into());
        shown.insert("created_at".into(), self.created_at.show());
        shown.insert("updated_at".into(), self.updated_at.show());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn standing(provenance: Provenance, confidence: f64) -> Standing {
        Standing::on("raw_1", None, provenance, confidence, Timestamp(1))
    }

    #[test]
    fn an_assertion_is_believed_by_half_at_most() {
        assert_eq!(standing(Provenance::AgentContributed, 0.9).confidence, 0.5);
        assert_eq!(standing(Provenance::Extracted, 0.9).confidence, 0.9);
        let line = json!({"provenance": "customer_asserted", "confidence": 1});
        let read =
            Standing::from_line(line.as_object().unwrap(), &standing(Provenance::Extracted, 1.0)).unwrap();
        assert_eq!(read.confidence, 0.5);
        assert_eq!(read.source_ids, ["raw_1"]);
    }

    #[test]
    fn only_what_was_extracted_or_confirmed_lifts() {
        let agent = standing(Provenance::AgentContributed, 0.4);
        assert!(agent.lifted(&agent, 1.0, Timestamp(2)).is_none());
        let lifted = agent.lifted(&standing(Provenance::Extracted, 1.0), 0.95, Timestamp(2)).unwrap();
        assert_eq!((lifted.provenance, lifted.confidence), (Provenance::Extracted, 0.9));
        // Never downwards.
        let sure = standing(Provenance::Extracted, 1.0);
        assert!(sure.lifted(&sure, 0.2, Timestamp(2)).is_none());
    }
}
