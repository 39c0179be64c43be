//! The model: which states acknowledged and unanswered writes allow.
//!
//! Every row and table goes through numbered revisions, and each write stores its number, so that "older" can be
//! decided. An acknowledged revision is a minimum: every read that starts later must return it or a newer one. So is
//! a revision that was observed. A revision without a reply may or may not exist, until it is observed. A rejected
//! revision must never be observed.

use std::collections::BTreeMap;

use serde_json::Value;

/// An object with revisions: a row, a table, or a field of a table.
#[derive(Clone, Debug)]
pub struct Object {
    /// By number; revision 0 is the state before the creation.
    revisions: Vec<Revision>,
    /// The oldest revision that a read may return.
    min_revision: usize,
}

#[derive(Clone, Copy, Debug)]
struct Revision {
    present: bool,
    status: WriteStatus,
}

/// The state of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteStatus {
    /// No reply yet, or none ever.
    Unknown,
    /// Acknowledged or observed.
    Committed,
    /// Rejected, or known not to have been committed.
    Rejected,
}

/// What a read observed of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observation {
    /// The object did not exist.
    Absent,
    /// The object existed in this revision.
    Present(usize),
}

impl Default for Object {
    fn default() -> Object {
        Object {
            revisions: vec![Revision { present: false, status: WriteStatus::Committed }],
            min_revision: 0,
        }
    }
}

impl Object {
    /// The oldest revision that a read may return.
    pub fn min_revision(&self) -> usize {
        self.min_revision
    }

    /// Adds a write that is about to be sent and returns its number.
    pub fn begin_write(&mut self, present: bool) -> usize {
        self.revisions.push(Revision { present, status: WriteStatus::Unknown });
        self.revisions.len() - 1
    }

    /// The write was acknowledged or observed.
    pub fn mark_committed(&mut self, revision: usize) {
        if let Some(entry) = self.revisions.get_mut(revision) {
            entry.status = WriteStatus::Committed;
            self.min_revision = self.min_revision.max(revision);
        }
    }

    /// The write was rejected.
    pub fn mark_rejected(&mut self, revision: usize) {
        if let Some(entry) = self.revisions.get_mut(revision) {
            entry.status = WriteStatus::Rejected;
        }
    }

    /// Whether a write has no reply.
    pub fn has_unknown_write(&self) -> bool {
        self.revisions.iter().any(|revision| revision.status == WriteStatus::Unknown)
    }

    /// No transaction is open any more: writes that have not been observed were not committed.
    pub fn resolve_unknown(&mut self) {
        for revision in &mut self.revisions {
            if revision.status == WriteStatus::Unknown {
                revision.status = WriteStatus::Rejected;
            }
        }
    }

    /// The states that a read may observe that started when the minimum was `min_revision` and ends now.
    fn possible_states(&self, min_revision: usize) -> impl Iterator<Item = bool> + '_ {
        let candidates = self.revisions.iter().enumerate().skip(min_revision);
        candidates
            .filter(|(_, revision)| revision.status != WriteStatus::Rejected)
            .map(|(_, revision)| revision.present)
    }

    /// Whether the object may be present, and whether it may be absent.
    pub fn possible_presence(&self, min_revision: usize) -> (bool, bool) {
        (
            self.possible_states(min_revision).any(|present| present),
            self.possible_states(min_revision).any(|present| !present),
        )
    }

    /// Checks an observation of a read that started when the minimum was `min_revision`. The observation becomes the
    /// minimum.
    pub fn check(&mut self, min_revision: usize, observation: Observation) -> Result<(), String> {
        let revision_seen = match observation {
            Observation::Present(number) => {
                let revision = self.revisions.get(number);
                let revision =
                    revision.ok_or_else(|| format!("revision {number}, which was never written"))?;
                if !revision.present {
                    return Err(format!("revision {number}, which is a deletion"));
                }
                if revision.status == WriteStatus::Rejected {
                    return Err(format!("revision {number}, which was rejected or not committed"));
                }
                if number < min_revision {
                    return Err(format!("revision {number}, which is older than {min_revision}"));
                }
                number
            }
            Observation::Absent => {
                let absences = self.revisions.iter().enumerate().skip(min_revision);
                let absences = absences
                    .filter(|(_, revision)| !revision.present && revision.status != WriteStatus::Rejected);
                let first_absence = absences.map(|(number, _)| number).next();
                first_absence.ok_or_else(|| {
                    format!("nothing, although it exists since revision {min_revision} or before")
                })?
            }
        };
        self.mark_committed(revision_seen);
        Ok(())
    }
}

/// A table and its rows.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The table id, once known.
    pub id: Option<String>,
    /// The definition. The description contains the revision.
    pub object: Object,
    /// The added fields.
    pub fields: Vec<Object>,
    /// The rows by number.
    pub rows: BTreeMap<usize, Row>,
}

/// A row.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// The row id, once known.
    pub id: Option<String>,
    /// The values. One of them is the revision.
    pub object: Object,
}

/// The minimum revisions of a tenant at the start of a read.
pub type MinRevisions = BTreeMap<usize, TableMinRevisions>;

/// The minimum revisions of a table.
#[derive(Clone, Debug, Default)]
pub struct TableMinRevisions {
    object: usize,
    fields: Vec<usize>,
    rows: BTreeMap<usize, usize>,
}

impl TableMinRevisions {
    /// Raises the minimum of a row: the reader has been notified of that revision.
    pub fn raise_min_revision(&mut self, row: usize, revision: usize) {
        let min_revision = self.rows.entry(row).or_default();
        *min_revision = (*min_revision).max(revision);
    }
}

/// All readable data of one tenant.
#[derive(Clone, Debug)]
pub struct Data {
    /// A text in every value of this tenant, and in no value of another.
    pub marker: String,
    /// The tables by number.
    pub tables: BTreeMap<usize, Table>,
}

impl Data {
    /// The description of a table in this revision.
    pub fn description(&self, table: usize, revision: usize) -> String {
        format!("{} table {table} revision {revision}", self.marker)
    }

    /// The current minimum revisions.
    pub fn min_revisions(&self) -> MinRevisions {
        let table_min_revisions = |table: &Table| TableMinRevisions {
            object: table.object.min_revision(),
            fields: table.fields.iter().map(Object::min_revision).collect(),
            rows: table.rows.iter().map(|(number, row)| (*number, row.object.min_revision())).collect(),
        };
        self.tables.iter().map(|(number, table)| (*number, table_min_revisions(table))).collect()
    }

    /// Checks a list of tables: complete, without unknown tables, and none older than its minimum.
    pub fn check_tables(&mut self, min_revisions: &MinRevisions, list: &Value) -> Result<(), String> {
        let list = list.as_array().ok_or("a list of tables that is not an array")?;
        let mut listed_tables = Vec::new();
        for entry in list {
            let number = self.check_table(min_revisions, entry)?;
            if listed_tables.contains(&number) {
                return Err(format!("table {number} twice"));
            }
            listed_tables.push(number);
        }
        for (number, table) in &mut self.tables {
            if !listed_tables.contains(number) {
                let min_revision =
                    min_revisions.get(number).map_or(0, |table_minimums| table_minimums.object);
                let result = table.object.check(min_revision, Observation::Absent);
                result.map_err(|observed| format!("table {number}: {observed}"))?;
            }
        }
        Ok(())
    }

    /// Checks the definition, fields and row count of a table and returns its number.
    pub fn check_table(&mut self, min_revisions: &MinRevisions, entry: &Value) -> Result<usize, String> {
        let description = entry["description"].as_str().unwrap_or_default().to_owned();
        let unexpected_table = || format!("an unknown table: {entry}");
        let rest = description.strip_prefix(self.marker.as_str()).ok_or_else(unexpected_table)?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let ["table", number, "revision", revision] = words[..] else { return Err(unexpected_table()) };
        let (Ok(number), Ok(revision)) = (number.parse::<usize>(), revision.parse::<usize>()) else {
            return Err(unexpected_table());
        };
        let table_minimums = min_revisions.get(&number).cloned().unwrap_or_default();
        let table = self.tables.get_mut(&number).ok_or_else(unexpected_table)?;
        match_id(&mut table.id, &entry["id"]).map_err(|observed| format!("table {number}: {observed}"))?;
        let with_table = |observed: String| format!("table {number}: {observed}");
        table.object.check(table_minimums.object, Observation::Present(revision)).map_err(with_table)?;
        let fields = entry["fields"].as_array().map(Vec::as_slice).unwrap_or_default();
        for (index, field) in table.fields.iter_mut().enumerate() {
            let name = field_name(index);
            let is_there = fields.iter().any(|field| field["name"] == name.as_str());
            let observation = if is_there { Observation::Present(1) } else { Observation::Absent };
            let min_revision = table_minimums.fields.get(index).copied().unwrap_or(0);
            field
                .check(min_revision, observation)
                .map_err(|observed| format!("table {number}, field {name}: {observed}"))?;
        }
        let count = entry["rowCount"].as_u64().or(entry["stats"]["rowCount"].as_u64());
        let count = count.ok_or_else(|| format!("table {number} without a count of rows"))? as usize;
        let bounds = table.rows.iter().map(|(row, row_entry)| {
            row_entry.object.possible_presence(table_minimums.rows.get(row).copied().unwrap_or(0))
        });
        check_count("rows", count, bounds).map_err(with_table)?;
        Ok(number)
    }

    /// Checks an observation that a table is absent.
    pub fn check_table_absent(&mut self, min_revisions: &MinRevisions, number: usize) -> Result<(), String> {
        let min_revision = min_revisions.get(&number).map_or(0, |table_minimums| table_minimums.object);
        let Some(table) = self.tables.get_mut(&number) else { return Ok(()) };
        table
            .object
            .check(min_revision, Observation::Absent)
            .map_err(|observed| format!("table {number}: {observed}"))
    }

    /// Checks a number of tables.
    pub fn check_table_count(&self, min_revisions: &MinRevisions, count: usize) -> Result<(), String> {
        let bounds = self.tables.iter().map(|(number, table)| {
            table.object.possible_presence(
                min_revisions.get(number).map_or(0, |table_minimums| table_minimums.object),
            )
        });
        check_count("tables", count, bounds)
    }

    /// Checks a page with all rows of a table.
    pub fn check_rows(
        &mut self,
        min_revisions: &MinRevisions,
        number: usize,
        page: &Value,
    ) -> Result<(), String> {
        let table_minimums = min_revisions.get(&number).cloned().unwrap_or_default();
        let items = page["items"].as_array().ok_or("a page of rows without items")?;
        if page["pagination"]["total"].as_u64() != Some(items.len() as u64) {
            return Err(format!("{} rows and the total {}", items.len(), page["pagination"]["total"]));
        }
        let mut listed_rows = Vec::new();
        for item in items {
            let row = self.check_row_value(&table_minimums, number, item)?;
            if listed_rows.contains(&row) {
                return Err(format!("row {row} of table {number} twice"));
            }
            listed_rows.push(row);
        }
        let Some(table) = self.tables.get_mut(&number) else { return Ok(()) };
        let (may_be_there, _) = table.object.possible_presence(table_minimums.object);
        if !may_be_there {
            return Err(format!("rows of table {number}, which is gone"));
        }
        for (row, row_entry) in &mut table.rows {
            if !listed_rows.contains(row) {
                let min_revision = table_minimums.rows.get(row).copied().unwrap_or(0);
                let result = row_entry.object.check(min_revision, Observation::Absent);
                result.map_err(|observed| format!("row {row} of table {number}: {observed}"))?;
            }
        }
        Ok(())
    }

    /// Checks one row.
    pub fn check_row(
        &mut self,
        min_revisions: &MinRevisions,
        table: usize,
        item: &Value,
    ) -> Result<usize, String> {
        let table_minimums = min_revisions.get(&table).cloned().unwrap_or_default();
        self.check_row_value(&table_minimums, table, item)
    }

    fn check_row_value(
        &mut self,
        min_revisions: &TableMinRevisions,
        table: usize,
        item: &Value,
    ) -> Result<usize, String> {
        let unexpected_row = || format!("an unknown row: {item}");
        let key = item["key"].as_str().and_then(|key| key.strip_prefix("row "));
        let number: usize = key.and_then(|key| key.parse().ok()).ok_or_else(unexpected_row)?;
        if item["mark"] != self.marker.as_str() {
            return Err(unexpected_row());
        }
        let revision = item["revision"].as_u64().ok_or_else(unexpected_row)? as usize;
        let row_entry = self.tables.get_mut(&table).and_then(|table| table.rows.get_mut(&number));
        let row_entry = row_entry.ok_or_else(unexpected_row)?;
        let with_row = |observed: String| format!("row {number} of table {table}: {observed}");
        match_id(&mut row_entry.id, &item["id"]).map_err(with_row)?;
        let min_revision = min_revisions.rows.get(&number).copied().unwrap_or(0);
        row_entry.object.check(min_revision, Observation::Present(revision)).map_err(with_row)?;
        Ok(number)
    }

    /// Checks an observation that a row is absent; its table may be absent as well.
    pub fn check_row_absent(
        &mut self,
        min_revisions: &MinRevisions,
        table: usize,
        row: usize,
    ) -> Result<(), String> {
        let table_minimums = min_revisions.get(&table).cloned().unwrap_or_default();
        let Some(table_entry) = self.tables.get_mut(&table) else { return Ok(()) };
        if table_entry.object.possible_presence(table_minimums.object).1 {
            return Ok(());
        }
        let min_revision = table_minimums.rows.get(&row).copied().unwrap_or(0);
        let Some(row_entry) = table_entry.rows.get_mut(&row) else { return Ok(()) };
        row_entry
            .object
            .check(min_revision, Observation::Absent)
            .map_err(|observed| format!("row {row} of table {table}: {observed}"))
    }

    /// Whether a write has no reply.
    pub fn has_unknown_write(&self) -> bool {
        self.objects().any(Object::has_unknown_write)
    }

    /// No transaction is open any more, and everything has been read.
    pub fn resolve_unknown(&mut self) {
        for table in self.tables.values_mut() {
            table.object.resolve_unknown();
            table.fields.iter_mut().for_each(Object::resolve_unknown);
            table.rows.values_mut().for_each(|row| row.object.resolve_unknown());
        }
    }

    fn objects(&self) -> impl Iterator<Item = &Object> {
        self.tables.values().flat_map(|table| {
            let fields_and_rows = table.fields.iter().chain(table.rows.values().map(|row| &row.object));
            fields_and_rows.chain([&table.object])
        })
    }
}

/// The name of an added field.
pub fn field_name(index: usize) -> String {
    format!("extra{index}")
}

/// Stores an id on first sight and checks that it does not change.
fn match_id(expected_id: &mut Option<String>, value: &Value) -> Result<(), String> {
    let id = value.as_str().ok_or("no id")?;
    match expected_id {
        Some(expected_id) if expected_id != id => Err(format!("the id {id}, which was {expected_id}")),
        _ => {
            *expected_id = Some(id.to_owned());
            Ok(())
        }
    }
}

/// Checks a count of objects that may be present or absent.
fn check_count(
    noun: &str,
    count: usize,
    bounds: impl Iterator<Item = (bool, bool)> + Clone,
) -> Result<(), String> {
    let max = bounds.clone().filter(|(may_be_there, _)| *may_be_there).count();
    let min = bounds.filter(|(_, may_be_missing)| !may_be_missing).count();
    if (min..=max).contains(&count) {
        return Ok(());
    }
    Err(format!("{count} {noun} counted, where there are {min} to {max}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn check_rejects_older_than_acknowledged_or_seen() {
        let mut row = Object::default();
        assert!(row.check(0, Observation::Absent).is_ok());
        let created = row.begin_write(true);
        assert!(row.check(0, Observation::Absent).is_ok(), "no reply yet");
        assert!(row.check(0, Observation::Present(created)).is_ok(), "but possibly committed");
        assert!(row.check(row.min_revision(), Observation::Absent).is_err(), "an observed object stays");
        let updated = row.begin_write(true);
        row.mark_committed(updated);
        assert!(row.check(updated, Observation::Present(created)).is_err());
        assert!(
            row.check(created, Observation::Present(created)).is_ok(),
            "a read that started before may observe the older revision"
        );
        let rejected = row.begin_write(true);
        row.mark_rejected(rejected);
        assert!(row.check(updated, Observation::Present(rejected)).is_err());
        let deleted = row.begin_write(false);
        assert_eq!(row.possible_presence(updated), (true, true));
        row.mark_committed(deleted);
        assert_eq!(row.possible_presence(deleted), (false, true));
        assert!(row.check(deleted, Observation::Present(updated)).is_err());
        assert!(row.check(deleted, Observation::Present(9)).is_err());
    }

    #[test]
    fn resolve_unknown_rejects_unseen_writes() {
        let mut row = Object::default();
        let created = row.begin_write(true);
        row.mark_committed(created);
        let unanswered = row.begin_write(true);
        assert!(row.has_unknown_write());
        row.resolve_unknown();
        assert!(row.check(created, Observation::Present(unanswered)).is_err());
        assert_eq!(row.possible_presence(row.min_revision()), (true, false));
    }

    #[test]
    fn check_rows_rejects_missing_duplicate_and_foreign_rows() {
        let mut data = Data { marker: "M".to_owned(), tables: BTreeMap::new() };
        let mut table = Table::default();
        let revision = table.object.begin_write(true);
        table.object.mark_committed(revision);
        for number in 0..2 {
            let mut row = Row::default();
            let revision = row.object.begin_write(true);
            row.object.mark_committed(revision);
            table.rows.insert(number, row);
        }
        data.tables.insert(0, table);
        let item = |row: usize, revision: usize, mark: &str| {
            let (id, key) = (format!("rec_{row}"), format!("row {row}"));
            json!({"id": id, "key": key, "revision": revision, "mark": mark})
        };
        let page = |items: Vec<Value>| json!({"pagination": {"total": items.len()}, "items": items});
        let min_revisions = data.min_revisions();
        let mut check = |items: Vec<Value>| data.check_rows(&min_revisions, 0, &page(items));
        assert_eq!(check(vec![item(0, 1, "M"), item(1, 1, "M")]), Ok(()));
        assert!(check(vec![item(0, 1, "M")]).is_err(), "one is missing");
        assert!(check(vec![item(0, 1, "M"), item(0, 1, "M")]).is_err(), "one is there twice");
        assert!(check(vec![item(0, 1, "M"), item(1, 1, "N")]).is_err(), "one is another tenant's");
        assert!(check(vec![item(0, 1, "M"), item(1, 2, "M")]).is_err(), "one is newer than anything written");
        assert!(check(vec![item(0, 1, "M"), item(1, 1, "M"), item(2, 1, "M")]).is_err(), "one is unknown");
        assert!(data.check_table_count(&min_revisions, 2).is_err());
        assert!(data.check_table_absent(&min_revisions, 0).is_err());
        let entry = |rows: usize| json!({"id": "tbl_1", "description": "M table 0 revision 1", "rowCount": rows, "fields": []});
        assert_eq!(data.check_tables(&min_revisions, &json!([entry(2)])), Ok(()));
        assert!(data.check_tables(&min_revisions, &json!([entry(1)])).is_err(), "a row is not counted");
        assert!(data.check_tables(&min_revisions, &json!([])).is_err(), "the table is missing");
    }
}
