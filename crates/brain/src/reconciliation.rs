//! Reconciliation: two rows that tell of the same thing vouch for each other.

use quad_core::Result;
use quad_store::Tx;

use crate::invoice::Invoice;
use crate::noun::{self, Noun, Share, noun};
use crate::obligation::{self, Obligation};
use crate::standing::Standing;
use crate::tags::Touched;
use crate::transaction::{ReconciliationStatus, Transaction};
use crate::words::words;
use crate::{posting, raw};

words!(
    /// How a match stands.
    MatchStatus, "match status" {
        Unmatched = "unmatched", Matched = "matched", PartiallyMatched = "partially_matched",
        DuplicatePossible = "duplicate_possible", Disputed = "disputed", Cleared = "cleared", Failed = "failed",
        Reversed = "reversed",
    }
);
words!(
    /// What sort of row a match speaks of.
    Side, "matched kind" { Transaction = "transaction", Obligation = "obligation", Invoice = "invoice" }
);

noun!(
    /// A match as stored.
    Match, "match" in "brain_match" as MatchId {
        match_type: String,
        left_kind: Side,
        left_id: String,
        right_kind: Side,
        right_id: String,
        confidence_score: Share,
        status: MatchStatus,
        explanation: Option<String>,
    }
);

/// Records a match, and lifts what it corroborates.
pub(crate) fn create(tx: &mut Tx<'_>, new: &Match, touched: &mut Touched) -> Result<bool> {
    let left = standing_of(tx, new.left_kind, &new.left_id)?;
    let right = standing_of(tx, new.right_kind, &new.right_id)?;
    if !noun::insert(tx, new)? {
        return Ok(false);
    }
    raw::cite(tx, &new.standing)?;
    touched.row(Match::KIND, new.id.as_str());
    let status = match new.status {
        MatchStatus::Matched | MatchStatus::Cleared => ReconciliationStatus::Matched,
        MatchStatus::PartiallyMatched => ReconciliationStatus::Partial,
        MatchStatus::Disputed => ReconciliationStatus::Disputed,
        _ => return Ok(true),
    };
    let lifts = status == ReconciliationStatus::Matched;
    for (side, id, own, other) in
        [(new.left_kind, &new.left_id, &left, &right), (new.right_kind, &new.right_id, &right, &left)]
    {
        let lifted = if lifts { own.lifted(other, new.confidence_score.0, tx.now()) } else { None };
        settle(tx, side, id, lifted, status, touched)?;
    }
    Ok(true)
}

fn standing_of(tx: &mut Tx<'_>, side: Side, id: &str) -> Result<Standing> {
    Ok(match side {
        Side::Transaction => noun::expect::<Transaction>(tx, id)?.standing,
        Side::Obligation => noun::expect::<Obligation>(tx, id)?.standing,
        Side::Invoice => noun::expect::<Invoice>(tx, id)?.standing,
    })
}

fn settle(
    tx: &mut Tx<'_>,
    side: Side,
    id: &str,
    lifted: Option<Standing>,
    status: ReconciliationStatus,
    touched: &mut Touched,
) -> Result<()> {
    match side {
        Side::Transaction => {
            let mut row: Transaction = noun::expect(tx, id)?;
            row.reconciliation_status = Some(status);
            row.standing = lifted.unwrap_or(row.standing);
            row.standing.updated_at = tx.now();
            posting::amend(tx, &row, touched)
        }
        Side::Obligation => {
            let Some(lifted) = lifted else { return Ok(()) };
            let mut row: Obligation = noun::expect(tx, id)?;
            row.standing = lifted;
            obligation::amend(tx, &row, touched)
        }
        Side::Invoice => {
            let Some(lifted) = lifted else { return Ok(()) };
            let mut row: Invoice = noun::expect(tx, id)?;
            row.standing = lifted;
            noun::update(tx, &row)?;
            touched.row(Invoice::KIND, id);
            Ok(())
        }
    }
}
