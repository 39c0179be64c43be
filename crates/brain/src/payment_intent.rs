//! Payment intents: proposed payments. This crate stores and reads them; it neither approves nor executes.

use quad_core::Result;
use quad_statements::{Amount, Currency};
use quad_store::{Sql, Tx};
use serde_json::{Map, Value};

use crate::account::Account;
use crate::counterparty::Counterparty;
use crate::entity::{self, Entity, entity};
use crate::errors::invalid;
use crate::field::{Field as _, UnitInterval};
use crate::ids::{AccountId, CounterpartyId, InvoiceId, ObligationId};
use crate::keyset::{IndexRange, Key, RowSource as _, SortValue};
use crate::obligation::Obligation;
use crate::row_meta::RowMeta;
use crate::string_enum::string_enum;
use crate::tags::TouchedTags;

string_enum!(
    /// The payment method.
    ActionType, "action type" {
        AchOutbound = "ach_outbound", AchInbound = "ach_inbound", Wire = "wire", OnchainTransfer = "onchain_transfer",
        ErpWriteback = "erp_writeback", CardPayment = "card_payment", X402Settle = "x402_settle",
        EscrowRelease = "escrow_release", Other = "other",
    }
);
string_enum!(
    /// The status of a payment intent.
    IntentStatus, "payment intent status" {
        Proposed = "proposed", PendingApproval = "pending_approval", AwaitingSecondApproval = "awaiting_second_approval",
        Approved = "approved", Dispatching = "dispatching", Executed = "executed", Rejected = "rejected",
        Failed = "failed", Cancelled = "cancelled", Paused = "paused",
    }
);
string_enum!(
    /// The risk of a payment intent.
    IntentRisk, "risk level" { Low = "low", Medium = "medium", High = "high", Critical = "critical" }
);

impl IntentStatus {
    /// Whether it may still lead to a payment.
    pub(crate) fn is_open(self) -> bool {
        !matches!(
            self,
            IntentStatus::Executed | IntentStatus::Rejected | IntentStatus::Failed | IntentStatus::Cancelled
        )
    }
}

entity!(
    /// A stored payment intent.
    PaymentIntent, "payment_intent" in "brain_payment_intent" as PaymentIntentId {
        created_by_agent_id: Option<String>,
        action_type: ActionType,
        source_account_id: AccountId,
        destination_counterparty_id: CounterpartyId,
        amount: Amount,
        currency: Currency,
        obligation_id: Option<ObligationId>,
        invoice_id: Option<InvoiceId>,
        status: IntentStatus,
        policy_decision_id: Option<String>,
        approval_ids: Vec<String>,
        execution_receipt_ids: Vec<String>,
        evidence_score: Option<UnitInterval>,
        risk_level: Option<IntentRisk>,
    }
);

impl PaymentIntent {
    /// The URI of a payment intent.
    pub(crate) fn uri(id: &str) -> String {
        format!("brain://ledger/payment-intents/{id}")
    }

    /// The key in lists by age.
    pub(crate) fn key(&self) -> Key {
        Key { sort: SortValue::Time(self.meta.created_at.0), id: self.id.as_str().to_owned() }
    }

    /// Parses a line of a file.
    pub(crate) fn parse_line(line: &Map<String, Value>, meta: RowMeta) -> Result<PaymentIntent> {
        let mut line = line.clone();
        line.entry("status").or_insert_with(|| IntentStatus::Proposed.to_json());
        let intent = PaymentIntent::from_line(&line, meta)?;
        if intent.amount.is_zero() {
            return Err(invalid("amount", "must be greater than zero"));
        }
        Ok(intent)
    }
}

/// Inserts an intent, or replaces `old` by it. Its account, counterparty and obligation must exist. False if an insert
/// finds its id taken.
pub(crate) fn save(
    tx: &mut Tx<'_>,
    old: Option<&PaymentIntent>,
    new: &PaymentIntent,
    touched: &mut TouchedTags,
) -> Result<bool> {
    entity::get::<Account>(tx, new.source_account_id.as_str())?;
    entity::get::<Counterparty>(tx, new.destination_counterparty_id.as_str())?;
    if let Some(obligation) = &new.obligation_id {
        entity::get::<Obligation>(tx, obligation.as_str())?;
    }
    if !entity::insert_or_update(tx, old, new)? {
        return Ok(false);
    }
    crate::raw::mark_cited(tx, &new.meta)?;
    touched.row(PaymentIntent::KIND, new.id.as_str());
    // The pages of an obligation and of an agent list their intents.
    for row in old.into_iter().chain([new]) {
        if let Some(obligation) = &row.obligation_id {
            touched.row(Obligation::KIND, obligation.as_str());
        }
        if let Some(agent) = &row.created_by_agent_id {
            touched.row("agent", agent);
        }
    }
    touched.listing();
    Ok(true)
}

/// Intents of one agent, newest first.
pub(crate) fn by_agent(
    sql: &mut dyn Sql,
    agent: &str,
    status: Option<IntentStatus>,
    after: Option<Key>,
    limit: usize,
) -> Result<(Vec<PaymentIntent>, Option<Key>)> {
    IndexRange::order_by("created_at", true).equal("created_by_agent_id", agent).page(
        sql,
        after,
        limit,
        PaymentIntent::key,
        |row: &PaymentIntent| status.is_none_or(|status| row.status == status),
    )
}

/// Intents with one status, newest first.
pub(crate) fn by_status(sql: &mut dyn Sql, status: IntentStatus, limit: usize) -> Result<Vec<PaymentIntent>> {
    IndexRange::order_by("created_at", true).equal("status", status.as_str()).rows(sql, None, limit)
}

/// Intents that would settle an obligation, newest first.
pub(crate) fn by_obligation(sql: &mut dyn Sql, obligation: &str, limit: usize) -> Result<Vec<PaymentIntent>> {
    IndexRange::order_by("created_at", true).equal("obligation_id", obligation).rows(sql, None, limit)
}
