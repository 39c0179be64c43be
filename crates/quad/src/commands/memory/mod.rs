//! `quad memory`: the memory for people. Each command calls the tool or reads the address that an agent would, so that it
//! is checked and audited in the same way; [`view`] makes lines of the answer.

mod files;
mod view;

use quad_core::resolver::View;
use quad_core::tool::NoProgress;
use quad_core::{Error, Kind, Result, input_file};
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::cli::{MemoryAdd, MemoryCommand, MemorySearch};
use crate::output;
use view::Screen;

/// How to find the id of a memory at the command line.
const FIND_MEMORIES: &str = "Find its id with `quad memory search` or `quad memory recent`";

/// Calls of `memory_forget` for one memory: each removes up to 1,500 links.
const FORGET_CALLS: usize = 1_000;

/// Runs a command of the family.
pub async fn run(app: &App, command: MemoryCommand, as_json: bool) -> Result<()> {
    let screen = Screen::of_terminal();
    let (answer, text) = match command {
        MemoryCommand::Import { file } => return files::import(app, &file, as_json).await,
        MemoryCommand::Export { file, format } => return files::export(app, &file, format, as_json).await,
        MemoryCommand::Add(flags) => add(app, &flags, screen).await?,
        MemoryCommand::Search(flags) => search(app, &flags, screen).await?,
        MemoryCommand::Show { id } => show(app, &id, screen).await?,
        MemoryCommand::Recent { limit, types } => {
            let types: Vec<&str> = types.iter().map(|memory_type| memory_type.as_str()).collect();
            let arguments = json!({"limit": limit, "event_types": types});
            let answer = call(app, "memory_query", arguments).await?;
            let text = match answer["count"].as_u64() {
                Some(0) => screen.empty(types.is_empty()),
                _ => screen.list(&answer["nodes"]),
            };
            (answer, text)
        }
        MemoryCommand::Sessions { limit } => sessions(app, limit, screen).await?,
        MemoryCommand::Correct { id, text, reason } => correct(app, &id, &text, reason).await?,
        MemoryCommand::Forget { id, reason } => forget(app, &id, &reason, screen).await?,
    };
    if as_json {
        output::print_json(&answer);
    } else {
        output::print_line(text.trim_end());
    }
    Ok(())
}

/// Calls a tool as an agent would; its structured result. An absent argument may be given as null.
async fn call(app: &App, tool: &str, arguments: Value) -> Result<Value> {
    let arguments: Map<String, Value> = match arguments {
        Value::Object(arguments) => arguments.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        _ => Map::new(),
    };
    let called = app.resolver.call_tool(&app.local_agent(), View::All, tool, arguments, &NoProgress).await;
    let output = called.map_err(with_command_hint)?;
    let structured = output.structured.filter(|_| !output.is_error);
    structured.map(|json| json.parse()).ok_or_else(|| Error::internal(format!("{tool} returned no result")))
}

/// Reads an address as an agent would.
async fn read(app: &App, uri: &str) -> Result<Value> {
    let answer = app.resolver.read(&app.local_agent(), View::All, uri).await.map_err(with_command_hint)?;
    let content = answer.read.contents.first().ok_or_else(|| Error::internal(format!("{uri} is empty")))?;
    serde_json::from_slice(content.bytes()).map_err(Error::internal)
}

/// The hint of a missing memory names commands instead of tools.
fn with_command_hint(error: Error) -> Error {
    match error.kind() {
        Kind::NotFound => error.hint(FIND_MEMORIES),
        _ => error,
    }
}

/// The id of a memory, as a number or as its address.
fn parse_id(text: &str) -> Result<u64> {
    let digits = text.trim().trim_start_matches("amem://node/").trim_start_matches('#');
    digits.parse().map_err(|_| {
        Error::bad_input(format!("{} is not the id of a memory", view::printable(text))).hint(FIND_MEMORIES)
    })
}

/// The text of an argument, or standard input for `-`.
fn text_of(argument: &str) -> Result<String> {
    if argument != "-" {
        return Ok(argument.to_owned());
    }
    const NAME: &str = "standard input";
    let content = input_file::read_stream(std::io::stdin(), NAME, quad_mcp::limits::LINE_BYTES as u64)?;
    Ok(input_file::text(content, NAME)?.trim_end().to_owned())
}

async fn add(app: &App, flags: &MemoryAdd, screen: Screen) -> Result<(Value, String)> {
    let causes =
        flags.because.iter().map(|id| Ok(json!({"target_id": parse_id(id)?, "edge_type": "caused_by"})));
    let arguments = json!({
        "event_type": flags.memory_type.as_str(),
        "content": text_of(&flags.text)?,
        "confidence": flags.confidence,
        "edges": causes.collect::<Result<Vec<Value>>>()?,
    });
    let answer = call(app, "memory_add", arguments).await?;
    let mut text = format!("Remembered as memory {}.\n", answer["node_id"]);
    if let Some(similar) = answer.get("similar") {
        text.push_str("\nNearly the same was remembered before:\n");
        text.push_str(&screen.list(similar));
        text.push_str("\nRun `quad memory correct ID TEXT` if it changed, or `quad memory forget ID` for one of them.\n");
    }
    Ok((answer, text))
}

async fn search(app: &App, flags: &MemorySearch, screen: Screen) -> Result<(Value, String)> {
    let query = flags.words.join(" ");
    let types: Vec<&str> = flags.types.iter().map(|memory_type| memory_type.as_str()).collect();
    let arguments = json!({"query": query, "limit": flags.limit, "event_types": types,
        "include_superseded": flags.all});
    let answer = call(app, "memory_search", arguments).await?;
    let text = match answer["count"].as_u64() {
        Some(0) => format!("No memory matches {}.", view::printable(&query)),
        _ => screen.list(&answer["nodes"]),
    };
    Ok((answer, text))
}

async fn show(app: &App, id: &str, screen: Screen) -> Result<(Value, String)> {
    let id = parse_id(id)?;
    let node = read(app, &format!("amem://node/{id}")).await?;
    // The texts of the linked memories.
    let context = call(app, "memory_context", json!({"node_id": id, "depth": 1})).await?;
    let text = screen.node(&node, &context["nodes"]);
    Ok((node, text))
}

async fn sessions(app: &App, limit: u16, screen: Screen) -> Result<(Value, String)> {
    let answer = read(app, &format!("amem://sessions?limit={limit}")).await?;
    let ids: Vec<&Value> =
        answer["sessions"].as_array().into_iter().flatten().map(|session| &session["session_id"]).collect();
    let mut episodes = Vec::new();
    // A query takes 64 sessions.
    for ids in ids.chunks(64) {
        let arguments = json!({"event_types": ["episode"], "session_ids": ids, "limit": 1_000});
        let found = call(app, "memory_query", arguments).await?;
        episodes.extend(found["nodes"].as_array().cloned().unwrap_or_default());
    }
    let text = screen.sessions(&answer["sessions"], &episodes);
    Ok((answer, text))
}

async fn correct(app: &App, id: &str, text: &str, reason: Option<String>) -> Result<(Value, String)> {
    let arguments = json!({"old_node_id": parse_id(id)?, "new_content": text_of(text)?, "reason": reason});
    let answer = call(app, "memory_correct", arguments).await?;
    let text = format!("Memory {} now corrects memory {}.", answer["new_node_id"], answer["old_node_id"]);
    Ok((answer, text))
}

async fn forget(app: &App, id: &str, reason: &str, screen: Screen) -> Result<(Value, String)> {
    let id = parse_id(id)?;
    // Shown, since it cannot be taken back.
    let context = call(app, "memory_context", json!({"node_id": id, "depth": 1})).await?;
    for _ in 0..FORGET_CALLS {
        let answer = call(app, "memory_forget", json!({"node_id": id, "reason": reason})).await?;
        if answer["forgotten"] == true {
            let text = format!("Forgot memory {id}:\n{}", screen.list(&json!([context["nodes"][0]])));
            return Ok((answer, text));
        }
    }
    Err(Error::internal(format!("memory {id} still has links")))
}
