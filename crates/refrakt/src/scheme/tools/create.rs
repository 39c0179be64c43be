//! `plan.create`: a new entity in a file of its own.

use indexmap::IndexMap;
use quad_core::tool::{Call, Called, Effect};
use quad_core::{Basis, Error, Kind, Result, Tool};
use serde_json::{Map, Value, json};

use super::schema::{input, one_of, string, yes_or_no};
use super::{output, text};
use crate::limits::TITLE_CHARS_MAX;
use crate::live::Plan;
use crate::plan::create::NewEntity;
use crate::plan::diff::unified;
use crate::plan::edit::check_value;
use crate::plan::{EntityType, ids};
use crate::scheme::question::{hash, plan};
use crate::scheme::routes::{TYPES, WRITE};
use crate::scheme::writes::{NewText, Wish, write};
use crate::scheme::{Refrakt, refusal};

pub(super) fn tool() -> Tool {
    let attributes = json!({
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": "Attributes beside the id: status, priority, milestone, source, tags, assignee, … as the type has them",
    });
    Tool::new(
        "plan.create",
        "Create a plan entity",
        "Makes a new entity in a file of its own, beside others of its type, with the next free id. dryRun shows the file without writing it.",
        input(
            &[
                ("type", one_of(&TYPES, "What it is")),
                ("title", string("Its heading, one line")),
                ("id", string("An id of your choice instead of the next free one; of a milestone its name")),
                ("attrs", attributes),
                (
                    "body",
                    string(
                        "What follows the heading, in Markdoc; the sections that the type needs, if left out",
                    ),
                ),
                ("dryRun", yes_or_no("Only show what would be written")),
            ],
            &["type", "title"],
        ),
        WRITE,
        Effect::Creates,
    )
}

pub(super) async fn call(refrakt: &Refrakt, call: Call<'_>) -> Result<Called> {
    let wanted = Wanted::of(&call.arguments)?;
    if call.arguments.get("dryRun").and_then(Value::as_bool).unwrap_or(false) {
        let make = move |live: Option<&crate::live::Live>| {
            let plan = plan(live.ok_or_else(|| refusal::no_plan(None))?)?;
            let (_, mut shown) = wanted.made(&plan)?;
            shown.insert("dryRun".into(), true.into());
            Ok(Value::Object(shown))
        };
        let (value, version) = refrakt.look(call.caller, make).await?;
        return Ok(Called::read(output(value), Basis::at(version)));
    }
    let wish = move |plan: &Plan| {
        let (new, mut shown) = wanted.made(plan)?;
        shown.shift_remove("diff");
        Ok(Wish { texts: vec![new], value: shown })
    };
    let (shown, receipt) = write(refrakt, &call, wish).await?;
    let receipt = receipt.ok_or_else(|| Error::internal("a new file was not written"))?;
    let uri = format!(
        "refrakt://plan/{}/{}",
        shown.get("type").and_then(Value::as_str).unwrap_or_default(),
        shown.get("id").and_then(Value::as_str).unwrap_or_default()
    );
    let name = shown.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Called::wrote(output(Value::Object(shown)).link(uri, name), receipt))
}

struct Wanted {
    kind: EntityType,
    title: String,
    id: Option<String>,
    attributes: IndexMap<String, String>,
    body: Option<String>,
}

impl Wanted {
    fn of(arguments: &Map<String, Value>) -> Result<Wanted> {
        let kind = text(arguments, "type").as_deref().and_then(EntityType::of_tag);
        let title = text(arguments, "title").unwrap_or_default().trim().to_owned();
        if title.is_empty() || title.chars().count() > TITLE_CHARS_MAX || title.contains(char::is_control) {
            return Err(Error::bad_input("title: is empty, too long or has control characters")
                .hint(format!("Write one line of at most {TITLE_CHARS_MAX} characters")));
        }
        let given = arguments.get("attrs").and_then(Value::as_object).into_iter().flatten();
        let given = given.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        Ok(Wanted {
            kind: kind.ok_or_else(|| Error::internal("a type that is none"))?,
            title,
            id: text(arguments, "id"),
            attributes: given.collect(),
            body: text(arguments, "body"),
        })
    }

    /// The file, and what the caller hears of it.
    fn made(&self, plan: &Plan) -> Result<(NewText, Map<String, Value>)> {
        let entity = self.entity(plan)?;
        let (text, file) = (entity.text(), entity.file(&plan.index));
        if !entity.is_read_back() {
            return Err(Error::bad_input("body: the file would not be read as this entity").hint(
                "Close every tag that the body opens, and leave the entity's own tag and heading out",
            ));
        }
        let shown = json!({
            "id": entity.id,
            "type": entity.kind.as_str(),
            "file": file,
            "hash": hash(&text),
            "diff": unified(&file, None, &text),
        });
        let shown = shown.as_object().cloned().unwrap_or_default();
        Ok((NewText { file, before: None, text, id: entity.id }, shown))
    }

    fn entity(&self, plan: &Plan) -> Result<NewEntity> {
        let kind = self.kind;
        let next = ids::next_id(&plan.index, kind);
        let id = match (&self.id, &next) {
            (Some(id), _) => checked_id(id)?,
            (None, Some(next)) => next.next.clone(),
            (None, None) => milestone_name(&self.title)?,
        };
        if plan.index.knows(&id) {
            let hint = next.map(|next| format!("The next free one is {}", next.next));
            let hint = hint.unwrap_or_else(|| "Choose another name".to_owned());
            return Err(Error::new(Kind::Conflict, "ID_TAKEN", format!("{id} is taken")).hint(hint));
        }
        let mut attributes: IndexMap<String, String> = IndexMap::new();
        if let Some(first) = kind.first_status() {
            attributes.insert("status".to_owned(), first.to_owned());
        }
        for (name, value) in &self.attributes {
            if name == "id" || name == "name" {
                return Err(Error::bad_input(format!("attrs.{name}: the id is an argument of its own"))
                    .hint("Pass it as id, or leave it out"));
            }
            check_value(kind, name, value).map_err(|error| refusal::edit(&id, error))?;
            attributes.insert(name.clone(), value.clone());
        }
        Ok(NewEntity { kind, id, title: self.title.clone(), attributes, body: self.body.clone() })
    }
}

/// An id that stands well in a tag, an address and the name of a file.
fn checked_id(id: &str) -> Result<String> {
    let sign = |sign: char| sign.is_ascii_alphanumeric() || "_-.".contains(sign);
    if id.len() <= 64 && id.chars().all(sign) && !id.starts_with('.') {
        return Ok(id.to_owned());
    }
    Err(Error::bad_input("id: is no id").hint("Up to 64 letters, digits, dashes, underscores and dots"))
}

/// The name that a milestone gets from its title.
fn milestone_name(title: &str) -> Result<String> {
    let dashed: String =
        title.trim().chars().map(|sign| if sign.is_whitespace() { '-' } else { sign }).collect();
    let sign = |sign: &char| sign.is_ascii_alphanumeric() || "_-.".contains(*sign);
    let name: String = dashed.chars().filter(sign).take(64).collect();
    let name = name.trim_matches(['.', '-']).to_owned();
    if name.is_empty() {
        return Err(Error::bad_input("id: the title makes no name").hint("Pass the milestone's name as id"));
    }
    Ok(name)
}
