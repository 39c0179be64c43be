//! The model: what every answer must be, and which answers a process must have cached.

use std::collections::{BTreeMap, BTreeSet};

use quad_core::{Principal, PrincipalKind, ScopeSet, TenantId};
use serde_json::{Value, json};

use crate::cache::scheme::is_odd;

/// A caller of a read.
#[derive(Clone, Debug)]
pub struct Caller {
    pub tenant: usize,
    /// Whether it has the scope to read.
    pub can_read: bool,
    /// Whether it sees the values of odd rows.
    pub sees_odd: bool,
    /// Whether it has a scope without effect here.
    pub has_extra_scope: bool,
    pub is_user: bool,
}

/// A resource: some rows, and optionally the kind of the reader.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ToyResource {
    pub shows_reader: bool,
    pub rows: Vec<i64>,
}

/// A commit that sets zero or more rows.
#[derive(Clone, Debug)]
pub struct Update {
    pub tenant: usize,
    pub rows: Vec<i64>,
    pub value: i64,
}

/// One step of a test case.
#[derive(Clone, Debug)]
pub enum Step {
    Write(Update),
    /// A read. An update with it is committed after the scheme has read and before it returns.
    Read(Caller, ToyResource, Option<Update>),
}

impl Caller {
    pub fn principal(&self, tenants: &[TenantId; 2]) -> Principal {
        let scopes =
            [(self.can_read, "toy:read"), (self.sees_odd, "toy:odd"), (self.has_extra_scope, "toy:more")];
        let scopes: ScopeSet = scopes.iter().filter(|(has, _)| *has).map(|(_, scope)| *scope).collect();
        Principal {
            tenant: tenants[self.tenant].clone(),
            subject: format!("subject-{}", u8::from(self.has_extra_scope)).into(),
            kind: if self.is_user { PrincipalKind::User } else { PrincipalKind::Agent },
            scopes,
            credential_read_set: None,
            expires_at: None,
        }
    }
}

impl ToyResource {
    pub fn uri(&self) -> String {
        let rows: Vec<String> = self.rows.iter().map(i64::to_string).collect();
        format!("toy://{}/{}", if self.shows_reader { "signed" } else { "rows" }, rows.join("-"))
    }
}

/// What identifies a cached answer: tenant, resource, and what the resource shows of the caller.
type View = (usize, ToyResource, Option<bool>, Option<bool>);

fn view(caller: &Caller, resource: &ToyResource) -> View {
    let odd = resource.rows.iter().any(|row| is_odd(*row)).then_some(caller.sees_odd);
    (caller.tenant, resource.clone(), odd, resource.shows_reader.then_some(caller.is_user))
}

/// The rows, and the answers that each process must have cached.
#[derive(Debug, Default)]
pub struct Model {
    rows: [BTreeMap<i64, i64>; 2],
    cached: [BTreeSet<View>; 2],
}

impl Model {
    pub fn write(&mut self, update: &Update) {
        for row in &update.rows {
            self.rows[update.tenant].insert(*row, update.value);
        }
        for cached in &mut self.cached {
            cached.retain(|(tenant, resource, odd, _)| !update_invalidates(update, *tenant, resource, *odd));
        }
    }

    /// Whether an update invalidates an answer.
    pub fn invalidates(&self, update: &Update, caller: &Caller, resource: &ToyResource) -> bool {
        update_invalidates(update, caller.tenant, resource, Some(caller.sees_odd))
    }

    pub fn is_cached(&self, process: usize, caller: &Caller, resource: &ToyResource) -> bool {
        self.cached[process].contains(&view(caller, resource))
    }

    pub fn mark_cached(&mut self, process: usize, caller: &Caller, resource: &ToyResource) {
        self.cached[process].insert(view(caller, resource));
    }

    /// The correct answer.
    pub fn expected_answer(&self, caller: &Caller, resource: &ToyResource) -> String {
        let rows = &self.rows[caller.tenant];
        let values: Vec<Value> = resource
            .rows
            .iter()
            .map(|row| match (is_odd(*row) && !caller.sees_odd, rows.get(row)) {
                (true, _) => "hidden".into(),
                (false, value) => value.copied().map_or(Value::Null, Value::from),
            })
            .collect();
        let mut answer = json!({"rows": values});
        if resource.shows_reader {
            answer["reader"] = if caller.is_user { "user" } else { "agent" }.into();
        }
        answer.to_string()
    }
}

/// A hidden row is not read, so a change of it invalidates nothing.
fn update_invalidates(
    update: &Update,
    tenant: usize,
    resource: &ToyResource,
    sees_odd: Option<bool>,
) -> bool {
    let reads_row = |row: &i64| resource.rows.contains(row) && (!is_odd(*row) || sees_odd == Some(true));
    update.tenant == tenant && update.rows.iter().any(reads_row)
}
