//! The catalogue of payment types that can be proposed.

use serde_json::{Value, json};

use crate::payment_intent::ActionType;

/// The fields that every proposal needs.
const COMMON_FIELDS: [&str; 5] =
    ["action_type", "source_account_id", "destination_counterparty_id", "amount", "currency"];

/// The catalogue, in the order of [`ActionType`]. Types that can only be loaded are
/// left out.
pub(crate) fn catalogue() -> Value {
    let entries: Vec<Value> = ActionType::NAMES
        .iter()
        .filter_map(|name| ActionType::parse(name))
        .filter(|action| *action != ActionType::Other)
        .map(entry)
        .collect();
    json!({"action_types": entries})
}

fn entry(action: ActionType) -> Value {
    let (currency, extra_fields, note): (&str, &[&str], Option<&str>) = match action {
        ActionType::OnchainTransfer => ("USDC", &[], Some("Always needs a person's approval")),
        ActionType::X402Settle => {
            ("USDC", &["pay_to"], Some("pay_to is an address of 0x and 40 hexadecimal digits"))
        }
        ActionType::EscrowRelease => (
            "USDC",
            &["escrow_id", "job_terms_hash"],
            Some("job_terms_hash is 0x and 64 hexadecimal digits; always needs a person's approval"),
        ),
        ActionType::Wire => ("ISO 4217", &[], Some("Always needs a person's approval")),
        _ => ("ISO 4217", &[], None),
    };
    let fields: Vec<&str> = COMMON_FIELDS.iter().chain(extra_fields).copied().collect();
    let mut entry = json!({"action_type": action.as_str(), "currency": currency, "required_fields": fields});
    if let (Some(note), Some(entry)) = (note, entry.as_object_mut()) {
        entry.insert("note".into(), note.into());
    }
    entry
}
