//! What must be there: the states that acknowledged and unanswered writes allow, and nothing else.
//!
//! Every row and every table goes through numbered revisions, and what is written holds its number, so that "older" can be
//! decided. A revision that was acknowledged is a floor: whoever starts to read later must see it or a newer one. So is
//! one that somebody has seen. A revision whose answer never came may or may not be there, until it is seen; one that was
//! refused must never be.

use std::collections::BTreeMap;

use serde_json::Value;

/// Something with revisions: a row, a table, a field of a table.
#[derive(Clone, Debug)]
pub struct Object {
    /// By number; the first is the state before it was made.
    revisions: Vec<Revision>,
    /// The oldest that may still be seen.
    floor: usize,
}

#[derive(Clone, Copy, Debug)]
struct Revision {
    present: bool,
    fate: Fate,
}

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// No answer yet, or none ever.
    Open,
    /// Acknowledged, or seen.
    Done,
    /// Refused, or found not to have happened.
    Void,
}

/// What a reader saw of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// It was not there.
    Absent,
    /// It was there, in this revision.
    Present(usize),
}

impl Default for Object {
    fn default() -> Object {
        Object { revisions: vec![Revision { present: false, fate: Fate::Done }], floor: 0 }
    }
}

impl Object {
    /// The oldest revision that may still be seen.
    pub fn floor(&self) -> usize {
        self.floor
    }

    /// A write is about to be sent; its number.
    pub fn issue(&mut self, present: bool) -> usize {
        self.revisions.push(Revision { present, fate: Fate::Open });
        self.revisions.len() - 1
    }

    /// The write was acknowledged, or its effect was seen.
    pub fn done(&mut self, revision: usize) {
        if let Some(known) = self.revisions.get_mut(revision) {
            known.fate = Fate::Done;
            self.floor = self.floor.max(revision);
        }
    }

    /// The write was refused.
    pub fn void(&mut self, revision: usize) {
        if let Some(known) = self.revisions.get_mut(revision) {
            known.fate = Fate::Void;
        }
    }

    /// Whether a write has no answer.
    pub fn is_open(&self) -> bool {
        self.revisions.iter().any(|revision| revision.fate == Fate::Open)
    }

    /// Nothing is under way any more: what has not been seen by now did not happen.
    pub fn settle(&mut self) {
        for revision in &mut self.revisions {
            if revision.fate == Fate::Open {
                revision.fate = Fate::Void;
            }
        }
    }

    /// Whether it is there for certain.
    pub fn is_present(&self) -> bool {
        self.states(self.floor).all(|present| present)
    }

    /// What it may have been for whoever started to read when the floor was `since`, and reads until now.
    fn states(&self, since: usize) -> impl Iterator<Item = bool> + '_ {
        let states = self.revisions.iter().enumerate().skip(since);
        states.filter(|(_, revision)| revision.fate != Fate::Void).map(|(_, revision)| revision.present)
    }

    /// Whether it may have been there, and whether it may have been missing.
    pub fn may(&self, since: usize) -> (bool, bool) {
        (self.states(since).any(|present| present), self.states(since).any(|present| !present))
    }

    /// Takes what was seen by somebody who started to read when the floor was `since`. What is seen becomes the floor.
    pub fn see(&mut self, since: usize, sight: Sight) -> Result<(), String> {
        let seen = match sight {
            Sight::Present(number) => {
                let known = self.revisions.get(number);
                let known = known.ok_or_else(|| format!("revision {number}, which nobody wrote"))?;
                if !known.present {
                    return Err(format!("revision {number}, which is a deletion"));
                }
                if known.fate == Fate::Void {
                    return Err(format!("revision {number}, which was refused or lost"));
                }
                if number < since {
                    return Err(format!("revision {number}, which is older than {since}"));
                }
                number
            }
            Sight::Absent => {
                let missing = self.revisions.iter().enumerate().skip(since);
                let missing = missing.filter(|(_, known)| !known.present && known.fate != Fate::Void);
                let first = missing.map(|(number, _)| number).next();
                first
                    .ok_or_else(|| format!("nothing, though it is there since revision {since} or before"))?
            }
        };
        self.done(seen);
        Ok(())
    }
}

/// A table and its rows.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Its id, once known.
    pub id: Option<String>,
    /// Its definition. The description holds the revision.
    pub object: Object,
    /// The fields that were added to it.
    pub fields: Vec<Object>,
    /// Its rows, by number.
    pub rows: BTreeMap<usize, Row>,
}

/// A row.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Its id, once known.
    pub id: Option<String>,
    /// Its values. One of them is the revision.
    pub object: Object,
}

/// The floors of a tenant at the moment when somebody starts to read.
pub type Floors = BTreeMap<usize, TableFloors>;

/// The floors of a table.
#[derive(Clone, Debug, Default)]
pub struct TableFloors {
    object: usize,
    fields: Vec<usize>,
    rows: BTreeMap<usize, usize>,
}

impl TableFloors {
    /// Raises a row's floor: the reader has been told of that revision.
    pub fn raise_row(&mut self, row: usize, revision: usize) {
        let floor = self.rows.entry(row).or_default();
        *floor = (*floor).max(revision);
    }
}

/// Everything of one tenant that can be read.
#[derive(Clone, Debug)]
pub struct Data {
    /// What every value of the tenant carries, and nothing of another's.
    pub marker: String,
    /// The tables, by number.
    pub tables: BTreeMap<usize, Table>,
}

impl Data {
    /// What a table of that number is described as.
    pub fn description(&self, table: usize, revision: usize) -> String {
        format!("{} table {table} revision {revision}", self.marker)
    }

    /// The floors as they are now.
    pub fn floors(&self) -> Floors {
        let of_table = |table: &Table| TableFloors {
            object: table.object.floor(),
            fields: table.fields.iter().map(Object::floor).collect(),
            rows: table.rows.iter().map(|(number, row)| (*number, row.object.floor())).collect(),
        };
        self.tables.iter().map(|(number, table)| (*number, of_table(table))).collect()
    }

    /// Checks a list of tables: every table that must be there, none that must not, each no older than its floor.
    pub fn see_tables(&mut self, floors: &Floors, list: &Value) -> Result<(), String> {
        let list = list.as_array().ok_or("a list of tables that is no list")?;
        let mut found = Vec::new();
        for entry in list {
            let number = self.see_table(floors, entry)?;
            if found.contains(&number) {
                return Err(format!("table {number} twice"));
            }
            found.push(number);
        }
        for (number, table) in &mut self.tables {
            if !found.contains(number) {
                let since = floors.get(number).map_or(0, |floors| floors.object);
                let seen = table.object.see(since, Sight::Absent);
                seen.map_err(|seen| format!("table {number}: {seen}"))?;
            }
        }
        Ok(())
    }

    /// Checks one table and returns its number: definition, fields and count of rows.
    pub fn see_table(&mut self, floors: &Floors, entry: &Value) -> Result<usize, String> {
        let description = entry["description"].as_str().unwrap_or_default().to_owned();
        let strange = || format!("a table that nobody made: {entry}");
        let rest = description.strip_prefix(self.marker.as_str()).ok_or_else(strange)?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let ["table", number, "revision", revision] = words[..] else { return Err(strange()) };
        let (Ok(number), Ok(revision)) = (number.parse::<usize>(), revision.parse::<usize>()) else {
            return Err(strange());
        };
        let floors = floors.get(&number).cloned().unwrap_or_default();
        let table = self.tables.get_mut(&number).ok_or_else(strange)?;
        identify(&mut table.id, &entry["id"]).map_err(|seen| format!("table {number}: {seen}"))?;
        let told = |seen: String| format!("table {number}: {seen}");
        table.object.see(floors.object, Sight::Present(revision)).map_err(told)?;
        let fields = entry["fields"].as_array().map(Vec::as_slice).unwrap_or_default();
        for (place, field) in table.fields.iter_mut().enumerate() {
            let name = field_name(place);
            let is_there = fields.iter().any(|field| field["name"] == name.as_str());
            let sight = if is_there { Sight::Present(1) } else { Sight::Absent };
            let since = floors.fields.get(place).copied().unwrap_or(0);
            field.see(since, sight).map_err(|seen| format!("table {number}, field {name}: {seen}"))?;
        }
        let count = entry["rowCount"].as_u64().or(entry["stats"]["rowCount"].as_u64());
        let count = count.ok_or_else(|| format!("table {number} without a count of rows"))? as usize;
        let bounds = table
            .rows
            .iter()
            .map(|(row, known)| known.object.may(floors.rows.get(row).copied().unwrap_or(0)));
        within("rows", count, bounds).map_err(told)?;
        Ok(number)
    }

    /// Checks that a table is not there, as somebody saw.
    pub fn see_no_table(&mut self, floors: &Floors, number: usize) -> Result<(), String> {
        let since = floors.get(&number).map_or(0, |floors| floors.object);
        let Some(table) = self.tables.get_mut(&number) else { return Ok(()) };
        table.object.see(since, Sight::Absent).map_err(|seen| format!("table {number}: {seen}"))
    }

    /// Checks a count of tables.
    pub fn see_table_count(&self, floors: &Floors, count: usize) -> Result<(), String> {
        let bounds = self
            .tables
            .iter()
            .map(|(number, table)| table.object.may(floors.get(number).map_or(0, |floors| floors.object)));
        within("tables", count, bounds)
    }

    /// Checks a page that shows all rows of a table.
    pub fn see_rows(&mut self, floors: &Floors, number: usize, page: &Value) -> Result<(), String> {
        let floors = floors.get(&number).cloned().unwrap_or_default();
        let items = page["items"].as_array().ok_or("a page of rows without items")?;
        if page["pagination"]["total"].as_u64() != Some(items.len() as u64) {
            return Err(format!("{} rows and the total {}", items.len(), page["pagination"]["total"]));
        }
        let mut found = Vec::new();
        for item in items {
            let row = self.see_row_value(&floors, number, item)?;
            if found.contains(&row) {
                return Err(format!("row {row} of table {number} twice"));
            }
            found.push(row);
        }
        let Some(table) = self.tables.get_mut(&number) else { return Ok(()) };
        let (may_be_there, _) = table.object.may(floors.object);
        if !may_be_there {
            return Err(format!("rows of table {number}, which is gone"));
        }
        for (row, known) in &mut table.rows {
            if !found.contains(row) {
                let since = floors.rows.get(row).copied().unwrap_or(0);
                let seen = known.object.see(since, Sight::Absent);
                seen.map_err(|seen| format!("row {row} of table {number}: {seen}"))?;
            }
        }
        Ok(())
    }

    /// Checks one row.
    pub fn see_row(&mut self, floors: &Floors, table: usize, item: &Value) -> Result<usize, String> {
        let floors = floors.get(&table).cloned().unwrap_or_default();
        self.see_row_value(&floors, table, item)
    }

    fn see_row_value(&mut self, floors: &TableFloors, table: usize, item: &Value) -> Result<usize, String> {
        let strange = || format!("a row that nobody made: {item}");
        let key = item["key"].as_str().and_then(|key| key.strip_prefix("row "));
        let number: usize = key.and_then(|key| key.parse().ok()).ok_or_else(strange)?;
        if item["mark"] != self.marker.as_str() {
            return Err(strange());
        }
        let revision = item["revision"].as_u64().ok_or_else(strange)? as usize;
        let known = self.tables.get_mut(&table).and_then(|table| table.rows.get_mut(&number));
        let known = known.ok_or_else(strange)?;
        let told = |seen: String| format!("row {number} of table {table}: {seen}");
        identify(&mut known.id, &item["id"]).map_err(told)?;
        let since = floors.rows.get(&number).copied().unwrap_or(0);
        known.object.see(since, Sight::Present(revision)).map_err(told)?;
        Ok(number)
    }

    /// Checks that a row is not there, as somebody saw; its table may be gone as well.
    pub fn see_no_row(&mut self, floors: &Floors, table: usize, row: usize) -> Result<(), String> {
        let floors = floors.get(&table).cloned().unwrap_or_default();
        let Some(known) = self.tables.get_mut(&table) else { return Ok(()) };
        if known.object.may(floors.object).1 {
            return Ok(());
        }
        let since = floors.rows.get(&row).copied().unwrap_or(0);
        let Some(known) = known.rows.get_mut(&row) else { return Ok(()) };
        known.object.see(since, Sight::Absent).map_err(|seen| format!("row {row} of table {table}: {seen}"))
    }

    /// Whether a write has no answer.
    pub fn is_open(&self) -> bool {
        self.objects().any(Object::is_open)
    }

    /// Nothing is under way any more, and everything has been looked at.
    pub fn settle(&mut self) {
        for table in self.tables.values_mut() {
            table.object.settle();
            table.fields.iter_mut().for_each(Object::settle);
            table.rows.values_mut().for_each(|row| row.object.settle());
        }
    }

    fn objects(&self) -> impl Iterator<Item = &Object> {
        self.tables.values().flat_map(|table| {
            let parts = table.fields.iter().chain(table.rows.values().map(|row| &row.object));
            parts.chain([&table.object])
        })
    }
}

/// The name of an added field.
pub fn field_name(place: usize) -> String {
    format!("extra{place}")
}

/// Learns an id, which never changes.
fn identify(known: &mut Option<String>, seen: &Value) -> Result<(), String> {
    let seen = seen.as_str().ok_or("no id")?;
    match known {
        Some(known) if known != seen => Err(format!("the id {seen}, which was {known}")),
        _ => {
            *known = Some(seen.to_owned());
            Ok(())
        }
    }
}

/// Whether a count fits things that may be there or not.
fn within(
    what: &str,
    count: usize,
    bounds: impl Iterator<Item = (bool, bool)> + Clone,
) -> Result<(), String> {
    let most = bounds.clone().filter(|(may_be_there, _)| *may_be_there).count();
    let least = bounds.filter(|(_, may_be_missing)| !may_be_missing).count();
    if (least..=most).contains(&count) {
        return Ok(());
    }
    Err(format!("{count} {what} counted, where there are {least} to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_acknowledged_or_seen_is_the_least_that_is_seen_later() {
        let mut row = Object::default();
        assert!(row.see(0, Sight::Absent).is_ok());
        let made = row.issue(true);
        assert!(row.see(0, Sight::Absent).is_ok(), "not answered yet");
        assert!(row.see(0, Sight::Present(made)).is_ok(), "but done, perhaps");
        assert!(row.see(row.floor(), Sight::Absent).is_err(), "once seen it stays");
        let changed = row.issue(true);
        row.done(changed);
        assert!(row.see(changed, Sight::Present(made)).is_err());
        assert!(row.see(made, Sight::Present(made)).is_ok(), "whoever began before may see the older one");
        let refused = row.issue(true);
        row.void(refused);
        assert!(row.see(changed, Sight::Present(refused)).is_err());
        let deleted = row.issue(false);
        assert_eq!(row.may(changed), (true, true));
        row.done(deleted);
        assert_eq!(row.may(deleted), (false, true));
        assert!(row.see(deleted, Sight::Present(changed)).is_err());
        assert!(row.see(deleted, Sight::Present(9)).is_err());
    }

    #[test]
    fn what_was_not_seen_in_the_end_did_not_happen() {
        let mut row = Object::default();
        let made = row.issue(true);
        row.done(made);
        let lost = row.issue(true);
        assert!(row.is_open());
        row.settle();
        assert!(row.see(made, Sight::Present(lost)).is_err());
        assert!(row.is_present());
    }

    #[test]
    fn a_page_is_checked_as_a_whole() {
        let mut data = Data { marker: "M".to_owned(), tables: BTreeMap::new() };
        let mut table = Table::default();
        let made = table.object.issue(true);
        table.object.done(made);
        for number in 0..2 {
            let mut row = Row::default();
            let made = row.object.issue(true);
            row.object.done(made);
            table.rows.insert(number, row);
        }
        data.tables.insert(0, table);
        let item = |row: usize, revision: usize, mark: &str| json!({"id": format!("rec_{row}"), "key": format!("row {row}"), "revision": revision, "mark": mark});
        let page = |items: Vec<Value>| json!({"pagination": {"total": items.len()}, "items": items});
        let floors = data.floors();
        let mut check = |items: Vec<Value>| data.see_rows(&floors, 0, &page(items));
        assert_eq!(check(vec![item(0, 1, "M"), item(1, 1, "M")]), Ok(()));
        assert!(check(vec![item(0, 1, "M")]).is_err(), "one is missing");
        assert!(check(vec![item(0, 1, "M"), item(0, 1, "M")]).is_err(), "one is there twice");
        assert!(check(vec![item(0, 1, "M"), item(1, 1, "N")]).is_err(), "one is another tenant's");
        assert!(check(vec![item(0, 1, "M"), item(1, 2, "M")]).is_err(), "one is newer than anything written");
        assert!(check(vec![item(0, 1, "M"), item(1, 1, "M"), item(2, 1, "M")]).is_err(), "one is nobody's");
        assert!(data.see_table_count(&floors, 2).is_err());
        assert!(data.see_no_table(&floors, 0).is_err());
        let entry = |rows: usize| json!({"id": "tbl_1", "description": "M table 0 revision 1", "rowCount": rows, "fields": []});
        assert_eq!(data.see_tables(&floors, &json!([entry(2)])), Ok(()));
        assert!(data.see_tables(&floors, &json!([entry(1)])).is_err(), "a row is not counted");
        assert!(data.see_tables(&floors, &json!([])).is_err(), "the table is missing");
    }
}
