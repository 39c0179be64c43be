//! The addresses of this scheme.

use quad_core::{Error, Grammar, Result, Route, RouteSpec, ScopeRequirement};

/// What an address names.
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

/// The catalogue of payment types: the one address without a variable.
pub(crate) const ACTION_TYPES: &str = "brain://payments/action_types";

/// One line of the table of routes.
pub(crate) struct RouteDef {
    pub resource: Resource,
    pub template: &'static str,
    pub name: &'static str,
    pub description: &'static str,
    pub mime_type: &'static str,
    pub need: ScopeRequirement,
    pub advertised: bool,
}

const JSON: &str = "application/json";

macro_rules! route {
    ($resource:ident, $template:expr, $name:literal, $description:literal, $mime:expr, $need:ident, $advertised:literal) => {
        RouteDef {
            resource: Resource::$resource,
            template: $template,
            name: $name,
            description: $description,
            mime_type: $mime,
            need: $need,
            advertised: $advertised,
        }
    };
}

/// All of them: the five of the contract first. A page's address has slashes; clients that expand `{slug}` escape them, and
/// others do not, so it has three shapes.
pub(crate) const ROUTES: [RouteDef; 11] = [
    route!(
        Account,
        "brain://ledger/accounts/{account_id}",
        "Ledger account",
        "One account and its newest balance: bank, card, loan, credit line, wallet or processor.",
        JSON,
        LEDGER_READ,
        true
    ),
    route!(
        Transaction,
        "brain://ledger/transactions/{transaction_id}",
        "Ledger transaction",
        "One movement of money on one account, with the evidence that it rests on.",
        JSON,
        LEDGER_READ,
        true
    ),
    route!(
        PaymentIntent,
        "brain://ledger/payment-intents/{payment_intent_id}",
        "Payment intent",
        "A payment that somebody has proposed, and how far it has come.",
        JSON,
        LEDGER_READ,
        true
    ),
    route!(
        Page,
        "brain://wiki/{slug}",
        "Wiki page",
        "What is known about an account, counterparty, obligation, invoice, agent, policy, month or quarter, every figure cited.",
        "text/markdown",
        WIKI_READ,
        true
    ),
    route!(
        Raw,
        "brain://raw/{raw_artifact_id}",
        "Raw evidence",
        "Evidence as it came in, and what was read from it; it never changes.",
        JSON,
        EVIDENCE_READ,
        true
    ),
    route!(
        Obligation,
        "brain://ledger/obligations/{obligation_id}",
        "Ledger obligation",
        "Something owed: a bill, an invoice, a subscription, a loan, payroll or tax.",
        JSON,
        LEDGER_READ,
        true
    ),
    route!(
        Counterparty,
        "brain://ledger/counterparties/{counterparty_id}",
        "Ledger counterparty",
        "Somebody whom money comes from or goes to, with what was paid to them.",
        JSON,
        LEDGER_READ,
        true
    ),
    route!(
        Invoice,
        "brain://ledger/invoices/{invoice_id}",
        "Ledger invoice",
        "An invoice, and how much of it is paid.",
        JSON,
        LEDGER_READ,
        true
    ),
    route!(
        Page,
        "brain://wiki/{+slug}",
        "Wiki page",
        "The same, with its slashes.",
        "text/markdown",
        WIKI_READ,
        false
    ),
    route!(
        Page,
        "brain://wiki/pages/{+slug}",
        "Wiki page",
        "The same, under its other name.",
        "text/markdown",
        WIKI_READ,
        false
    ),
    route!(
        ActionTypes,
        ACTION_TYPES,
        "Payment action types",
        "The ways in which a payment can be proposed, and what each needs.",
        JSON,
        PROPOSE,
        false
    ),
];

/// All routes, in the order of [`noun`].
pub(crate) fn all() -> Vec<Route> {
    ROUTES.iter().filter_map(|def| parse_spec(def).map(|spec| to_route(def, spec)).ok()).collect()
}

fn parse_spec(def: &RouteDef) -> Result<RouteSpec> {
    let spec = RouteSpec::parse(def.template).map_err(|error| Error::internal(error.to_string()))?;
    // A page in one segment comes with its slashes escaped.
    Ok(if def.resource == Resource::Page { spec.with_grammar("slug", Grammar::Slug) } else { spec })
}

fn to_route(def: &RouteDef, spec: RouteSpec) -> Route {
    Route {
        spec,
        name: def.name,
        title: def.name,
        description: def.description,
        mime_type: Some(def.mime_type),
        required_scope: def.need,
        advertised: def.advertised,
    }
}

/// What route number so-and-so names.
pub(crate) fn resource_at(index: usize) -> Result<Resource> {
    ROUTES
        .get(index)
        .map(|def| def.resource)
        .ok_or_else(|| Error::internal(format!("there is no route {index}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn router() -> quad_address::Router<usize> {
        let mut router = quad_address::Router::new();
        assert_eq!(all().len(), ROUTES.len());
        for (index, route) in all().into_iter().enumerate() {
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
            assert_eq!(resource_at(*index).unwrap(), Resource::Page);
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
        assert_eq!(resource_at(*router.route(ACTION_TYPES).unwrap().1).unwrap(), Resource::ActionTypes);
    }
}
