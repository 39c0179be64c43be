//! `plan_create`: writes a new entity to a file of its own.

use indexmap::IndexMap;
use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::{Error, Kind, ReadSet, Result, Tool, ToolEntry};
use serde_json::{Map, Value, json};

use super::attributes::{ALL_NAMES, parse_attributes};
use super::schema::{boolean, free_object, object, string, string_enum};
use super::{non_empty_text, output, results, today};
use crate::limits::TITLE_CHARS_MAX;
use crate::plan::create::{NewEntity, default_attributes};
use crate::plan::diff::unified_diff;
use crate::plan::edit::check_value;
use crate::plan::{EntityType, ids};
use crate::project_cache::PlanSnapshot;
use crate::scheme::journaled_write::{FileWrite, PlannedWrite, write};
use crate::scheme::query::{hash_text, require_plan};
use crate::scheme::routes::{TYPES, WRITE};
use crate::scheme::{Refrakt, errors};

pub(super) fn tool() -> ToolEntry<Refrakt> {
    let tool = Tool::new(
        "plan_create",
        "Create a plan entity",
        "Creates a plan entity in a file of its own, with the next free id.",
        object(
            &[
                ("type", string_enum(&TYPES, "Type")),
                ("title", string("Heading, one line")),
                ("id", string("Instead of the next free id; for a milestone its name")),
                (
                    "attrs",
                    free_object("Attributes by name, such as status, priority, milestone, source, tags"),
                ),
                ("body", string("Markdoc after the heading; by default the sections of its type")),
                ("dryRun", boolean("Only show the file")),
            ],
            &["type", "title"],
        ),
        WRITE,
        ToolEffect::Creates,
    )
    .dotted("plan.create")
    .output(results::create())
    .example(json!({"type": "work", "title": "Sell ice", "attrs": {"priority": "low", "milestone": "v1.0"}}))
    .aliases(&[("attributes", "attrs"), ("fields", "attrs"), ("description", "body")])
    .unpublished(ALL_NAMES);
    ToolEntry::new(tool, |refrakt, call| Box::pin(run(refrakt, call)))
}

async fn run(refrakt: &Refrakt, call: ToolCall<'_>) -> Result<ToolResult> {
    let request = CreateRequest::parse(&call.arguments)?;
    if call.arguments.get("dryRun").and_then(Value::as_bool).unwrap_or(false) {
        let preview = move |project: Option<&crate::project_cache::ProjectCache>| {
            let plan = require_plan(project.ok_or_else(|| errors::plan_missing(None))?)?;
            let (_, mut response) = request.build(&plan)?;
            response.insert("dryRun".into(), true.into());
            Ok(Value::Object(response))
        };
        let (value, version) = refrakt.with_project(call.caller, preview).await?;
        return Ok(ToolResult::read_only(output(value), ReadSet::at_version(version)));
    }
    let plan_write = move |plan: &PlanSnapshot| {
        let (file_write, mut response) = request.build(plan)?;
        response.shift_remove("diff");
        Ok(PlannedWrite { files: vec![file_write], value: response })
    };
    let (response, receipt) = write(refrakt, &call, plan_write).await?;
    let receipt = receipt.ok_or_else(|| Error::internal("a new file was not written"))?;
    let uri = format!(
        "refrakt://plan/{}/{}",
        response.get("type").and_then(Value::as_str).unwrap_or_default(),
        response.get("id").and_then(Value::as_str).unwrap_or_default()
    );
    let name = response.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(ToolResult::committed(output(Value::Object(response)).with_link(uri, name), receipt))
}

struct CreateRequest {
    kind: EntityType,
    title: String,
    id: Option<String>,
    attributes: IndexMap<String, String>,
    body: Option<String>,
}

impl CreateRequest {
    fn parse(arguments: &Map<String, Value>) -> Result<CreateRequest> {
        let kind = non_empty_text(arguments, "type").as_deref().and_then(EntityType::from_tag);
        let title = non_empty_text(arguments, "title").unwrap_or_default().trim().to_owned();
        check_title(&title)?;
        let attributes = parse_attributes(arguments)?;
        let attributes = attributes.into_iter().filter_map(|(name, value)| Some((name, value?)));
        Ok(CreateRequest {
            kind: kind.ok_or_else(|| Error::internal("the type is unknown"))?,
            title,
            id: non_empty_text(arguments, "id"),
            attributes: attributes.collect(),
            body: non_empty_text(arguments, "body"),
        })
    }

    /// The file, and the answer of the call.
    fn build(&self, plan: &PlanSnapshot) -> Result<(FileWrite, Map<String, Value>)> {
        let entity = self.build_entity(plan)?;
        let (text, file) = (entity.render(), entity.file_path(&plan.index));
        if !entity.round_trips() {
            return Err(Error::bad_input("body: the file would not parse to this entity").hint(
                "Close every tag that the body opens, and do not include the entity's own tag and heading",
            ));
        }
        let response = json!({
            "id": entity.id,
            "type": entity.kind.as_str(),
            "file": file,
            "hash": hash_text(&text),
            "diff": unified_diff(&file, None, &text),
        });
        let response = response.as_object().cloned().unwrap_or_default();
        Ok((FileWrite { file, before_hash: None, text, id: entity.id }, response))
    }

    fn build_entity(&self, plan: &PlanSnapshot) -> Result<NewEntity> {
        let kind = self.kind;
        let next = ids::next_id(&plan.index, kind);
        let id = match (&self.id, &next) {
            (Some(id), _) => validate_id(id)?,
            (None, Some(next)) => next.next.clone(),
            (None, None) => milestone_name(&self.title)?,
        };
        if plan.index.contains_id(&id) {
            let hint = next.map(|next| format!("Use {}, the next free id", next.next));
            let hint = hint.unwrap_or_else(|| "Use another name".to_owned());
            return Err(Error::new(Kind::Conflict, "ID_TAKEN", format!("{id} is already used")).hint(hint));
        }
        let mut attributes = default_attributes(kind, &today());
        for (name, value) in &self.attributes {
            if name == "id" || name == "name" {
                return Err(Error::bad_input(format!("attrs.{name}: the id is a separate argument"))
                    .hint("Pass it as id, or leave it out"));
            }
            let value = kind.canonical_value(name, value);
            check_value(kind, name, value).map_err(|error| errors::edit_failed(&id, error))?;
            attributes.insert(name.clone(), value.to_owned());
        }
        Ok(NewEntity { kind, id, title: self.title.clone(), attributes, body: self.body.clone() })
    }
}

/// Checks that a title is one line that is not too long.
fn check_title(title: &str) -> Result<()> {
    let fact = if title.is_empty() {
        "title is empty"
    } else if title.chars().count() > TITLE_CHARS_MAX {
        "title is too long"
    } else if title.contains(char::is_control) {
        "title has a line break or another control character"
    } else {
        return Ok(());
    };
    Err(Error::bad_input(fact).hint(format!("Write one line of at most {TITLE_CHARS_MAX} characters")))
}

/// Checks that an id is safe in a tag, a URI and a file name.
fn validate_id(id: &str) -> Result<String> {
    let is_id_char = |ch: char| ch.is_ascii_alphanumeric() || "_-.".contains(ch);
    if id.len() <= 64 && id.chars().all(is_id_char) && !id.starts_with('.') {
        return Ok(id.to_owned());
    }
    Err(Error::bad_input(format!("id cannot be {:?}", errors::excerpt(id))).hint(
        "Use up to 64 letters, digits, dashes, underscores and dots; or leave id out for the next free one",
    ))
}

/// The name of a milestone, made from its title.
fn milestone_name(title: &str) -> Result<String> {
    let dashed: String = title.trim().chars().map(|ch| if ch.is_whitespace() { '-' } else { ch }).collect();
    let is_id_char = |ch: &char| ch.is_ascii_alphanumeric() || "_-.".contains(*ch);
    let name: String = dashed.chars().filter(is_id_char).take(64).collect();
    let name = name.trim_matches(['.', '-']).to_owned();
    if name.is_empty() {
        return Err(Error::bad_input(
            "The title has no letter or digit that a milestone name can be made from",
        )
        .hint("Pass the name of the milestone as id"));
    }
    Ok(name)
}
