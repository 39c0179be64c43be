//! A toy scheme, and a naive model of links over it. After any sequence of links, removals, creations and deletions,
//! by any caller, each caller must see exactly the links whose ends it can read, each once, over any number of pages.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use quad_core::resolver::View;
use quad_core::tool::NoProgress;
use quad_core::{
    Address, Content, Error, Grammar, Kind, Principal, PrincipalKind, ReadOutput, ReadSet, Resolver, Result,
    RouteDef, RouteTable, Scheme, ScopeRequirement, ScopeSet, TenantId,
};
use quad_store::audit::block;
use quad_store::testing::{TestStore, stores};
use quad_store::{Sql as _, Store};
use quad_testing::ToyScheme;
use serde_json::{Value, json};

use super::{COMPONENT, Links, PageLimits};

/// Existing resources by tenant. `toy://a/…` and `toy://b/…` need a scope each, `toy://own/{subject}/…` is for one
/// subject, and `toy://text` exists for all callers.
#[derive(Clone, Default)]
pub(super) struct ToyResources(Arc<Mutex<BTreeSet<(TenantId, String)>>>);

const ROUTES: RouteTable<()> = RouteTable {
    rows: &[
        RouteDef::json((), "toy://a/{id}", "a", "", ScopeRequirement(&["a:read"])),
        RouteDef::json((), "toy://b/{id}", "b", "", ScopeRequirement(&["b:read"])),
        RouteDef::json((), "toy://own/{subject}/{id}", "own", "", ScopeRequirement::NONE),
        RouteDef::json((), "toy://text{?q}", "text", "", ScopeRequirement::NONE),
    ],
    grammars: &[("q", Grammar::Text)],
};

/// The route of `toy://text`.
const TEXT_ROUTE: usize = 3;

impl ToyResources {
    pub(super) fn add(&self, tenant: &TenantId, path: &str) {
        self.0.lock().unwrap().insert((tenant.clone(), format!("toy://{path}")));
    }

    pub(super) fn remove(&self, tenant: &TenantId, path: &str) {
        self.0.lock().unwrap().remove(&(tenant.clone(), format!("toy://{path}")));
    }

    /// The scheme that shows these resources.
    fn scheme(&self) -> ToyScheme {
        let resources = self.clone();
        ToyScheme {
            scopes: &["a:read", "b:read"],
            routes: ROUTES,
            read: Box::new(move |caller, route, address| resources.read(caller, route, address)),
            ..ToyScheme::default()
        }
    }

    fn read(&self, caller: &Principal, route: usize, address: &Address) -> Result<ReadOutput> {
        let is_own = address.variable("subject").is_none_or(|subject| *subject == *caller.subject);
        let resource = (caller.tenant.clone(), address.canonical().to_owned());
        let exists = route == TEXT_ROUTE || self.0.lock().unwrap().contains(&resource);
        if !exists || !is_own {
            return Err(Error::not_found(address.requested()));
        }
        Ok(ReadOutput::new(Content::text("text/plain", "toy"), ReadSet::default()))
    }
}

/// Links over the toy scheme, with pages of three links that scan seven.
pub(super) struct LinkFixture {
    pub(super) test_store: Arc<TestStore>,
    pub(super) tenant: TenantId,
    pub(super) toy: ToyResources,
    pub(super) links: Arc<Links>,
    pub(super) resolver: Arc<Resolver>,
}

/// One fixture on each backend, with a few resources.
pub(super) async fn fixtures() -> Vec<LinkFixture> {
    let stores = stores(&[COMPONENT]).await.unwrap();
    stores
        .into_iter()
        .map(|test_store| {
            let fixture = LinkFixture::new(Arc::new(test_store));
            for path in ["a/1", "b/2", "b/3"] {
                fixture.toy.add(&fixture.tenant, path);
            }
            fixture
        })
        .collect()
}

/// A caller with these scopes.
pub(super) fn caller(tenant: &TenantId, subject: &str, scopes: &str) -> Principal {
    Principal {
        tenant: tenant.clone(),
        subject: subject.into(),
        kind: PrincipalKind::Agent,
        scopes: ScopeSet::parse(scopes),
        credential_read_set: None,
        expires_at: None,
    }
}

impl LinkFixture {
    fn new(test_store: Arc<TestStore>) -> LinkFixture {
        let store: Store = test_store.store.clone();
        let toy = ToyResources::default();
        let page_limits = PageLimits { returned: 3, scanned: 7 };
        let links = Arc::new(Links { page_limits, ..Links::new(store.clone()) });
        let schemes: Vec<Arc<dyn Scheme>> = vec![Arc::new(toy.scheme()), links.clone()];
        let store = Arc::new(store);
        let resolver = Arc::new(Resolver::new(schemes, store.clone(), store).unwrap());
        links.set_resolver(&resolver);
        LinkFixture { tenant: test_store.tenant.clone(), test_store, toy, links, resolver }
    }

    pub(super) async fn read(&self, caller: &Principal, uri: &str) -> Result<Value> {
        let answer = self.resolver.read(caller, View::All, uri).await?;
        assert!(!answer.read.cacheable, "{uri}");
        Ok(serde_json::from_slice(answer.read.contents[0].bytes()).unwrap())
    }

    pub(super) async fn call(&self, caller: &Principal, tool: &str, arguments: Value) -> Result<Value> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let output = self.resolver.call_tool(caller, View::All, tool, arguments, &NoProgress).await?;
        Ok(output.structured_value().unwrap())
    }

    /// The sequence of the last event.
    pub(super) async fn last_sequence(&self) -> i64 {
        self.test_store.store.read(&self.tenant, |sql| block::chain_end(sql)).await.unwrap().sequence
    }

    pub(super) async fn event(&self, sequence: i64) -> Value {
        let record = self
            .test_store
            .store
            .read(&self.tenant, move |sql| block::record_at(sql, sequence))
            .await
            .unwrap();
        serde_json::from_str(&record.unwrap()).unwrap()
    }

    pub(super) async fn version(&self) -> i64 {
        self.test_store.store.read(&self.tenant, |sql| Ok(sql.version().0)).await.unwrap()
    }
}

/// The callers and their scopes.
const CALLERS: [(&str, &str); 4] =
    [("everything", "a:read b:read"), ("only_a", "a:read"), ("only_b", "b:read"), ("nothing", "c:read")];

/// The possible resources. [`can_read`](Model::can_read) is the model's own rule of who can read them.
const RESOURCES: [&str; 7] = ["a/1", "a/2", "b/1", "b/2", "own/only_a/1", "own/only_b/1", "own/everything/1"];

const RELATIONS: [&str; 2] = ["cites", "supports"];

#[derive(Clone, Debug)]
enum Operation {
    Link { by: usize, from: usize, to: usize, relation: usize },
    Unlink { by: usize, from: usize, to: usize, relation: usize },
    CreateResource(usize),
    DeleteResource(usize),
}

fn operation() -> impl Strategy<Value = Operation> {
    let link = (0..CALLERS.len(), 0..RESOURCES.len(), 0..RESOURCES.len(), 0..RELATIONS.len());
    prop_oneof![
        // Mostly between few resources, so that lists become longer than a page.
        8 => link.clone().prop_map(|(by, from, to, relation)| {
            Operation::Link { by: by / 2, from, to: to % 4, relation }
        }),
        4 => link.clone().prop_map(|(by, from, to, relation)| Operation::Link { by, from, to, relation }),
        2 => link.prop_map(|(by, from, to, relation)| Operation::Unlink { by, from, to, relation }),
        1 => (0..RESOURCES.len()).prop_map(Operation::DeleteResource),
        2 => (0..RESOURCES.len()).prop_map(Operation::CreateResource),
    ]
}

type Triple = (usize, usize, usize);

/// The existing resources, and the links with their authors.
struct Model {
    existing: BTreeSet<usize>,
    links: BTreeMap<Triple, usize>,
}

impl Model {
    fn can_read(&self, caller_index: usize, resource: usize) -> bool {
        let (subject, scopes) = CALLERS[caller_index];
        let is_open = match RESOURCES[resource].split('/').collect::<Vec<_>>()[..] {
            ["own", owner, _] => owner == subject,
            [layer, ..] => scopes.contains(&format!("{layer}:read")),
            [] => false,
        };
        is_open && self.existing.contains(&resource)
    }

    /// The kind of error that linking these two must return, if any.
    fn expected_error(&self, caller_index: usize, ends: [usize; 2]) -> Option<Kind> {
        ends.into_iter().find(|end| !self.can_read(caller_index, *end)).map(|end| {
            let layer = RESOURCES[end].split('/').next().unwrap();
            let scope_missing = layer != "own" && !CALLERS[caller_index].1.contains(&format!("{layer}:read"));
            if scope_missing { Kind::Scope } else { Kind::NotFound }
        })
    }
}

fn uri(resource: usize) -> String {
    format!("toy://{}", RESOURCES[resource])
}

async fn run_operations(
    fixture: &LinkFixture,
    tenant: &TenantId,
    operations: &[Operation],
) -> Result<(), TestCaseError> {
    let callers = CALLERS.map(|(subject, scopes)| caller(tenant, subject, scopes));
    let mut model = Model { existing: (0..RESOURCES.len()).collect(), links: BTreeMap::new() };
    for resource in RESOURCES {
        fixture.toy.add(tenant, resource);
    }
    for operation in operations {
        match *operation {
            Operation::CreateResource(resource) => {
                model.existing.insert(resource);
                fixture.toy.add(tenant, RESOURCES[resource]);
            }
            Operation::DeleteResource(resource) => {
                model.existing.remove(&resource);
                fixture.toy.remove(tenant, RESOURCES[resource]);
            }
            Operation::Link { by, from, to, relation } => {
                let arguments = json!({"from": uri(from), "to": uri(to), "relation": RELATIONS[relation]});
                let reply = fixture.call(&callers[by], "link", arguments).await;
                let expected = model.expected_error(by, [from, to]);
                match reply {
                    Err(error) if from == to => {
                        prop_assert!(expected.is_some() || error.kind() == Kind::BadInput)
                    }
                    Err(error) => prop_assert_eq!(Some(error.kind()), expected),
                    Ok(reply) => {
                        prop_assert_eq!(expected, None);
                        let is_new = !model.links.contains_key(&(from, to, relation));
                        let result = if is_new { "created" } else { "unchanged" };
                        prop_assert_eq!(reply["result"].as_str(), Some(result));
                        model.links.entry((from, to, relation)).or_insert(by);
                    }
                }
            }
            Operation::Unlink { by, from, to, relation } => {
                let arguments = json!({"from": uri(from), "to": uri(to), "relation": RELATIONS[relation]});
                let reply =
                    fixture.call(&callers[by], "unlink", arguments).await.map_err(|error| error.kind());
                let author = model.links.get(&(from, to, relation)).copied();
                let is_visible = model.can_read(by, from) && model.can_read(by, to);
                let expected = match author {
                    Some(author) if author == by => Ok("removed"),
                    Some(_) if is_visible => Err(Kind::Conflict),
                    _ => Err(Kind::NotFound),
                };
                prop_assert_eq!(
                    reply.as_ref().map(|reply| reply["result"].as_str().unwrap()),
                    expected.as_ref().map(|r| *r)
                );
                if expected.is_ok() {
                    model.links.remove(&(from, to, relation));
                }
            }
        }
    }
    for (caller_index, principal) in callers.iter().enumerate() {
        for resource in 0..RESOURCES.len() {
            check_link_lists(fixture, &model, caller_index, principal, resource).await?;
        }
    }
    Ok(())
}

/// Compares the links of one resource that a caller sees, in both directions.
async fn check_link_lists(
    fixture: &LinkFixture,
    model: &Model,
    caller_index: usize,
    principal: &Principal,
    resource: usize,
) -> Result<(), TestCaseError> {
    for direction in ["citing", "from"] {
        let first = format!("link://{direction}?uri={}", uri(resource));
        if let Some(kind) = model.expected_error(caller_index, [resource, resource]) {
            let result = fixture.read(principal, &first).await.map_err(|error| error.kind());
            prop_assert_eq!(result, Err(kind));
            continue;
        }
        let mut actual = Vec::new();
        let mut page_uri = first.clone();
        loop {
            let page = fixture
                .read(principal, &page_uri)
                .await
                .map_err(|error| TestCaseError::fail(error.to_string()))?;
            let links = page["links"].as_array().unwrap();
            if direction == "citing" {
                prop_assert!(links.len() <= 3, "a page shows at most three");
            }
            actual.extend(links.iter().map(|link| {
                let text = |name: &str| link[name].as_str().unwrap().to_owned();
                (text("from"), text("to"), text("relation"))
            }));
            match page["nextCursor"].as_str() {
                Some(next) => page_uri = format!("{first}&cursor={next}"),
                None => break,
            }
        }
        let mut expected: Vec<_> = model
            .links
            .keys()
            .filter(|(from, to, _)| resource == if direction == "citing" { *to } else { *from })
            .filter(|(from, to, _)| model.can_read(caller_index, *from) && model.can_read(caller_index, *to))
            .map(|(from, to, relation)| (uri(*from), uri(*to), RELATIONS[*relation].to_owned()))
            .collect();
        actual.sort();
        expected.sort();
        prop_assert_eq!(
            actual,
            expected,
            "{} of {} for {}",
            direction,
            RESOURCES[resource],
            CALLERS[caller_index].0
        );
    }
    Ok(())
}

#[test]
fn visible_links_match_naive_model() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let stores = runtime.block_on(stores(&[COMPONENT])).unwrap();
    for test_store in stores {
        let fixture = runtime.block_on(async { LinkFixture::new(Arc::new(test_store)) });
        let config = ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() };
        let strategy = proptest::collection::vec(operation(), 0..80);
        let outcome = proptest::test_runner::TestRunner::new(config).run(&strategy, |operations| {
            runtime.block_on(async {
                let name = format!("case-{}", quad_core::id::ulid().unwrap().to_lowercase());
                let tenant = quad_store::tenant::create(&fixture.test_store.store, &name).await.unwrap();
                run_operations(&fixture, &tenant.id, &operations).await
            })
        });
        outcome.unwrap();
    }
}
