//! The addresses of this scheme, and the scopes that they need.

use quad_core::{Grammar, RouteDef, RouteTable, ScopeRequirement};

/// The resource that an address names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    Account,
    Transaction,
    PaymentIntent,
    Page,
    Raw,
    Obligation,
    Counterparty,
    Invoice,
    ActionTypes,
}

pub(crate) const LEDGER_READ: ScopeRequirement = ScopeRequirement(&["ledger:read"]);
pub(crate) const WIKI_READ: ScopeRequirement = ScopeRequirement(&["wiki:read"]);
pub(crate) const RAW_WRITE: ScopeRequirement = ScopeRequirement(&["raw:write"]);
pub(crate) const EVIDENCE_READ: ScopeRequirement = ScopeRequirement(&["ledger:read", "raw:read"]);
pub(crate) const PROPOSE: ScopeRequirement = ScopeRequirement(&["payment_intent:propose"]);
pub(crate) const EXECUTION_READ: ScopeRequirement = ScopeRequirement(&["execution:read"]);

/// The catalogue of payment types, the only address without a variable.
pub(crate) const ACTION_TYPES: &str = "brain://payments/action_types";

/// The routes: the five of the contract first. A wiki slug contains slashes. Some clients escape them when they expand
/// `{slug}` and others do not, so a page has three templates.
pub(crate) const ROUTES: RouteTable<Resource> = RouteTable {
    rows: &[
        RouteDef::json(Resource::Account, "brain://ledger/accounts/{account_id}", "Ledger account", "One account and its newest balance: bank, card, loan, credit line, wallet or processor.", LEDGER_READ),
        RouteDef::json(Resource::Transaction, "brain://ledger/transactions/{transaction_id}", "Ledger transaction", "One movement of money on one account, with its evidence.", LEDGER_READ),
        RouteDef::json(Resource::PaymentIntent, "brain://ledger/payment-intents/{payment_intent_id}", "Payment intent", "A proposed payment and its status.", LEDGER_READ),
        RouteDef::json(Resource::Page, "brain://wiki/{slug}", "Wiki page", "What is known about an account, counterparty, obligation, invoice, agent, policy, month or quarter, every figure cited.", WIKI_READ).mime_type(Some("text/markdown")),
        RouteDef::json(Resource::Raw, "brain://raw/{raw_artifact_id}", "Raw evidence", "Evidence as it was stored, and what was extracted from it; it never changes.", EVIDENCE_READ),
        RouteDef::json(Resource::Obligation, "brain://ledger/obligations/{obligation_id}", "Ledger obligation", "Something owed: a bill, an invoice, a subscription, a loan, payroll or tax.", LEDGER_READ),
        RouteDef::json(Resource::Counterparty, "brain://ledger/counterparties/{counterparty_id}", "Ledger counterparty", "A payer or payee, with the total that was paid to it.", LEDGER_READ),
        RouteDef::json(Resource::Invoice, "brain://ledger/invoices/{invoice_id}", "Ledger invoice", "An invoice, and how much of it is paid.", LEDGER_READ),
        RouteDef::json(Resource::Page, "brain://wiki/{+slug}", "Wiki page", "The same page; the slug keeps its slashes.", WIKI_READ).mime_type(Some("text/markdown")).unadvertised(),
        RouteDef::json(Resource::Page, "brain://wiki/pages/{+slug}", "Wiki page", "The same page under its older address.", WIKI_READ).mime_type(Some("text/markdown")).unadvertised(),
        RouteDef::json(Resource::ActionTypes, ACTION_TYPES, "Payment action types", "The types of payments that can be proposed, and the fields that each needs.", PROPOSE).unadvertised(),
    ],
    // In a single segment the slashes of a slug are escaped.
    grammars: &[("slug", Grammar::Slug)],
};

#[cfg(test)]
mod tests {
    use super::*;

    fn router() -> quad_address::Router<usize> {
        let mut router = quad_address::Router::new();
        for (index, route) in ROUTES.routes().unwrap().into_iter().enumerate() {
            router.add(route.spec, index).unwrap();
        }
        router
    }

    #[test]
    fn equivalent_page_uris_have_one_canonical_form() {
        let router = router();
        for slug in [
            "monthly-summaries/2025-09",
            "/monthly-summaries/2025-09",
            "monthly-summaries%2F2025-09",
            "%2Fmonthly-summaries%2F2025-09",
            "monthly%2Dsummaries/2025-09",
        ] {
            let uri = format!("brain://wiki/{slug}");
            let (address, index) = router.route(&uri).unwrap();
            assert_eq!(ROUTES.resource(*index).unwrap(), Resource::Page);
            assert_eq!(address.canonical(), "brain://wiki/monthly-summaries/2025-09", "{uri}");
        }
        let (alias, _) = router.route("brain://wiki/pages/monthly-summaries/2025-09").unwrap();
        assert_eq!(alias.variable("slug"), Some("monthly-summaries/2025-09"));
    }

    #[test]
    fn invalid_uris_are_rejected() {
        let router = router();
        for bad in [
            "brain://ledger/accounts/{account_id}",
            "brain://ledger/widgets/x",
            "https://x",
            "brain://ledger/accounts/acct_X/extra",
            "brain://ledger/accounts/",
            "brain://wiki/",
            "brain://wiki/a/../b",
            "brain://wiki/a%2F..%2Fb",
            "brain://payments/action_types/x",
            &format!("brain://{}x", "/".repeat(200_000)),
        ] {
            assert!(router.route(bad).is_err(), "{}", &bad[..bad.len().min(80)]);
        }
        assert_eq!(ROUTES.resource(*router.route(ACTION_TYPES).unwrap().1).unwrap(), Resource::ActionTypes);
    }

    #[test]
    fn published_template_names_are_unique_and_in_sentence_case() {
        let mut names = std::collections::BTreeSet::new();
        for row in ROUTES.rows.iter().filter(|row| row.advertised) {
            assert!(names.insert(row.name), "{} is published twice", row.name);
            let mut chars = row.name.chars();
            assert!(chars.next().is_some_and(char::is_uppercase), "{}", row.name);
            assert!(chars.all(|c| c.is_lowercase() || c == ' '), "{}", row.name);
        }
    }
}
