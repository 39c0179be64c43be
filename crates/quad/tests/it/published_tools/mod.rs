//! What hosts and models need of the published tools: names and schemas that every model API accepts, results that match
//! their output schemas, a default profile that is complete and small, and errors that say how to go on.

mod default_profile;
mod output_schemas;
mod schema_rules;
mod wrong_calls;

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::era::add_era_fields;
use crate::instance::QUAD;
use crate::matrix::Revision;

pub use default_profile::check_mentions;
pub use output_schemas::check_result;

/// All tools, with their portable names.
pub fn all() -> &'static [Value] {
    static TOOLS: OnceLock<Vec<Value>> = OnceLock::new();
    TOOLS.get_or_init(|| list(&["--tools", "all"]))
}

/// The tools of the default profile.
pub fn default_profile() -> &'static [Value] {
    static TOOLS: OnceLock<Vec<Value>> = OnceLock::new();
    TOOLS.get_or_init(|| list(&[]))
}

/// The name of a tool.
pub fn name(tool: &Value) -> &str {
    tool["name"].as_str().unwrap()
}

/// `tools/list` of a `quad stdio` with these arguments, in a folder of its own.
pub fn list(arguments: &[&str]) -> Vec<Value> {
    let result = ask(arguments, "tools/list", "{}");
    assert!(result["nextCursor"].is_null(), "the list of tools has more pages");
    result["tools"].as_array().unwrap().clone()
}

/// The result of one request to a `quad stdio` with these arguments, in a folder of its own.
pub fn ask(arguments: &[&str], method: &str, params: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(QUAD)
        .arg("stdio")
        .args(arguments)
        .env_clear()
        .env("HOME", folder.path())
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let params: Value = serde_json::from_str(params).unwrap();
    // Without its fields a request counts as one of an older revision, which has no output schemas.
    let params =
        if method == "initialize" { Some(params) } else { add_era_fields(Revision::MODERN, Some(params)) };
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    child.stdin.take().unwrap().write_all(format!("{request}\n").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(reply["error"].is_null(), "{method}: {reply:#}");
    reply["result"].clone()
}
