//! `plan.update`: status, attributes, ticks and resolutions, of one entity or of many. All of them or none.

use indexmap::IndexMap;
use quad_core::tool::{Call, Called, Effect};
use quad_core::{Basis, Error, Kind, Result, Tool};
use serde_json::{Map, Value, json};

use super::schema::{input, one_of, string, words_of, yes_or_no};
use super::{output, text, today};
use crate::limits::UPDATE_ENTITIES_MAX;
use crate::live::{Live, Plan};
use crate::plan::diff::unified;
use crate::plan::edit::{Changes, Which};
use crate::scheme::question::{entity_of, hash, plan};
use crate::scheme::routes::WRITE;
use crate::scheme::writes::{NewText, Wish, write};
use crate::scheme::{Refrakt, refusal};

/// Attributes that have an argument of their own; any other goes into `attrs`.
const NAMED: [&str; 9] = [
    "status",
    "priority",
    "severity",
    "complexity",
    "assignee",
    "milestone",
    "supersedes",
    "pr",
    "released-in",
];

pub(super) fn tool() -> Tool {
    let mut properties = change_properties();
    let one = input(&[&[("id", string("Which entity"))][..], &properties].concat(), &["id"]);
    properties.splice(
        0..0,
        [
            ("id", string("Which entity")),
            ("ids", json!({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": UPDATE_ENTITIES_MAX, "description": "Several entities, which all get the same change"})),
            ("updates", json!({"type": "array", "items": one, "minItems": 1, "maxItems": UPDATE_ENTITIES_MAX, "description": "Several entities, each with its own change"})),
        ],
    );
    properties.push(("dryRun", yes_or_no("Only show what would change, as a diff")));
    let mut schema = input(&properties, &[]);
    if let Some(schema) = schema.as_object_mut() {
        schema.insert(
            "oneOf".into(),
            json!([{"required": ["id"]}, {"required": ["ids"]}, {"required": ["updates"]}]),
        );
    }
    Tool::new(
        "plan.update",
        "Update plan entities",
        "Changes entities in their files: status, attributes, criteria to check and uncheck, a resolution. Every other byte stays. ifHash refuses the change if the file is not the one you read; dryRun shows a diff. Several entities change together or not at all.",
        schema,
        WRITE,
        Effect::Updates,
    )
}

fn change_properties() -> Vec<(&'static str, Value)> {
    let criteria = |what: &str| {
        let one = json!({"type": ["string", "integer"]});
        let many = json!({"type": "array", "items": one});
        json!({"anyOf": [{"type": ["string", "integer"]}, many], "description": format!("Criteria to {what}: the text or a part of it that fits only one, or the number from 1; one or a list")})
    };
    let attributes = json!({
        "type": "object",
        "additionalProperties": {"type": ["string", "null"]},
        "description": "Any other attribute by name; null takes it away",
    });
    vec![
        ("status", one_of(&words_of("status"), "Its new state, of those that its type has")),
        ("priority", one_of(&words_of("priority"), "Its new priority")),
        ("severity", one_of(&words_of("severity"), "Its new severity")),
        ("complexity", one_of(&words_of("complexity"), "Its new complexity")),
        ("assignee", string("Who does it")),
        ("milestone", string("The milestone that it counts towards")),
        ("supersedes", string("The id of what it replaces")),
        ("pr", string("Pull requests, as owner/repository#number, separated by commas")),
        ("released-in", string("The version that a specification shipped in")),
        ("attrs", attributes),
        ("check", criteria("tick")),
        ("uncheck", criteria("clear")),
        ("resolve", string("How it ended: becomes a section Resolution with today's date")),
        ("ifHash", string("SHA-256 of the file that you read; anything else there refuses the change")),
    ]
}

pub(super) async fn call(refrakt: &Refrakt, call: Call<'_>) -> Result<Called> {
    let wanted = wanted(&call.arguments)?;
    if call.arguments.get("dryRun").and_then(Value::as_bool).unwrap_or(false) {
        let make = move |live: Option<&Live>| {
            let plan = plan(live.ok_or_else(|| refusal::no_plan(None))?)?;
            Ok(shown(&changed(&plan, &wanted)?, true))
        };
        let (value, version) = refrakt.look(call.caller, make).await?;
        return Ok(Called::read(output(value), Basis::at(version)));
    }
    let wish = move |plan: &Plan| {
        let changed = changed(plan, &wanted)?;
        let texts = changed.iter().filter(|one| one.is_different()).map(Changed::new_text).collect();
        Ok(Wish { texts, value: shown(&changed, false) })
    };
    let (value, receipt) = write(refrakt, &call, wish).await?;
    match receipt {
        Some(receipt) => Ok(Called::wrote(output(value), receipt)),
        // Everything was so already.
        None => Ok(Called::read(output(value), Basis::at(refrakt.version(call.caller).await?))),
    }
}

/// A change of one entity.
struct Wanted {
    id: String,
    changes: Changes,
    if_hash: Option<String>,
}

fn wanted(arguments: &Map<String, Value>) -> Result<Vec<Wanted>> {
    let one = |id: String, from: &Map<String, Value>| {
        let changes = changes(from);
        if changes.is_empty() {
            return Err(Error::bad_input(format!("{}: there is nothing to change", refusal::shown(&id)))
                .hint("Pass status, another attribute, check, uncheck or resolve"));
        }
        Ok(Wanted { id, changes, if_hash: text(from, "ifHash") })
    };
    let many = |name: &str| arguments.get(name).and_then(Value::as_array);
    if let Some(updates) = many("updates") {
        if !changes(arguments).is_empty() || arguments.contains_key("ifHash") {
            return Err(Error::bad_input("updates: changes belong into each of them")
                .hint("Use ids for one change of several entities"));
        }
        let updates = updates.iter().filter_map(Value::as_object);
        return updates.map(|update| one(text(update, "id").unwrap_or_default(), update)).collect();
    }
    if let Some(ids) = many("ids") {
        if arguments.contains_key("ifHash") {
            return Err(Error::bad_input("ifHash: one hash cannot fit several files")
                .hint("Use updates, with a hash in each"));
        }
        return ids.iter().filter_map(Value::as_str).map(|id| one(id.to_owned(), arguments)).collect();
    }
    Ok(vec![one(text(arguments, "id").unwrap_or_default(), arguments)?])
}

fn changes(arguments: &Map<String, Value>) -> Changes {
    let mut attributes: IndexMap<String, Option<String>> = IndexMap::new();
    for name in NAMED {
        if let Some(value) = arguments.get(name).and_then(Value::as_str) {
            attributes.insert(name.to_owned(), Some(value.to_owned()));
        }
    }
    for (name, value) in arguments.get("attrs").and_then(Value::as_object).into_iter().flatten() {
        attributes.insert(name.clone(), value.as_str().map(str::to_owned));
    }
    Changes {
        attributes,
        check: criteria(arguments.get("check")),
        uncheck: criteria(arguments.get("uncheck")),
        resolution: text(arguments, "resolve"),
    }
}

fn criteria(argument: Option<&Value>) -> Vec<Which> {
    let which = |value: &Value| match value {
        Value::String(text) => Some(Which::Text(text.clone())),
        Value::Number(number) => {
            Some(Which::Number(number.as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(0)))
        }
        _ => None,
    };
    match argument {
        Some(Value::Array(values)) => values.iter().filter_map(which).collect(),
        Some(value) => which(value).into_iter().collect(),
        None => Vec::new(),
    }
}

/// An entity's file before and after.
struct Changed {
    id: String,
    kind: &'static str,
    file: String,
    before: String,
    after: String,
}

impl Changed {
    fn is_different(&self) -> bool {
        self.before != self.after
    }

    fn new_text(&self) -> NewText {
        NewText {
            file: self.file.clone(),
            before: Some(hash(&self.before)),
            text: self.after.clone(),
            id: self.id.clone(),
        }
    }
}

/// Carries out all changes, on texts as they are now.
fn changed(plan: &Plan, wanted: &[Wanted]) -> Result<Vec<Changed>> {
    let today = today();
    let mut all: Vec<Changed> = Vec::with_capacity(wanted.len());
    for wish in wanted {
        let entity = entity_of(&plan.index, &wish.id)?;
        let same: Vec<&str> = plan
            .index
            .entities()
            .filter(|other| other.id().is_some() && other.id() == entity.id())
            .map(|other| other.file.as_str())
            .collect();
        if same.len() > 1 {
            return Err(Error::new(
                Kind::Conflict,
                "DUPLICATE_ID",
                format!("{} is the id of several files", wish.id),
            )
            .hint(format!("Give each its own: {}", same.join(", "))));
        }
        if all.iter().any(|one| one.file == entity.file) {
            return Err(
                Error::bad_input(format!("{} is named twice", wish.id)).hint("Put its changes together")
            );
        }
        let text = plan.folder.plan_text(&entity.file).map_err(refusal::disk)?;
        let before = text.ok_or_else(|| refusal::no_such_id(&wish.id, &[]))?;
        let now = hash(&before);
        if wish.if_hash.as_ref().is_some_and(|seen| *seen != now) {
            return Err(refusal::changed(&wish.id, &entity.file, Some(&now)));
        }
        let after = wish.changes.apply(&before, &today).map_err(|error| refusal::edit(&wish.id, error))?;
        let (id, kind, file) = (entity.label().to_owned(), entity.kind.as_str(), entity.file.clone());
        all.push(Changed { id, kind, file, before, after });
    }
    Ok(all)
}

fn shown(changed: &[Changed], dry_run: bool) -> Value {
    let entities: Vec<Value> = changed
        .iter()
        .map(|one| {
            let mut entry = json!({
                "id": one.id,
                "type": one.kind,
                "file": one.file,
                "changed": one.is_different(),
                "hash": hash(if dry_run { &one.before } else { &one.after }),
            });
            if let (true, Some(entry)) = (dry_run, entry.as_object_mut()) {
                entry.insert("diff".into(), unified(&one.file, Some(&one.before), &one.after).into());
            }
            entry
        })
        .collect();
    let count = changed.iter().filter(|one| one.is_different()).count();
    json!({ "dryRun": dry_run, "changed": count, "entities": entities })
}
