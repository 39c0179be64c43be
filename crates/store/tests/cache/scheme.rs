//! A scheme whose answers depend on everything that a cache must heed: the tenant, what the reader may see, and rows.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

use quad_core::scheme::{Completion, CompletionQuery, SchemePage};
use quad_core::{
    Address, ReadSet, BoxFuture, Content, EventDraft, ScopeRequirement, Principal, ReadOutput, Result, Route, RouteSpec,
    Scheme, Tag, TenantId,
};
use quad_store::{Component, Sql, Store, Writer, params};
use serde_json::{Value, json};

use crate::cache::model::Update;

/// Rows that a tenant can have.
pub const ROWS: i64 = 5;

pub const TABLES: Component = Component {
    name: "toy",
    migrations: &["CREATE TABLE toy (tenant_id TEXT NOT NULL, id BIGINT NOT NULL, value BIGINT NOT NULL, \
                   PRIMARY KEY (tenant_id, id))"],
};

/// What odd rows hold is for those who may see it.
pub fn is_odd(row: i64) -> bool {
    row % 2 == 1
}

/// The scheme.
pub struct Toy {
    store: Store,
    asked: AtomicU64,
    meanwhile: Mutex<Option<(TenantId, Update)>>,
}

impl Toy {
    pub fn new(store: Store) -> Toy {
        Toy { store, asked: AtomicU64::new(0), meanwhile: Mutex::default() }
    }

    /// How often it had to compute an answer.
    pub fn asked(&self) -> u64 {
        self.asked.load(Relaxed)
    }

    /// Commits an update.
    pub async fn write(&self, tenant: &TenantId, update: &Update) {
        let Update { rows, value, .. } = update.clone();
        let event = EventDraft::system("toy", "toy.written", "tester");
        let writer = Writer::from(tenant);
        let written = self.store.write(&writer, event, move |tx| {
            let tenant = tx.tenant().as_str().to_owned();
            for row in &rows {
                tx.execute(
                    "INSERT INTO toy (tenant_id, id, value) VALUES ($1, $2, $3) \
                     ON CONFLICT (tenant_id, id) DO UPDATE SET value = excluded.value",
                    params![tenant.as_str(), *row, value],
                )?;
                tx.touch(tag(*row));
            }
            // Every commit is a change, also one that concerns nobody here.
            tx.touch(Tag::new("toy:clock"));
            Ok(())
        });
        written.await.unwrap();
    }

    /// Has the next answer overtaken by an update.
    pub fn write_before_answering(&self, tenant: &TenantId, update: &Update) {
        *self.meanwhile() = Some((tenant.clone(), update.clone()));
    }

    pub fn has_something_to_write(&self) -> bool {
        self.meanwhile().is_some()
    }

    pub fn forget_what_to_write(&self) {
        *self.meanwhile() = None;
    }

    fn meanwhile(&self) -> MutexGuard<'_, Option<(TenantId, Update)>> {
        self.meanwhile.lock().unwrap()
    }
}

fn tag(row: i64) -> Tag {
    Tag::new(format!("toy:row:{row}"))
}

fn rows_of(address: &Address) -> Vec<i64> {
    address.variable("rows").unwrap().split('-').map(|row| row.parse().unwrap()).collect()
}

fn sees_odd(caller: &Principal) -> bool {
    caller.scopes.allows("toy:odd")
}

impl Scheme for Toy {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn instructions(&self) -> &'static str {
        ""
    }

    fn scopes(&self) -> &'static [&'static str] {
        &["toy:read", "toy:odd", "toy:more"]
    }

    fn routes(&self) -> Vec<Route> {
        let route = |template| Route {
            spec: RouteSpec::parse(template).unwrap(),
            name: "toy",
            title: "Toy",
            description: "A toy",
            mime_type: None,
            required_scope: ScopeRequirement(&["toy:read"]),
            advertised: true,
        };
        vec![route("toy://rows/{rows}"), route("toy://signed/{rows}")]
    }

    /// Only what the address really shows of the reader: those who see the same share an answer.
    fn cache_key_part(&self, caller: &Principal, address: &Address) -> String {
        let mut facts = String::new();
        if rows_of(address).into_iter().any(is_odd) {
            facts.push_str(&format!("odd={} ", sees_odd(caller)));
        }
        if address.canonical().starts_with("toy://signed") {
            facts.push_str(caller.kind.as_str());
        }
        facts
    }

    fn read<'a>(
        &'a self,
        caller: &'a Principal,
        route: usize,
        address: &'a Address,
    ) -> BoxFuture<'a, Result<ReadOutput>> {
        Box::pin(async move {
            self.asked.fetch_add(1, Relaxed);
            let (rows, sees_odd) = (rows_of(address), sees_odd(caller));
            let looked = self.store.read(&caller.tenant, move |sql| {
                let tenant = sql.tenant().as_str().to_owned();
                let mut basis = ReadSet::at_version(sql.version());
                let mut shown = Vec::new();
                for row in &rows {
                    if is_odd(*row) && !sees_odd {
                        shown.push(Value::from("hidden"));
                        continue;
                    }
                    // Both kinds of tags make an answer stale.
                    let tags = if is_odd(*row) { &mut basis.silent_tags } else { &mut basis.tags };
                    tags.insert(tag(*row));
                    let found = sql.query_opt(
                        "SELECT value FROM toy WHERE tenant_id = $1 AND id = $2",
                        params![tenant.as_str(), *row],
                    )?;
                    shown.push(found.map(|row| row.int(0)).transpose()?.map_or(Value::Null, Value::from));
                }
                Ok((shown, basis))
            });
            let (shown, basis) = looked.await?;
            let mut answer = json!({"rows": shown});
            if route == 1 {
                answer["reader"] = caller.kind.as_str().into();
            }
            let overtaken = self.meanwhile().take();
            if let Some((tenant, update)) = overtaken {
                self.write(&tenant, &update).await;
            }
            Ok(ReadOutput::new(Content::text("application/json", answer.to_string()), basis))
        })
    }

    fn list<'a>(&'a self, _: &'a Principal, _: Option<&'a str>, _: usize) -> BoxFuture<'a, Result<SchemePage>> {
        Box::pin(async { Ok(SchemePage { entries: Vec::new(), next: None, read_set: ReadSet::default() }) })
    }

    fn complete<'a>(&'a self, _: &'a Principal, _: CompletionQuery<'a>) -> BoxFuture<'a, Result<Completion>> {
        Box::pin(async { Ok(Completion::default()) })
    }
}
