//! What to do when a page does not exist. The hint depends on the slug alone, and never names an id of a row.

use quad_core::nearest_first;

use crate::calendar::{Month, Quarter};
use crate::errors;

/// The folders of slugs, each with the slug of an example.
pub(crate) const FOLDERS: [(&str, &str); 8] = [
    ("accounts", "accounts/{account_id}"),
    ("agents", "agents/{name}"),
    ("cash-flow", "cash-flow/2025-Q3"),
    ("counterparties", "counterparties/{counterparty_id}"),
    ("invoices", "invoices/all"),
    ("monthly-summaries", "monthly-summaries/2025-09"),
    ("obligations", "obligations/{obligation_id}"),
    ("policies", "policies/active"),
];

/// The hint for a slug without a page.
pub(crate) fn hint(slug: &str) -> String {
    let slug = slug.trim().trim_start_matches('/').replace("%2F", "/").replace("%2f", "/");
    let slug = slug.strip_prefix("pages/").unwrap_or(&slug);
    let (folder, name) = slug.split_once('/').unwrap_or((folder_of_id(slug), slug));
    match folder {
        "accounts" => errors::rows_hint("account").to_owned(),
        "counterparties" => errors::rows_hint("counterparty").to_owned(),
        "obligations" => errors::rows_hint("obligation").to_owned(),
        "invoices" => errors::rows_hint("invoice").to_owned(),
        "policies" => errors::rows_hint("policy").to_owned(),
        "agents" => "List the pages of the registered agents with resource_list".to_owned(),
        "monthly-summaries" if Month::parse(name).is_none() => {
            "Write the month as in monthly-summaries/2025-09".to_owned()
        }
        "cash-flow" if Month::parse(name).is_none() && Quarter::parse(name).is_none() => {
            "Write the month or the quarter as in cash-flow/2025-09 or cash-flow/2025-Q3".to_owned()
        }
        "monthly-summaries" | "cash-flow" => {
            "List the transactions with ledger_transactions_list: a month has a page if it has some"
                .to_owned()
        }
        "revisions" => "Read the current page by its slug, such as monthly-summaries/2025-09".to_owned(),
        _ => {
            let slugs: Vec<&str> = nearest_first(folder, FOLDERS.iter().map(|(folder, _)| *folder))
                .into_iter()
                .filter_map(|name| FOLDERS.iter().find(|(folder, _)| *folder == name))
                .map(|(_, example)| *example)
                .collect();
            format!("Use a slug such as {}", slugs.join(", "))
        }
    }
}

/// The folder of the page about an id; the text itself if it is no id.
fn folder_of_id(text: &str) -> &str {
    match text.split_once('_').map(|(prefix, _)| prefix) {
        Some("acct") => "accounts",
        Some("cp") => "counterparties",
        Some("obl") => "obligations",
        Some("inv") => "invoices",
        Some("pol") => "policies",
        Some("agent") => "agents",
        Some("wpg") => "revisions",
        _ if Month::parse(text).is_some() => "monthly-summaries",
        _ if Quarter::parse(text).is_some() => "cash-flow",
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hint_leads_from_a_slug_to_what_exists() {
        for (slug, expected) in [
            ("accounts/acct_none", "ledger_accounts_list"),
            ("acct_none", "ledger_accounts_list"),
            ("pages/counterparties/x", "ledger_counterparties_list"),
            ("obligations%2Fobl_9", "ledger_obligations_list"),
            ("invoices/inv_9", "brain://wiki/invoices/all"),
            ("policies/pol_9", "brain://wiki/policies/active"),
            ("agents/nobody", "resource_list"),
            ("monthly-summaries/1999-01", "ledger_transactions_list"),
            ("2025-Q1", "ledger_transactions_list"),
            ("monthly-summaries/september", "monthly-summaries/2025-09"),
            ("cash-flow/q3", "cash-flow/2025-Q3"),
            ("wpg_1", "current page"),
        ] {
            assert!(hint(slug).contains(expected), "{slug}: {}", hint(slug));
        }
        assert!(
            hint("monthly-sumaries/2025-09").starts_with("Use a slug such as monthly-summaries/2025-09, ")
        );
        assert!(hint("nothing").contains("invoices/all"));
    }
}
