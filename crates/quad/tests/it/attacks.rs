//! Attacks: each must be rejected and audited.
//!
//! The tables of cases are in `*_cases.rs`, one function for each class of attacks. A case has a name, the requests,
//! the expected outcome, and the chain in which the refusal must be recorded. All cases run against one `quad serve`
//! with two tenants. Responses about the victim's data must be byte for byte those about absent data. The chains of
//! both tenants must contain exactly the expected refusals, and the system chain those of unauthenticated callers.

mod fixture;
mod forged_tokens;
mod multi_step;
mod normalized_response;
mod request_cases;
mod tenant_cases;
mod token_cases;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::audit_chain;
use crate::http::Request;
use crate::instance::TestInstance;
use fixture::{AttackFixture, INTRUDER, VICTIM};
use normalized_response::{NormalizedResponse, Responses};

/// Texts that only the victim may see.
const VICTIM_SECRETS: [&str; 3] = ["ada@example.org", "my-app", "Noise"];

/// Where an attack must be recorded.
#[derive(Clone, Copy, Debug)]
enum ExpectedAudit {
    /// As a refusal in the chain of the authenticated tenant.
    TenantChain(&'static str),
    /// In the system chain with this reason: no tenant is authenticated.
    SystemChain(&'static str),
    /// As an allowed call with an empty result.
    AllowedEvent,
    /// Nowhere: it is not a complete request, or it goes to another server.
    NoEvent,
}

use ExpectedAudit::{AllowedEvent, NoEvent, SystemChain, TenantChain};

/// One attack.
struct AttackCase {
    category: &'static str,
    name: &'static str,
    expected_outcome: &'static str,
    expected_audit: ExpectedAudit,
    run: fn(&AttackFixture) -> Responses,
}

fn case(
    category: &'static str,
    name: &'static str,
    expected_outcome: &'static str,
    expected_audit: ExpectedAudit,
    run: fn(&AttackFixture) -> Responses,
) -> AttackCase {
    AttackCase { category, name, expected_outcome, expected_audit, run }
}

/// Reads with a forged token.
fn read_orgs_with(fixture: &AttackFixture, token: &str) -> Responses {
    fixture.send(&fixture.plain_read_request(token, "bkend://orgs")).into()
}

/// A valid modern read of the intruder, which a case then changes.
fn valid_request(fixture: &AttackFixture) -> Request {
    fixture.modern_request(&fixture.intruder_token, "resources/read", json!({"uri": "bkend://orgs"}))
}

fn cases() -> Vec<AttackCase> {
    [
        token_cases::forged(),
        token_cases::issuer(),
        token_cases::replayed(),
        token_cases::quarantined(),
        tenant_cases::cross_tenant(),
        tenant_cases::cache(),
        tenant_cases::cursor(),
        tenant_cases::subscription(),
        request_cases::path(),
        request_cases::header(),
        request_cases::body(),
        request_cases::origin(),
        request_cases::template(),
        request_cases::no_auth(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[test]
fn every_attack_is_rejected_and_audited() {
    std::thread::scope(|scope| {
        for instance in TestInstance::on_each_backend() {
            scope.spawn(|| run_all_cases(instance));
        }
    });
}

fn run_all_cases(instance: TestInstance) {
    let backend = instance.backend;
    let fixture = AttackFixture::new(instance);
    let mut expectations = AuditExpectations::new(&fixture);
    let mut problems: Vec<String> = Vec::new();
    for attack_case in cases() {
        let Responses(groups) = (attack_case.run)(&fixture);
        expectations.add_expected(
            attack_case.expected_audit,
            groups.iter().flatten().map(NormalizedResponse::refusal_count).sum(),
        );
        let new_problems = groups
            .iter()
            .filter_map(|group| find_problem(&attack_case, group))
            .chain(expectations.check_tenant_chains(&fixture));
        problems.extend(
            new_problems.map(|problem| {
                format!("{backend}, {}: {}: {problem}", attack_case.category, attack_case.name)
            }),
        );
    }
    assert!(problems.is_empty(), "{} problems\n\n{}", problems.len(), problems.join("\n\n"));
    check_victim_data_unchanged(&fixture);
    expectations.check_system_chain(fixture);
}

/// The difference between the responses of a group and the expected outcome.
fn find_problem(attack_case: &AttackCase, group: &[NormalizedResponse]) -> Option<String> {
    for NormalizedResponse { outcome, text } in group {
        if outcome != attack_case.expected_outcome {
            return Some(format!("{outcome:?} instead of {:?}\n{text}", attack_case.expected_outcome));
        }
        if let Some(secret) = VICTIM_SECRETS.iter().find(|secret| text.contains(**secret)) {
            return Some(format!("the response contains {secret}\n{text}"));
        }
    }
    let different = group.iter().find(|answer| answer.text != group[0].text)?;
    Some(format!(
        "the responses for existing and absent data differ\n{}\n----\n{}",
        group[0].text, different.text
    ))
}

/// The refusals that the chains must contain.
struct AuditExpectations {
    refused_by_tenant: BTreeMap<&'static str, u64>,
    refused_by_reason: BTreeMap<String, u64>,
}

impl AuditExpectations {
    fn new(fixture: &AttackFixture) -> AuditExpectations {
        let refused_by_tenant = [VICTIM, INTRUDER].map(|tenant| {
            (tenant, refused_events(&fixture.instance, tenant).iter().map(count_attempts).sum())
        });
        AuditExpectations { refused_by_tenant: refused_by_tenant.into(), refused_by_reason: BTreeMap::new() }
    }

    fn add_expected(&mut self, expected_audit: ExpectedAudit, attempts: u64) {
        match expected_audit {
            TenantChain(tenant) => *self.refused_by_tenant.get_mut(tenant).unwrap() += attempts,
            SystemChain(reason) => *self.refused_by_reason.entry(reason.to_owned()).or_default() += attempts,
            AllowedEvent | NoEvent => {}
        }
    }

    /// Checks the number of refusals in the tenants' chains. Refusals of credentials are written up to a second later.
    fn check_tenant_chains(&mut self, fixture: &AttackFixture) -> Option<String> {
        let mut problem = None;
        for (tenant, expected) in &mut self.refused_by_tenant {
            let deadline = std::time::Instant::now() + crate::http::IO_TIMEOUT;
            let count_refusals =
                || refused_events(&fixture.instance, tenant).iter().map(count_attempts).sum::<u64>();
            let mut actual = count_refusals();
            while actual < *expected && std::time::Instant::now() < deadline {
                std::thread::sleep(std::time::Duration::from_millis(20));
                actual = count_refusals();
            }
            if actual != *expected {
                problem = Some(format!("the {tenant} has {actual} refusals instead of {expected}"));
                *expected = actual;
            }
        }
        problem
    }

    /// Checks the system chain after the server has stopped, and that no actor is in the chain of another tenant.
    fn check_system_chain(self, fixture: AttackFixture) {
        let AttackFixture { instance, server, .. } = fixture;
        server.stop();
        let mut refused_by_reason: BTreeMap<String, u64> = BTreeMap::new();
        for event in
            audit_chain::load_events(&instance, "system").iter().filter(|event| event["outcome"] == "refused")
        {
            assert_eq!(event["actor"], "anonymous", "{event:#}");
            *refused_by_reason.entry(event["inputs"]["reason"].as_str().unwrap().to_owned()).or_default() +=
                count_attempts(event);
        }
        assert_eq!(refused_by_reason, self.refused_by_reason, "{}", instance.backend);
        let has_actor = |event: &Value, name: &str| event["actor"] == name;
        assert!(!audit_chain::verify(&instance, VICTIM).iter().any(|event| has_actor(event, "intruder")));
        assert!(
            !audit_chain::verify(&instance, INTRUDER)
                .iter()
                .any(|event| has_actor(event, "owner") || has_actor(event, "visitor"))
        );
    }
}

fn refused_events(instance: &TestInstance, tenant: &str) -> Vec<Value> {
    let events = audit_chain::load_events(instance, &instance.tenant_id(tenant));
    events.into_iter().filter(|event| event["outcome"] == "refused").collect()
}

/// The number of attempts that an event records: refused credentials are counted, not written one by one.
fn count_attempts(event: &Value) -> u64 {
    event["inputs"]["count"].as_u64().unwrap_or(1)
}

/// Checks that the victim's data did not change.
fn check_victim_data_unchanged(fixture: &AttackFixture) {
    let table = fixture.read_contents(&fixture.owner_token, "bkend://tables/tbl_users");
    assert_eq!(table["fields"].as_array().map(Vec::len), Some(4), "{table:#}");
    let row = fixture.call_tool(
        &fixture.owner_token,
        "backend_data_get",
        json!({"tableId": "tbl_users", "recordId": "rec_abc123"}),
    );
    assert_eq!((&row["name"], &row["email"]), (&json!("Ada"), &json!("ada@example.org")));
    let rows = fixture.read_contents(&fixture.owner_token, &fixture.victim_rows_uri()).to_string();
    assert!(!rows.to_lowercase().contains("mallory"), "{rows}");
    let organization = fixture.read_contents(&fixture.owner_token, "bkend://orgs/org_abc123");
    assert_eq!(organization["name"], "My Organization");
}

#[test]
fn has_at_least_55_attacks_with_unique_names() {
    let mut names: Vec<(&str, &str)> =
        cases().iter().map(|attack_case| (attack_case.category, attack_case.name)).collect();
    let case_count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), case_count, "two cases have the same name");
    assert!(case_count >= 55, "{case_count}");
    let categories = [
        "forged",
        "replayed",
        "cross-tenant",
        "path",
        "header",
        "origin",
        "cache",
        "cursor",
        "subscription",
        "template",
        "quarantined",
    ];
    for category in categories {
        assert!(
            names.iter().filter(|(case_category, _)| *case_category == category).count() >= 4,
            "{category}"
        );
    }
}
