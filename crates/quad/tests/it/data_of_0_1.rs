//! Data written by 0.1: the present binary opens it and gives the same answers.
//!
//! `tests/data/0.1/README.md` says what the files hold and how they were made.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::client::Client;
use crate::instance::{TestInstance, runtime};
use crate::matrix::{Backend, Revision};

/// The key that encrypts the signing keys in the dump.
const QUAD_KEY: &str = "a secret of this test only, 32 bytes";

/// What stands in the recorded answers for the path of the project folder.
const PROJECT_PLACEHOLDER: &str = "$PROJECT";

/// Fields that depend on the clock, on the request itself or on the version, by the start of the address or the tool's
/// name.
const IGNORED_FIELDS: &[(&str, &str)] = &[
    // The request is itself an access.
    ("amem://", "last_accessed"),
    ("memory_evidence", "last_accessed"),
    // Decay grows with every day.
    ("amem://graph/important", "decay_score"),
    // A token expires.
    ("bkend://access-tokens", "status"),
    ("backend_access_token_get", "status"),
    // The process that answers signs a checkpoint; the proof leads to it.
    ("audit://events/", "checkpoint"),
    ("audit://events/", "inclusion_proof"),
    ("wiki.page.get", "id"),
    ("wiki.page.get", "rendered_at"),
    // Since 0.2 the relevance is the share of the words that match.
    ("search_docs", "relevance"),
    // The pages of the documentation change with the tools that they describe.
    ("search_docs", "content"),
    // 0.1 had the hash of evidence, and did not show it.
    ("brain://raw/", "sha256"),
    // 0.1 showed only some of the hashed fields of an event.
    ("audit://events?", "actor_display_name"),
    ("audit://events?", "actor_email"),
    ("audit://events?", "after_state"),
    ("audit://events?", "before_state"),
    ("audit://events?", "key_id"),
    ("audit://events?", "policy_check_id"),
    ("audit://events?", "policy_decision_id"),
    ("audit://events?", "policy_version"),
    ("audit://events?", "tenant_id"),
    // 0.1 did not offer the source of a page, nor the links of a node to other schemes.
    ("refrakt://pages/", "source"),
    ("amem://node/", "links"),
    // Since 0.3 words count in all their forms, and memories beside a hit count too, so the order differs.
    ("memory_search", "nodes"),
    // Since 0.3 a claim is compared sentence by sentence.
    ("memory_ground", "stance"),
    ("memory_ground", "sentence"),
    // Since 0.3 links with a meaning are preferred.
    ("memory_path", "nodes"),
    ("memory_path", "edges"),
    ("memory_path", "path"),
    ("memory_path", "length"),
    // 0.1 did not find a milestone by the slug of its title.
    ("refrakt://plan/status?milestone=high-season", "milestone"),
];

/// Sentences of 0.1 that later versions word in another way, and what they say now. A wiki page with such a sentence
/// has another revision, so the id and the time of revisions are not compared.
const REWORDED: &[(&str, &str)] = &[
    (
        "of the balance come from before the first transaction that is known",
        "of the balance is from before the first known transaction",
    ),
    ("Nobody has verified who this is", "The identity is not verified"),
    (
        "of the balance are what was said and nobody has confirmed",
        "of the balance is only asserted, not confirmed",
    ),
    ("The registry does not know this agent", "The agent is not registered"),
    (
        "What it contributes is held back until somebody releases it or it has made more",
        "Its contributions are on hold until it is released or has contributed more",
    ),
    ("nothing has that id", "No row has this id. List the accounts with ledger_accounts_list"),
    ("the key when is there twice", "the key when is duplicated"),
    ("defaults fill in what is missing", "defaults replace missing values"),
    ("if somebody was faster", "if the row has changed since"),
    // Titles of pages are escaped since. In JSON a backslash is two.
    ("# Zeitung <Morgen>", r"# Zeitung \\<Morgen\\>"),
];

/// Fields of `resources/list` that are for people, and may be reworded.
const WORDING_FIELDS: &[&str] = &["title", "description"];

/// A request, and what 0.1 answered.
struct RecordedAnswer {
    database: String,
    method: String,
    params: Value,
    answer: Value,
}

impl RecordedAnswer {
    /// The address, the tool or the method that was asked.
    fn target(&self) -> &str {
        self.params["uri"].as_str().or(self.params["name"].as_str()).unwrap_or(&self.method)
    }
}

fn data_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/0.1").join(name)
}

fn read_gzip(name: &str) -> String {
    let mut text = String::new();
    let file = std::fs::File::open(data_file(name)).unwrap();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    text
}

fn recorded_answers() -> Vec<RecordedAnswer> {
    let parse = |line: &str| {
        let mut entry: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| entry[name].as_str().unwrap().to_owned();
        let (database, method) = (text("database"), text("method"));
        RecordedAnswer { database, method, params: entry["params"].take(), answer: entry["answer"].take() }
    };
    read_gzip("answers.jsonl.gz").lines().map(parse).collect()
}

/// Unpacks one folder of the archive.
fn unpack(folder_in_archive: &str, destination: &Path) {
    let file = std::fs::File::open(data_file("data.tar.gz")).unwrap();
    let mut archive = tar::Archive::new(GzDecoder::new(file));
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().into_owned();
        if let Ok(relative_path) = path.strip_prefix(folder_in_archive)
            && relative_path != Path::new("")
        {
            entry.unpack(destination.join(relative_path)).unwrap();
        }
    }
}

/// The data of 0.1, once on each backend that this machine offers.
fn instances_with_data_of_0_1() -> Vec<TestInstance> {
    let mut instances = vec![TestInstance::without_data(Backend::Sqlite, None)];
    match runtime().block_on(quad_store::testing::postgres_database()).unwrap() {
        Some(url) => {
            runtime().block_on(load_dump(&url));
            instances.push(TestInstance::without_data(Backend::Postgres, Some(url)));
        }
        None => eprintln!("skipped on PostgreSQL: QUAD_TEST_POSTGRES_URL is not set"),
    }
    for instance in &mut instances {
        let data = if instance.backend == Backend::Sqlite { "data" } else { "data-postgres" };
        unpack(data, instance.folder());
        std::fs::create_dir(instance.folder().join("project")).unwrap();
        unpack("project", &instance.folder().join("project"));
        instance.set_variable("QUAD_PROJECT", instance.folder().join("project").to_str().unwrap());
        if instance.backend == Backend::Postgres {
            instance.set_variable("QUAD_KEY", QUAD_KEY);
        }
    }
    instances
}

/// Rewrites the counterparties from the last id to the first, which reverses their physical order. No answer may
/// depend on it.
const REVERSE_PHYSICAL_ORDER: &str = "DO $$ DECLARE entry record; BEGIN \
    FOR entry IN SELECT tenant_id, id FROM public.brain_counterparty ORDER BY id DESC LOOP \
    UPDATE public.brain_counterparty SET name = name WHERE tenant_id = entry.tenant_id AND id = entry.id; \
    END LOOP; END $$";

async fn load_dump(url: &str) {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    let driver = tokio::spawn(connection);
    client.batch_execute(&read_gzip("dump.sql.gz")).await.unwrap();
    client.batch_execute(REVERSE_PHYSICAL_ORDER).await.unwrap();
    drop(client);
    driver.await.unwrap().unwrap();
}

/// The reply in the form of the recording: the contents, the result of a tool, or the code of an error.
fn answer_of(outcome: Result<Value, Value>, project: &str) -> Value {
    let result = match outcome {
        Ok(result) => result,
        Err(error) => return json!({"error": error["data"]["code"]}),
    };
    if result["isError"] == true {
        return json!({"error": result["structuredContent"]["error"]["code"]});
    }
    let answer = match (result.get("structuredContent"), result.get("contents").and_then(Value::as_array)) {
        (Some(structured), _) => structured.clone(),
        (None, Some(contents)) => {
            let [content] = contents.as_slice() else { panic!("one content: {contents:?}") };
            let text = content["text"].as_str().unwrap();
            if content["mimeType"] == "application/json" {
                serde_json::from_str(text).unwrap()
            } else {
                text.into()
            }
        }
        (None, None) => result,
    };
    serde_json::from_str(&answer.to_string().replace(project, PROJECT_PLACEHOLDER)).unwrap()
}

/// The answer in the words of today.
fn reworded(answer: &Value) -> Value {
    let replace = |text: String, (old, new): &(&str, &str)| text.replace(old, new);
    serde_json::from_str(&REWORDED.iter().fold(answer.to_string(), replace)).unwrap()
}

/// Takes the ignored fields out, at any depth.
fn remove_fields(value: &mut Value, fields: &[&str]) {
    match value {
        Value::Object(object) => {
            object.retain(|name, _| !fields.contains(&name.as_str()));
            object.values_mut().for_each(|value| remove_fields(value, fields));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| remove_fields(value, fields)),
        _ => {}
    }
}

fn ignored_fields(recorded: &RecordedAnswer) -> Vec<&'static str> {
    if recorded.method == "resources/list" {
        return WORDING_FIELDS.to_vec();
    }
    let is_here = |(prefix, _): &&(&str, &str)| recorded.target().starts_with(prefix);
    IGNORED_FIELDS.iter().filter(is_here).map(|(_, field)| *field).collect()
}

/// The first place where two answers differ.
fn difference(expected: &Value, actual: &Value, path: &str) -> Option<String> {
    match (expected, actual) {
        (Value::Object(left), Value::Object(right)) => {
            let names = left.keys().chain(right.keys().filter(|name| !left.contains_key(*name)));
            names.filter(|name| left.get(*name) != right.get(*name)).find_map(|name| {
                difference(&expected[name], &actual[name], &format!("{path}.{name}"))
                    .or_else(|| Some(format!("{path}.{name}: present on one side only")))
            })
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => left
            .iter()
            .zip(right)
            .enumerate()
            .find_map(|(index, (left, right))| difference(left, right, &format!("{path}[{index}]"))),
        _ if expected == actual => None,
        _ => Some(format!("{path}\n  0.1: {expected}\n  now: {actual}")),
    }
}

#[test]
fn data_written_by_0_1_gives_equal_answers() {
    let recorded = recorded_answers();
    for instance in instances_with_data_of_0_1() {
        let database = if instance.backend == Backend::Sqlite { "sqlite" } else { "postgres" };
        let project = instance.folder().join("project").display().to_string();
        // Verified before anything is added to the chain, and again after.
        instance.run(&["audit", "verify"]);
        let command = instance.quad_command(&["stdio", "--tools", "all"]);
        let mut client = Client::over_stdio(Revision("2025-06-18"), command);
        let (mut count, mut differences) = (0, Vec::new());
        for recorded in recorded.iter().filter(|recorded| recorded.database == database) {
            let reply = client.request(&recorded.method, Some(recorded.params.clone()));
            let (mut expected, mut actual) =
                (reworded(&recorded.answer), reworded(&answer_of(reply.outcome, &project)));
            let fields = ignored_fields(recorded);
            remove_fields(&mut expected, &fields);
            remove_fields(&mut actual, &fields);
            differences.extend(difference(&expected, &actual, recorded.target()));
            count += 1;
        }
        drop(client);
        assert!(
            differences.is_empty(),
            "{database}: {} of {count} answers differ\n{}",
            differences.len(),
            differences.join("\n")
        );
        assert!(count > 500, "{database}: only {count} answers were recorded");
        for arguments in
            [&["audit", "verify"][..], &["audit", "verify", "--tenant", "neighbour"], &["doctor", "--deep"]]
        {
            instance.run(arguments);
        }
    }
}
