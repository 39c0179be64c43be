//! A scheme whose answers depend on everything that a cache key must cover: tenant, scopes, kind of caller, rows.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

use quad_core::scheme::{Completion, CompletionQuery, SchemePage};
use quad_core::{
    Address, Content, EventDraft, Principal, ReadOutput, ReadSet, Result, Route, RouteSpec, Scheme,
    ScopeRequirement, Tag, TenantId,
};
use quad_store::{Component, Sql, Store, WriteContext, params};
use serde_json::{Value, json};

use crate::cache::model::Update;

/// The number of rows that a tenant can have.
pub const ROWS: i64 = 5;

pub const TABLES: Component = Component {
    name: "toy",
    migrations: &["CREATE TABLE toy (tenant_id TEXT NOT NULL, id BIGINT NOT NULL, value BIGINT NOT NULL, \
                   PRIMARY KEY (tenant_id, id))"],
};

/// The values of odd rows are visible only with the scope `toy:odd`.
pub fn is_odd(row: i64) -> bool {
    row % 2 == 1
}

/// The scheme under test.
pub struct ToyScheme {
    store: Store,
    reads_computed: AtomicU64,
    scheduled_write: Mutex<Option<(TenantId, Update)>>,
}

impl ToyScheme {
    pub fn new(store: Store) -> ToyScheme {
        ToyScheme { store, reads_computed: AtomicU64::new(0), scheduled_write: Mutex::default() }
    }

    /// How many reads it has computed.
    pub fn reads_computed(&self) -> u64 {
        self.reads_computed.load(Relaxed)
    }

    /// Commits an update.
    pub async fn write(&self, tenant: &TenantId, update: &Update) {
        let Update { rows, value, .. } = update.clone();
        let event = EventDraft::system("toy", "toy.written", "tester");
        let context = WriteContext::from(tenant);
        let result = self.store.write(&context, event, move |tx| {
            let tenant = tx.tenant().as_str().to_owned();
            for row in &rows {
                tx.execute(
                    "INSERT INTO toy (tenant_id, id, value) VALUES ($1, $2, $3) \
                     ON CONFLICT (tenant_id, id) DO UPDATE SET value = excluded.value",
                    params![tenant.as_str(), *row, value],
                )?;
                tx.invalidate(tag(*row));
            }
            // Every commit advances the version, even if it sets no row.
            tx.invalidate(Tag::new("toy:clock"));
            Ok(())
        });
        result.await.unwrap();
    }

    /// Commits an update during the next read, so that the read conflicts with it.
    pub fn schedule_write(&self, tenant: &TenantId, update: &Update) {
        *self.scheduled_write() = Some((tenant.clone(), update.clone()));
    }

    pub fn has_scheduled_write(&self) -> bool {
        self.scheduled_write().is_some()
    }

    pub fn clear_scheduled_write(&self) {
        *self.scheduled_write() = None;
    }

    fn scheduled_write(&self) -> MutexGuard<'_, Option<(TenantId, Update)>> {
        self.scheduled_write.lock().unwrap()
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

#[async_trait::async_trait]
impl Scheme for ToyScheme {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn instructions(&self) -> &'static str {
        ""
    }

    fn scopes(&self) -> &'static [&'static str] {
        &["toy:read", "toy:odd", "toy:more"]
    }

    fn routes(&self) -> Result<Vec<Route>> {
        let route = |template| Route {
            spec: RouteSpec::parse(template).unwrap(),
            name: "toy",
            title: "Toy",
            description: "A toy",
            mime_type: None,
            required_scope: ScopeRequirement(&["toy:read"]),
            advertised: true,
        };
        Ok(vec![route("toy://rows/{rows}"), route("toy://signed/{rows}")])
    }

    /// Only what the resource shows of the caller, so that callers with equal views share an answer.
    fn cache_key_part(&self, caller: &Principal, address: &Address) -> String {
        let mut key_part = String::new();
        if rows_of(address).into_iter().any(is_odd) {
            key_part.push_str(&format!("odd={} ", sees_odd(caller)));
        }
        if address.canonical().starts_with("toy://signed") {
            key_part.push_str(caller.kind.as_str());
        }
        key_part
    }

    async fn read(&self, caller: &Principal, route: usize, address: &Address) -> Result<ReadOutput> {
        self.reads_computed.fetch_add(1, Relaxed);
        let (rows, sees_odd) = (rows_of(address), sees_odd(caller));
        let result = self.store.read(&caller.tenant, move |sql| {
            let tenant = sql.tenant().as_str().to_owned();
            let mut read_set = ReadSet::at_version(sql.version());
            let mut values = Vec::new();
            for row in &rows {
                if is_odd(*row) && !sees_odd {
                    values.push(Value::from("hidden"));
                    continue;
                }
                // Both kinds of tags invalidate a read set.
                let tags = if is_odd(*row) { &mut read_set.silent_tags } else { &mut read_set.tags };
                tags.insert(tag(*row));
                let stored = sql.query_opt(
                    "SELECT value FROM toy WHERE tenant_id = $1 AND id = $2",
                    params![tenant.as_str(), *row],
                )?;
                values.push(stored.map(|row| row.int(0)).transpose()?.map_or(Value::Null, Value::from));
            }
            Ok((values, read_set))
        });
        let (values, read_set) = result.await?;
        let mut answer = json!({"rows": values});
        if route == 1 {
            answer["reader"] = caller.kind.as_str().into();
        }
        let scheduled = self.scheduled_write().take();
        if let Some((tenant, update)) = scheduled {
            self.write(&tenant, &update).await;
        }
        Ok(ReadOutput::new(Content::text("application/json", answer.to_string()), read_set))
    }

    async fn list(&self, _: &Principal, _: Option<&str>, _: usize) -> Result<SchemePage> {
        Ok(SchemePage { entries: Vec::new(), next: None, read_set: ReadSet::default() })
    }

    async fn complete(&self, _: &Principal, _: CompletionQuery<'_>) -> Result<Completion> {
        Ok(Completion::default())
    }
}
