//! What every answer must be, without a cache: a map, and rules that are short enough to be seen right.

use std::collections::{BTreeMap, BTreeSet};

use quad_core::{Principal, PrincipalKind, ScopeSet, TenantId};
use serde_json::{Value, json};

use crate::cache::scheme::is_odd;

/// Somebody who reads.
#[derive(Clone, Debug)]
pub struct Caller {
    pub tenant: usize,
    /// Whether it may read at all.
    pub reads: bool,
    /// Whether it sees what odd rows hold.
    pub sees_odd: bool,
    /// Whether it has a scope that means nothing here.
    pub has_more: bool,
    pub is_user: bool,
}

/// Some rows, perhaps with a word about the reader.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub signed: bool,
    pub rows: Vec<i64>,
}

/// A commit that sets some rows, perhaps none.
#[derive(Clone, Debug)]
pub struct Update {
    pub tenant: usize,
    pub rows: Vec<i64>,
    pub value: i64,
}

/// Something that happens.
#[derive(Clone, Debug)]
pub enum Step {
    Write(Update),
    /// A read; with an update, that is committed after the scheme has looked and before the answer is given.
    Read(Caller, Place, Option<Update>),
}

impl Caller {
    pub fn principal(&self, tenants: &[TenantId; 2]) -> Principal {
        let scopes = [(self.reads, "toy:read"), (self.sees_odd, "toy:odd"), (self.has_more, "toy:more")];
        let scopes: ScopeSet = scopes.iter().filter(|(has, _)| *has).map(|(_, scope)| *scope).collect();
        Principal {
            tenant: tenants[self.tenant].clone(),
            subject: format!("subject-{}", u8::from(self.has_more)).into(),
            kind: if self.is_user { PrincipalKind::User } else { PrincipalKind::Agent },
            scopes,
            credential_read_set: None,
            expires_at: None,
        }
    }
}

impl Place {
    pub fn uri(&self) -> String {
        let rows: Vec<String> = self.rows.iter().map(i64::to_string).collect();
        format!("toy://{}/{}", if self.signed { "signed" } else { "rows" }, rows.join("-"))
    }
}

/// What makes two answers one: the tenant, the address, and what the reader sees of it.
type View = (usize, Place, Option<bool>, Option<bool>);

fn view(caller: &Caller, place: &Place) -> View {
    let odd = place.rows.iter().any(|row| is_odd(*row)).then_some(caller.sees_odd);
    (caller.tenant, place.clone(), odd, place.signed.then_some(caller.is_user))
}

/// The rows, and which process must still hold which answer.
#[derive(Debug, Default)]
pub struct Model {
    rows: [BTreeMap<i64, i64>; 2],
    kept: [BTreeSet<View>; 2],
}

impl Model {
    pub fn write(&mut self, update: &Update) {
        for row in &update.rows {
            self.rows[update.tenant].insert(*row, update.value);
        }
        for kept in &mut self.kept {
            kept.retain(|(tenant, place, odd, _)| !touches(update, *tenant, place, *odd));
        }
    }

    /// Whether an update changes what an answer rests on.
    pub fn touches(&self, update: &Update, caller: &Caller, place: &Place) -> bool {
        touches(update, caller.tenant, place, Some(caller.sees_odd))
    }

    pub fn is_kept(&self, process: usize, caller: &Caller, place: &Place) -> bool {
        self.kept[process].contains(&view(caller, place))
    }

    pub fn keep(&mut self, process: usize, caller: &Caller, place: &Place) {
        self.kept[process].insert(view(caller, place));
    }

    /// The answer.
    pub fn answer(&self, caller: &Caller, place: &Place) -> String {
        let rows = &self.rows[caller.tenant];
        let shown: Vec<Value> = place
            .rows
            .iter()
            .map(|row| match (is_odd(*row) && !caller.sees_odd, rows.get(row)) {
                (true, _) => "hidden".into(),
                (false, value) => value.copied().map_or(Value::Null, Value::from),
            })
            .collect();
        let mut answer = json!({"rows": shown});
        if place.signed {
            answer["reader"] = if caller.is_user { "user" } else { "agent" }.into();
        }
        answer.to_string()
    }
}

/// A row that is hidden is not looked at, so its change changes nothing.
fn touches(update: &Update, tenant: usize, place: &Place, sees_odd: Option<bool>) -> bool {
    let looks_at = |row: &i64| place.rows.contains(row) && (!is_odd(*row) || sees_odd == Some(true));
    update.tenant == tenant && update.rows.iter().any(looks_at)
}
