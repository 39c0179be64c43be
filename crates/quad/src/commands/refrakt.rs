//! `quad refrakt detect|contracts|reference|inspect|render|plan …`: calls the project's tools and prints text for
//! people.

use std::path::Path;

use quad_core::resolver::View;
use quad_core::tool::NoProgress;
use quad_core::{Error, Kind, Result, input_file};
use quad_runes::catalogue::Catalogue;
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::cli::{PlanCommand, PlanCreate, PlanHistory, PlanUpdate, RefraktCommand};
use crate::output;

/// Runs a command of the project scheme.
pub async fn run(app: &App, command: RefraktCommand, as_json: bool) -> Result<()> {
    match command {
        RefraktCommand::Detect => {
            print_result(&call_tool(app, "refrakt.detect", json!({})).await?, as_json, print_detection)
        }
        RefraktCommand::Contracts { site } => {
            let contracts = call_tool(app, "refrakt.contracts", json!({"site": site})).await?;
            print_result(&contracts, as_json, output::print_json)
        }
        RefraktCommand::Reference { rune, site } => {
            let format = if as_json { "json" } else { "markdown" };
            let reference =
                call_tool(app, "refrakt.reference", json!({"rune": rune, "site": site, "format": format}))
                    .await?;
            print_result(&reference, as_json, |reference| output::print_line(as_text(&reference["markdown"])))
        }
        RefraktCommand::Inspect { rune, attribute, site } => {
            let mut attributes = Map::new();
            for setting in &attribute {
                let (name, value) = parse_setting(setting)?;
                attributes.insert(name.to_owned(), value.into());
            }
            let arguments = json!({"rune": rune, "attributes": attributes, "site": site});
            let mut result = call_tool(app, "refrakt.inspect", arguments).await?;
            if let Some(items) = result.get_mut("items").map(Value::take) {
                result = items;
            }
            print_result(&result, as_json, print_inspection)
        }
        RefraktCommand::Render { file, site, .. } => {
            let source = read_source(&file)?;
            let rendered = call_tool(app, "refrakt.render", json!({"source": source, "site": site})).await?;
            print_result(&rendered, as_json, print_html)
        }
        RefraktCommand::Plan { command } => run_plan(app, command, as_json).await,
    }
}

/// Renders with all official runes. Needs neither a project nor a database.
pub fn render_with_all(file: &Path, as_json: bool) -> Result<()> {
    let rendered = quad_refrakt::render(&Catalogue::all_builtin(), &read_source(file)?)?;
    print_result(&rendered, as_json, print_html)
}

fn print_html(rendered: &Value) {
    output::print_line(as_text(&rendered["html"]));
}

fn print_inspection(result: &Value) {
    let runes = result.as_array().map_or(std::slice::from_ref(result), Vec::as_slice);
    for (index, rune) in runes.iter().enumerate() {
        if index > 0 {
            output::print_line("");
        }
        output::print_line(as_text(&rune["input"]).trim_end());
        output::print_line("");
        output::print_line(as_text(&rune["html"]));
        output::print_line("");
        for selector in as_list(&rune["selectors"]) {
            output::print_line(as_text(selector));
        }
    }
}

async fn run_plan(app: &App, command: PlanCommand, as_json: bool) -> Result<()> {
    match command {
        PlanCommand::Status { milestone } => print_result(
            &call_all_pages(app, "plan.status", json!({"milestone": milestone})).await?,
            as_json,
            print_status,
        ),
        PlanCommand::Index { kind, status, milestone, tag, assignee } => {
            let arguments = json!({
                "type": kind, "status": status, "milestone": milestone, "tag": tag, "assignee": assignee,
            });
            print_result(&call_tool(app, "plan.index", arguments).await?, as_json, print_index)
        }
        PlanCommand::History(flags) => history(app, flags, as_json).await,
        PlanCommand::Init { dir, no_config } => {
            let arguments = json!({"dir": dir, "noConfig": no_config});
            print_result(&call_tool(app, "plan.init", arguments).await?, as_json, print_init)
        }
        PlanCommand::Next { count, milestone, tag, assignee, kind } => {
            let arguments = json!({
                "count": count, "milestone": milestone, "tag": tag, "assignee": assignee, "type": kind,
            });
            print_result(&call_tool(app, "plan.next", arguments).await?, as_json, print_next)
        }
        PlanCommand::Create(flags) => create(app, flags, as_json).await,
        PlanCommand::Update(flags) => update(app, flags, as_json).await,
        PlanCommand::Validate { strict } => {
            let report = call_all_pages(app, "plan.validate", json!({"strict": strict})).await?;
            print_result(&report, as_json, print_validation)?;
            match report["counts"]["errors"].as_u64() {
                Some(0) | None => Ok(()),
                Some(errors) => {
                    let message = format!("{errors} errors in the plan");
                    Err(Error::new(Kind::BadInput, "PLAN_INVALID", message)
                        .hint("Correct the files at the lines marked error"))
                }
            }
        }
    }
}

async fn history(app: &App, flags: PlanHistory, as_json: bool) -> Result<()> {
    let PlanHistory { id, limit, since, kind, author, status, all } = flags;
    let arguments = json!({
        "id": id, "limit": limit, "since": since, "type": kind, "author": author, "status": status, "all": all,
    });
    print_result(&call_tool(app, "plan.history", arguments).await?, as_json, print_history)
}

async fn create(app: &App, flags: PlanCreate, as_json: bool) -> Result<()> {
    let mut attributes = Map::new();
    for setting in &flags.set {
        let (name, value) = parse_setting(setting)?;
        attributes.insert(name.to_owned(), value.into());
    }
    let body = flags.body.as_deref().map(read_source).transpose()?;
    let arguments = json!({
        "type": flags.kind, "title": flags.title, "id": flags.id, "attrs": attributes, "body": body,
        "dryRun": flags.dry_run,
    });
    let created = call_tool(app, "plan.create", arguments).await?;
    print_result(&created, as_json, |created| match created["diff"].as_str() {
        Some(diff) => output::print_line(diff.trim_end()),
        None => output::print_line(format_args!(
            "{} created in {}",
            as_text(&created["id"]),
            as_text(&created["file"])
        )),
    })
}

async fn update(app: &App, flags: PlanUpdate, as_json: bool) -> Result<()> {
    let mut attributes = Map::new();
    for setting in &flags.set {
        let (name, value) = parse_setting(setting)?;
        attributes.insert(name.to_owned(), if value.is_empty() { Value::Null } else { value.into() });
    }
    let criteria = |flags: &[String]| -> Vec<Value> {
        flags
            .iter()
            .map(|flag| flag.parse::<u64>().map_or_else(|_| flag.as_str().into(), Value::from))
            .collect()
    };
    let mut arguments = json!({
        "status": flags.status, "attrs": attributes, "check": criteria(&flags.check),
        "uncheck": criteria(&flags.uncheck), "resolve": flags.resolve, "ifHash": flags.if_hash,
        "dryRun": flags.dry_run,
    });
    match flags.ids.as_slice() {
        [id] => arguments["id"] = id.as_str().into(),
        ids => arguments["ids"] = ids.into(),
    }
    let updated = call_tool(app, "plan.update", arguments).await?;
    print_result(&updated, as_json, |updated| {
        for entity in as_list(&updated["entities"]) {
            match entity["diff"].as_str() {
                Some(diff) if !diff.is_empty() => output::print_line(diff.trim_end()),
                _ if entity["changed"] == true => {
                    output::print_line(format_args!(
                        "{} changed in {}",
                        as_text(&entity["id"]),
                        as_text(&entity["file"])
                    ));
                }
                _ => output::print_line(format_args!("{} unchanged", as_text(&entity["id"]))),
            }
        }
    })
}

/// Calls a tool until it returns its last page, and joins the lists of all pages.
async fn call_all_pages(app: &App, tool: &str, arguments: Value) -> Result<Value> {
    let mut whole = call_tool(app, tool, arguments.clone()).await?;
    while let Some(cursor) = whole.as_object_mut().and_then(|whole| whole.remove("nextCursor")) {
        let mut arguments = arguments.clone();
        arguments["cursor"] = cursor;
        let Value::Object(page) = call_tool(app, tool, arguments).await? else { break };
        for (name, value) in page {
            match (whole[name.as_str()].as_array_mut(), value) {
                (Some(items), Value::Array(more)) => items.extend(more),
                (_, value) => whole[name.as_str()] = value,
            }
        }
    }
    Ok(whole)
}

/// Calls a tool without the empty arguments.
async fn call_tool(app: &App, tool: &str, arguments: Value) -> Result<Value> {
    let Value::Object(mut arguments) = arguments else {
        return Err(Error::internal("tool arguments must be an object"));
    };
    let is_empty_value = |value: &Value| match value {
        Value::Null => true,
        Value::Array(values) => values.is_empty(),
        Value::Object(values) => values.is_empty(),
        _ => false,
    };
    arguments.retain(|_, value| !is_empty_value(value));
    let output = app.resolver.call_tool(&app.local_agent(), View::All, tool, arguments, &NoProgress).await?;
    output.structured_value().ok_or_else(|| Error::internal("the tool returned no structured result"))
}

fn print_result(value: &Value, as_json: bool, print_text: impl FnOnce(&Value)) -> Result<()> {
    if as_json {
        output::print_json(value);
    } else {
        print_text(value);
    }
    Ok(())
}

fn parse_setting(setting: &str) -> Result<(&str, &str)> {
    setting.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
        Error::bad_input(format!("{setting} must be NAME=VALUE"))
            .hint("Write NAME=VALUE, such as priority=high")
    })
}

fn read_source(file: &Path) -> Result<String> {
    let bytes_max = quad_markdoc::limits::SOURCE_BYTES_MAX as u64;
    if file == Path::new("-") {
        let name = "standard input";
        return input_file::text(input_file::read_stream(std::io::stdin(), name, bytes_max)?, name);
    }
    input_file::text(input_file::read(file, bytes_max)?, file.display())
}

fn as_text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn as_list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn print_detection(project: &Value) {
    output::print_line(format_args!("project  {}", as_text(&project["cwd"])));
    match &project["plan"] {
        Value::Null => output::print_line("plan     none"),
        plan => output::print_line(format_args!(
            "plan     {}, {} files",
            as_text(&plan["dir"]),
            plan["fileCount"]
        )),
    }
    let sites: Vec<&str> = as_list(&project["site"]["sites"]).iter().map(as_text).collect();
    output::print_line(format_args!(
        "sites    {}",
        if sites.is_empty() { "none".to_owned() } else { sites.join(", ") }
    ));
    for package in as_list(&project["runePackages"]) {
        let version = package["installed"].as_str().unwrap_or("not installed");
        let reason = package["reason"].as_str().map(|reason| format!(": {reason}")).unwrap_or_default();
        output::print_line(format_args!(
            "plugin   {} ({version}), runes {}{reason}",
            as_text(&package["name"]),
            as_text(&package["runes"])
        ));
    }
    if let Some(hint) = project["hint"].as_str() {
        output::print_line(format_args!("hint     {hint}"));
    }
    for problem in as_list(&project["problems"]) {
        let position = match problem["file"].as_str() {
            Some(file) => format!("{file}:{}:{}", problem["line"], problem["column"]),
            None => format!("site {}", as_text(&problem["site"])),
        };
        output::print_line(format_args!(
            "{}    {position}: {}",
            as_text(&problem["severity"]),
            as_text(&problem["message"])
        ));
    }
}

fn print_index(index: &Value) {
    for entity in as_list(&index["entities"]) {
        output::print_line(format_args!(
            "{:<12} {:<9} {:<12} {}",
            as_text(&entity["id"]),
            as_text(&entity["type"]),
            as_text(&entity["status"]),
            as_text(&entity["file"])
        ));
    }
}

fn print_history(history: &Value) {
    for event in as_list(&history["events"]) {
        let changed = as_list(&event["attributeChanges"]).iter().map(|change| {
            let value = |key: &str| change[key].as_str().unwrap_or("none").to_owned();
            format!("{}: {} → {}", as_text(&change["field"]), value("from"), value("to"))
        });
        let criteria = as_list(&event["criteriaChanges"]);
        let criteria = criteria
            .iter()
            .map(|change| format!("{}: {}", as_text(&change["action"]), as_text(&change["text"])));
        let changes: Vec<String> = changed.chain(criteria).collect();
        let changes =
            if changes.is_empty() { as_text(&event["kind"]).to_owned() } else { changes.join("; ") };
        let id = event["id"].as_str().map(|id| format!("{id} ")).unwrap_or_default();
        let date: String = as_text(&event["date"]).chars().take(10).collect();
        output::print_line(format_args!("{date} {} {id}{changes}", as_text(&event["shortHash"])));
    }
}

fn print_init(plan: &Value) {
    if let Some(message) = plan["refraktConfig"]["message"].as_str() {
        output::print_line(message);
    }
    for path in as_list(&plan["created"]) {
        output::print_line(format_args!("created {}", as_text(path)));
    }
    if as_list(&plan["created"]).is_empty() {
        output::print_line(format_args!("{} is complete", as_text(&plan["dir"])));
    }
}

fn print_status(status: &Value) {
    if let Some(milestone) = status["milestone"].as_object() {
        let field = |key: &str| milestone.get(key).cloned().unwrap_or_default();
        let (name, state) = (field("name"), field("status"));
        output::print_line(format_args!(
            "milestone  {} ({}): {} of {} done",
            as_text(&name),
            as_text(&state),
            field("done"),
            field("total")
        ));
    }
    for (kind, count) in status["counts"].as_object().into_iter().flatten() {
        let states = count["byStatus"].as_object().into_iter().flatten();
        let states: Vec<String> = states.map(|(state, count)| format!("{count} {state}")).collect();
        let states = if states.is_empty() { String::new() } else { format!(" ({})", states.join(", ")) };
        output::print_line(format_args!("{kind:<10} {}{states}", count["total"]));
    }
    for (title, key) in [("ready", "ready"), ("blocked", "blocked"), ("done", "done")] {
        for (index, item) in as_list(&status[key]).iter().enumerate() {
            let label = if index == 0 { title } else { "" };
            let blockers: Vec<&str> = as_list(&item["blockedBy"]).iter().map(as_text).collect();
            let blockers = match (blockers.is_empty(), item["reason"].as_str()) {
                (false, _) => format!(" (by {})", blockers.join(", ")),
                (true, Some(reason)) => format!(" ({reason})"),
                (true, None) => String::new(),
            };
            output::print_line(format_args!(
                "{label:<10} {} {}{blockers}",
                as_text(&item["id"]),
                as_text(&item["title"])
            ));
        }
    }
    let warnings = as_list(&status["warnings"]).len();
    if warnings > 0 {
        output::print_line(format_args!("{warnings} warnings; list them with `quad refrakt plan validate`"));
    }
}

fn print_next(next: &Value) {
    let items = as_list(&next["items"]);
    if items.is_empty() {
        output::print_line("Nothing can be started now; see what is blocked with `quad refrakt plan status`");
    }
    for item in items {
        let (priority, complexity) = (as_text(&item["priority"]), as_text(&item["complexity"]));
        output::print_line(format_args!(
            "{}  {} ({priority}, {complexity})",
            as_text(&item["id"]),
            as_text(&item["title"])
        ));
        for criterion in as_list(&item["criteria"]) {
            let sign = if criterion["checked"] == true { 'x' } else { ' ' };
            output::print_line(format_args!("  [{sign}] {}", as_text(&criterion["text"])));
        }
        output::print_line(format_args!("  {}", as_text(&item["file"])));
    }
}

fn print_validation(report: &Value) {
    for issue in as_list(&report["issues"]) {
        let position = match issue["line"].as_u64() {
            Some(line) => format!("{}:{line}", as_text(&issue["file"])),
            None => as_text(&issue["file"]).to_owned(),
        };
        output::print_line(format_args!(
            "{:<8} {position}: {} [{}]",
            as_text(&issue["severity"]),
            as_text(&issue["message"]),
            as_text(&issue["type"])
        ));
    }
    let counts = &report["counts"];
    output::print_line(format_args!(
        "{} entities: {} errors, {} warnings, {} remarks",
        report["scanned"], counts["errors"], counts["warnings"], counts["info"]
    ));
}
