//! Reconciliation: a match of two rows about the same event raises their confidence.

use quad_core::Result;
use quad_store::Tx;

use crate::entity::{self, Entity, entity};
use crate::field::UnitInterval;
use crate::invoice::{self, Invoice};
use crate::obligation::{self, Obligation};
use crate::row_meta::RowMeta;
use crate::string_enum::string_enum;
use crate::tags::TouchedTags;
use crate::transaction::{ReconciliationStatus, Transaction};
use crate::{posting, raw};

string_enum!(
    /// The status of a match.
    MatchStatus, "match status" {
        Unmatched = "unmatched", Matched = "matched", PartiallyMatched = "partially_matched",
        DuplicatePossible = "duplicate_possible", Disputed = "disputed", Cleared = "cleared", Failed = "failed",
        Reversed = "reversed",
    }
);
string_enum!(
    /// The kind of a matched row.
    MatchedKind, "matched kind" { Transaction = "transaction", Obligation = "obligation", Invoice = "invoice" }
);

entity!(
    /// A stored match.
    Match, "match" in "brain_match" as MatchId {
        match_type: String,
        left_kind: MatchedKind,
        left_id: String,
        right_kind: MatchedKind,
        right_id: String,
        confidence_score: UnitInterval,
        status: MatchStatus,
        explanation: Option<String>,
    }
);

/// Records a match and raises the confidence of the rows that it corroborates.
pub(crate) fn create(tx: &mut Tx<'_>, new: &Match, touched: &mut TouchedTags) -> Result<bool> {
    let left = load_meta(tx, new.left_kind, &new.left_id)?;
    let right = load_meta(tx, new.right_kind, &new.right_id)?;
    if !entity::insert(tx, new)? {
        return Ok(false);
    }
    raw::mark_cited(tx, &new.meta)?;
    touched.row(Match::KIND, new.id.as_str());
    let status = match new.status {
        MatchStatus::Matched | MatchStatus::Cleared => ReconciliationStatus::Matched,
        MatchStatus::PartiallyMatched => ReconciliationStatus::Partial,
        MatchStatus::Disputed => ReconciliationStatus::Disputed,
        _ => return Ok(true),
    };
    let raises_confidence = status == ReconciliationStatus::Matched;
    for (kind, id, own_meta, other_meta) in
        [(new.left_kind, &new.left_id, &left, &right), (new.right_kind, &new.right_id, &right, &left)]
    {
        let raised = if raises_confidence {
            own_meta.corroborated_by(other_meta, new.confidence_score.0, tx.now())
        } else {
            None
        };
        apply_match(tx, kind, id, raised, status, touched)?;
    }
    Ok(true)
}

fn load_meta(tx: &mut Tx<'_>, kind: MatchedKind, id: &str) -> Result<RowMeta> {
    Ok(match kind {
        MatchedKind::Transaction => entity::get::<Transaction>(tx, id)?.meta,
        MatchedKind::Obligation => entity::get::<Obligation>(tx, id)?.meta,
        MatchedKind::Invoice => entity::get::<Invoice>(tx, id)?.meta,
    })
}

fn apply_match(
    tx: &mut Tx<'_>,
    kind: MatchedKind,
    id: &str,
    raised: Option<RowMeta>,
    status: ReconciliationStatus,
    touched: &mut TouchedTags,
) -> Result<()> {
    match kind {
        MatchedKind::Transaction => {
            let mut row: Transaction = entity::get(tx, id)?;
            row.reconciliation_status = Some(status);
            row.meta = raised.unwrap_or(row.meta);
            row.meta.updated_at = tx.now();
            posting::replace(tx, &row, touched)
        }
        MatchedKind::Obligation => {
            let Some(raised) = raised else { return Ok(()) };
            let old: Obligation = entity::get(tx, id)?;
            let row = Obligation { meta: raised, ..old.clone() };
            obligation::save(tx, Some(&old), &row, touched).map(|_| ())
        }
        MatchedKind::Invoice => {
            let Some(raised) = raised else { return Ok(()) };
            let old: Invoice = entity::get(tx, id)?;
            let row = Invoice { meta: raised, ..old.clone() };
            invoice::save(tx, Some(&old), &row, touched).map(|_| ())
        }
    }
}
