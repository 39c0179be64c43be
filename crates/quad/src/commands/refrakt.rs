//! `quad refrakt detect|contracts|reference|inspect|render|plan …`: the tools of the project, in a form for people.

use std::io::Read as _;
use std::path::Path;

use quad_core::resolver::View;
use quad_core::tool::NoProgress;
use quad_core::{Error, Kind, Result};
use quad_runes::catalogue::Catalogue;
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::cli::{PlanCommand, PlanCreate, PlanUpdate, RefraktCommand};
use crate::outcome;

/// The project at this command line.
pub async fn run(app: &App, command: RefraktCommand, as_json: bool) -> Result<()> {
    match command {
        RefraktCommand::Detect => show(&call(app, "refrakt.detect", json!({})).await?, as_json, detected),
        RefraktCommand::Contracts { site } => {
            let contracts = call(app, "refrakt.contracts", json!({"site": site})).await?;
            show(&contracts, as_json, outcome::json)
        }
        RefraktCommand::Reference { rune, site } => {
            let format = if as_json { "json" } else { "markdown" };
            let reference =
                call(app, "refrakt.reference", json!({"rune": rune, "site": site, "format": format})).await?;
            show(&reference, as_json, |reference| outcome::line(text(&reference["markdown"])))
        }
        RefraktCommand::Inspect { rune, attribute, site } => {
            let mut attributes = Map::new();
            for setting in &attribute {
                let (name, value) = pair(setting)?;
                attributes.insert(name.to_owned(), value.into());
            }
            let wanted = json!({"rune": rune, "attributes": attributes, "site": site});
            let mut shown = call(app, "refrakt.inspect", wanted).await?;
            if let Some(items) = shown.get_mut("items").map(Value::take) {
                shown = items;
            }
            show(&shown, as_json, inspected)
        }
        RefraktCommand::Render { file, site, .. } => {
            let source = contents(&file)?;
            let rendered = call(app, "refrakt.render", json!({"source": source, "site": site})).await?;
            show(&rendered, as_json, html)
        }
        RefraktCommand::Plan { command } => plan(app, command, as_json).await,
    }
}

/// Renders with all official runes: neither a project nor a database is needed.
pub fn render_with_all(file: &Path, as_json: bool) -> Result<()> {
    let rendered = quad_refrakt::render(&Catalogue::all_builtin(), &contents(file)?)?;
    show(&rendered, as_json, html)
}

fn html(rendered: &Value) {
    outcome::line(text(&rendered["html"]));
}

fn inspected(shown: &Value) {
    let each = shown.as_array().map_or(std::slice::from_ref(shown), Vec::as_slice);
    for (at, rune) in each.iter().enumerate() {
        if at > 0 {
            outcome::line("");
        }
        outcome::line(text(&rune["input"]).trim_end());
        outcome::line("");
        outcome::line(text(&rune["html"]));
        outcome::line("");
        for selector in list(&rune["selectors"]) {
            outcome::line(text(selector));
        }
    }
}

async fn plan(app: &App, command: PlanCommand, as_json: bool) -> Result<()> {
    match command {
        PlanCommand::Status { milestone } => {
            show(&call(app, "plan.status", json!({"milestone": milestone})).await?, as_json, status)
        }
        PlanCommand::Next { count, milestone, tag, assignee, kind } => {
            let wanted = json!({
                "count": count, "milestone": milestone, "tag": tag, "assignee": assignee, "type": kind,
            });
            show(&call(app, "plan.next", wanted).await?, as_json, next)
        }
        PlanCommand::Create(flags) => create(app, flags, as_json).await,
        PlanCommand::Update(flags) => update(app, flags, as_json).await,
        PlanCommand::Validate { strict } => {
            let found = call(app, "plan.validate", json!({"strict": strict})).await?;
            show(&found, as_json, validated)?;
            match found["counts"]["errors"].as_u64() {
                Some(0) | None => Ok(()),
                Some(errors) => {
                    Err(Error::new(Kind::BadInput, "PLAN_INVALID", format!("{errors} errors in the plan")))
                }
            }
        }
    }
}

async fn create(app: &App, flags: PlanCreate, as_json: bool) -> Result<()> {
    let mut attributes = Map::new();
    for setting in &flags.set {
        let (name, value) = pair(setting)?;
        attributes.insert(name.to_owned(), value.into());
    }
    let body = flags.body.as_deref().map(contents).transpose()?;
    let wanted = json!({
        "type": flags.kind, "title": flags.title, "id": flags.id, "attrs": attributes, "body": body,
        "dryRun": flags.dry_run,
    });
    let made = call(app, "plan.create", wanted).await?;
    show(&made, as_json, |made| match made["diff"].as_str() {
        Some(diff) => outcome::line(diff.trim_end()),
        None => outcome::line(format_args!("{} is in {}", text(&made["id"]), text(&made["file"]))),
    })
}

async fn update(app: &App, flags: PlanUpdate, as_json: bool) -> Result<()> {
    let mut attributes = Map::new();
    for setting in &flags.set {
        let (name, value) = pair(setting)?;
        attributes.insert(name.to_owned(), if value.is_empty() { Value::Null } else { value.into() });
    }
    let criteria = |flags: &[String]| -> Vec<Value> {
        flags
            .iter()
            .map(|flag| flag.parse::<u64>().map_or_else(|_| flag.as_str().into(), Value::from))
            .collect()
    };
    let mut wanted = json!({
        "status": flags.status, "attrs": attributes, "check": criteria(&flags.check),
        "uncheck": criteria(&flags.uncheck), "resolve": flags.resolve, "ifHash": flags.if_hash,
        "dryRun": flags.dry_run,
    });
    match flags.ids.as_slice() {
        [id] => wanted["id"] = id.as_str().into(),
        ids => wanted["ids"] = ids.into(),
    }
    let updated = call(app, "plan.update", wanted).await?;
    show(&updated, as_json, |updated| {
        for entity in list(&updated["entities"]) {
            match entity["diff"].as_str() {
                Some(diff) if !diff.is_empty() => outcome::line(diff.trim_end()),
                _ if entity["changed"] == true => {
                    outcome::line(format_args!(
                        "{} is changed in {}",
                        text(&entity["id"]),
                        text(&entity["file"])
                    ));
                }
                _ => outcome::line(format_args!("{} is so already", text(&entity["id"]))),
            }
        }
    })
}

/// Calls a tool, with those of the arguments that were given.
async fn call(app: &App, tool: &str, arguments: Value) -> Result<Value> {
    let Value::Object(mut arguments) = arguments else {
        return Err(Error::internal("arguments are an object"));
    };
    let is_nothing = |value: &Value| match value {
        Value::Null => true,
        Value::Array(values) => values.is_empty(),
        Value::Object(values) => values.is_empty(),
        _ => false,
    };
    arguments.retain(|_, value| !is_nothing(value));
    let output = app.resolver.call_tool(&app.local_agent(), View::All, tool, arguments, &NoProgress).await?;
    output.structured_value().ok_or_else(|| Error::internal("a tool without a result"))
}

fn show(value: &Value, as_json: bool, readable: impl FnOnce(&Value)) -> Result<()> {
    if as_json {
        outcome::json(value);
    } else {
        readable(value);
    }
    Ok(())
}

fn pair(setting: &str) -> Result<(&str, &str)> {
    setting.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
        Error::bad_input(format!("{setting} is no setting")).hint("Write NAME=VALUE, such as priority=high")
    })
}

fn contents(file: &Path) -> Result<String> {
    if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map_err(Error::internal)?;
        return Ok(text);
    }
    let read = std::fs::read_to_string(file);
    read.map_err(|error| Error::bad_input(format!("{} cannot be read: {error}", file.display())))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn detected(project: &Value) {
    outcome::line(format_args!("project  {}", text(&project["cwd"])));
    match &project["plan"] {
        Value::Null => outcome::line("plan     none"),
        plan => outcome::line(format_args!("plan     {}, {} files", text(&plan["dir"]), plan["fileCount"])),
    }
    let sites: Vec<&str> = list(&project["site"]["sites"]).iter().map(text).collect();
    outcome::line(format_args!(
        "sites    {}",
        if sites.is_empty() { "none".to_owned() } else { sites.join(", ") }
    ));
    for package in list(&project["runePackages"]) {
        let version = package["installed"].as_str().unwrap_or("not installed");
        let reason = package["reason"].as_str().map(|reason| format!(": {reason}")).unwrap_or_default();
        outcome::line(format_args!(
            "plugin   {} ({version}), runes {}{reason}",
            text(&package["name"]),
            text(&package["runes"])
        ));
    }
    for problem in list(&project["problems"]) {
        let place = match problem["file"].as_str() {
            Some(file) => format!("{file}:{}:{}", problem["line"], problem["column"]),
            None => format!("site {}", text(&problem["site"])),
        };
        outcome::line(format_args!(
            "{}    {place}: {}",
            text(&problem["severity"]),
            text(&problem["message"])
        ));
    }
}

fn status(status: &Value) {
    if let Some(milestone) = status["milestone"].as_object() {
        let of = |key: &str| milestone.get(key).cloned().unwrap_or_default();
        let (name, state) = (of("name"), of("status"));
        outcome::line(format_args!(
            "milestone  {} ({}): {} of {} done",
            text(&name),
            text(&state),
            of("done"),
            of("total")
        ));
    }
    for (kind, count) in status["counts"].as_object().into_iter().flatten() {
        let states = count["byStatus"].as_object().into_iter().flatten();
        let states: Vec<String> = states.map(|(state, count)| format!("{count} {state}")).collect();
        let states = if states.is_empty() { String::new() } else { format!(" ({})", states.join(", ")) };
        outcome::line(format_args!("{kind:<10} {}{states}", count["total"]));
    }
    for (title, key) in [("ready", "ready"), ("blocked", "blocked"), ("done", "done")] {
        for (at, item) in list(&status[key]).iter().enumerate() {
            let label = if at == 0 { title } else { "" };
            let by: Vec<&str> = list(&item["blockedBy"]).iter().map(text).collect();
            let by = if by.is_empty() { String::new() } else { format!(" (by {})", by.join(", ")) };
            outcome::line(format_args!("{label:<10} {} {}{by}", text(&item["id"]), text(&item["title"])));
        }
    }
    let warnings = list(&status["warnings"]).len();
    if warnings > 0 {
        outcome::line(format_args!("{warnings} warnings; `quad refrakt plan validate` lists them"));
    }
}

fn next(next: &Value) {
    let items = list(&next["items"]);
    if items.is_empty() {
        outcome::line("Nothing can be started now; `quad refrakt plan status` says what is blocked");
    }
    for item in items {
        let (priority, complexity) = (text(&item["priority"]), text(&item["complexity"]));
        outcome::line(format_args!(
            "{}  {} ({priority}, {complexity})",
            text(&item["id"]),
            text(&item["title"])
        ));
        for criterion in list(&item["criteria"]) {
            let sign = if criterion["checked"] == true { 'x' } else { ' ' };
            outcome::line(format_args!("  [{sign}] {}", text(&criterion["text"])));
        }
        outcome::line(format_args!("  {}", text(&item["file"])));
    }
}

fn validated(found: &Value) {
    for issue in list(&found["issues"]) {
        let place = match issue["line"].as_u64() {
            Some(line) => format!("{}:{line}", text(&issue["file"])),
            None => text(&issue["file"]).to_owned(),
        };
        outcome::line(format_args!(
            "{:<8} {place}: {} [{}]",
            text(&issue["severity"]),
            text(&issue["message"]),
            text(&issue["type"])
        ));
    }
    let counts = &found["counts"];
    outcome::line(format_args!(
        "{} entities: {} errors, {} warnings, {} remarks",
        found["scanned"], counts["errors"], counts["warnings"], counts["info"]
    ));
}
