//! The schemas of the results, one function for each tool.

use serde_json::{Value, json};

use super::schema::{
    array, flag, free_object, list, map, number, optional_text, or_null, record, result, string, text,
};

fn position() -> [(&'static str, Value); 2] {
    [("line", number()), ("column", number())]
}

fn commands() -> Value {
    list(record(
        &[
            ("namespace", text()),
            ("pluginName", text()),
            ("packageVersion", optional_text()),
            ("commands", list(record(&[("name", text()), ("description", text())], &[]))),
            ("source", text()),
        ],
        &[],
    ))
}

pub(super) fn detect() -> Value {
    let plan = or_null(record(&[("dir", text()), ("fileCount", number())], &[]));
    let site = record(&[("configPath", text()), ("sites", list(text())), ("plugins", list(text()))], &[]);
    let problem = record(
        &[("severity", text()), ("message", text())],
        &[&position()[..], &[("file", text()), ("site", text())]].concat(),
    );
    let config_error = record(&[&position()[..], &[("message", text())]].concat(), &[]);
    result(
        &[
            ("cwd", optional_text()),
            ("plan", plan),
            ("site", or_null(site)),
            ("plugins", commands()),
            ("configSource", text()),
            ("hint", string("In a folder without a project")),
            ("configError", config_error),
            ("runePackages", list(rune_package(&[]))),
            ("problems", list(problem)),
        ],
        &["cwd", "plan", "site", "plugins", "configSource"],
    )
}

/// A plugin and what is known about its runes.
fn rune_package(more: &[(&str, Value)]) -> Value {
    let always = [("name", text()), ("installed", optional_text()), ("runes", text())];
    record(&[&always[..], more].concat(), &[("reason", text()), ("describedVersion", text())])
}

pub(super) fn plugins() -> Value {
    let plugin = rune_package(&[("source", text()), ("namespace", optional_text())]);
    result(&[("plugins", list(plugin))], &["plugins"])
}

fn rune_fields() -> Vec<(&'static str, Value)> {
    let attributes = record(
        &[("own", map()), ("universal", json!({"type": ["boolean", "array"], "items": {"type": "string"}}))],
        &[("base", json!({"type": ["string", "object"]}))],
    );
    vec![
        ("name", text()),
        ("plugin", text()),
        ("aliases", list(text())),
        ("description", text()),
        ("attributes", attributes),
    ]
}

/// All runes of a site, one rune, or either as Markdown.
pub(super) fn reference() -> Value {
    let optional = [("contentModel", map()), ("example", text())];
    let rune = record(&rune_fields(), &optional);
    let site = [
        ("site", optional_text()),
        ("plugins", list(text())),
        ("universalAttributes", map()),
        ("presets", map()),
        ("runes", list(rune)),
        ("markdown", string("With format markdown, the only field")),
    ];
    result(&[&site[..], &rune_fields(), &optional].concat(), &[])
}

pub(super) fn contracts() -> Value {
    result(
        &[
            ("$schema", text()),
            ("description", text()),
            ("prefix", text()),
            ("runes", free_object("A contract for each type of rune")),
        ],
        &["$schema", "description", "prefix", "runes"],
    )
}

pub(super) fn runes() -> Value {
    let rune = record(&[("name", text()), ("description", text()), ("aliases", list(text()))], &[]);
    let package = record(&[("plugin", text()), ("label", text()), ("runes", list(rune))], &[]);
    result(&[("site", text()), ("packages", list(package))], &["site", "packages"])
}

fn preview_fields() -> [(&'static str, Value); 6] {
    [
        ("rune", text()),
        ("theme", text()),
        ("input", text()),
        ("config", map()),
        ("html", text()),
        ("selectors", list(text())),
    ]
}

/// One example, or a list of them if an attribute is `all`.
pub(super) fn inspect() -> Value {
    let items = array(record(&preview_fields(), &[]), "With an attribute all, the only field");
    result(&[&preview_fields()[..], &[("items", items)]].concat(), &[])
}

pub(super) fn render() -> Value {
    result(&[("html", text()), ("selectors", list(text()))], &["html", "selectors"])
}

pub(super) fn findings() -> Value {
    let finding = record(
        &[&[("severity", text()), ("code", text())][..], &position(), &[("message", text())]].concat(),
        &[("rune", text()), ("attribute", text()), ("hint", text())],
    );
    let counts = record(&[("errors", number()), ("warnings", number())], &[]);
    result(
        &[("site", optional_text()), ("valid", flag()), ("findings", list(finding)), ("counts", counts)],
        &["site", "valid", "findings", "counts"],
    )
}

fn page_problem() -> (&'static str, Value) {
    ("problem", record(&[&position()[..], &[("message", text())]].concat(), &[]))
}

pub(super) fn pages() -> Value {
    let page = record(
        &[
            ("url", text()),
            ("file", text()),
            ("title", optional_text()),
            ("layout", optional_text()),
            ("draft", flag()),
            ("runes", list(text())),
            ("frontmatter", map()),
        ],
        &[page_problem()],
    );
    let fields = [("site", text()), ("contentDir", text()), ("pages", list(page)), ("truncated", text())];
    result(&fields, &["site", "contentDir", "pages"])
}

pub(super) fn page() -> Value {
    let heading = record(&[("level", number()), ("text", text()), ("id", text())], &[]);
    result(
        &[
            ("url", text()),
            ("file", text()),
            ("title", optional_text()),
            ("frontmatter", map()),
            ("html", text()),
            ("selectors", list(text())),
            ("headings", list(heading)),
            ("source", text()),
            page_problem(),
        ],
        &["url", "file", "title", "frontmatter", "html", "selectors", "headings", "source"],
    )
}

pub(super) fn index() -> Value {
    let entity = record(&[("id", text()), ("type", text()), ("file", text())], &[("status", text())]);
    result(&[("entities", list(entity))], &["entities"])
}

/// The cursor of the next page of a long answer.
fn next_cursor() -> (&'static str, Value) {
    ("nextCursor", string("If the answer is longer than one page"))
}

pub(super) fn status() -> Value {
    let milestone = record(
        &[("name", text()), ("status", text()), ("done", number()), ("total", number())],
        &[("target", text())],
    );
    let count = record(&[("total", number()), ("byStatus", map())], &[]);
    let kinds = ["specs", "work", "bugs", "decisions"].map(|kind| (kind, count.clone()));
    let named = [("id", text()), ("title", text())];
    let blocked = record(&[&named[..], &[("blockedBy", list(text()))]].concat(), &[("reason", text())]);
    let ready_fields = [("type", text()), ("priority", text()), ("complexity", text())];
    let spec = record(
        &[
            &named[..],
            &[
                ("status", text()),
                ("implementedBy", list(text())),
                ("prs", list(text())),
                ("suggestImplemented", flag()),
            ],
        ]
        .concat(),
        &[],
    );
    let warning = record(&[("type", text()), ("source", text()), ("message", text())], &[("target", text())]);
    result(
        &[
            ("milestone", milestone),
            ("counts", record(&kinds, &[])),
            ("blocked", list(blocked)),
            ("ready", list(record(&[&named[..], &ready_fields].concat(), &[]))),
            ("done", list(record(&named, &[("date", text()), ("pr", text())]))),
            ("specRollups", list(spec)),
            ("warnings", list(warning)),
            next_cursor(),
        ],
        &["counts", "blocked", "ready", "done", "specRollups", "warnings"],
    )
}

pub(super) fn entity() -> Value {
    let fields = ["id", "type", "file", "hash", "source"].map(|name| (name, text()));
    result(&fields, &["id", "type", "file", "hash", "source"])
}

fn criteria() -> Value {
    list(record(&[("text", text()), ("checked", flag())], &[]))
}

pub(super) fn context() -> Value {
    let full = record(
        &[
            ("id", text()),
            ("type", text()),
            ("title", optional_text()),
            ("file", text()),
            ("hash", optional_text()),
            ("attributes", map()),
            ("criteria", criteria()),
            ("source", optional_text()),
        ],
        &[],
    );
    let summary = record(
        &[
            ("id", text()),
            ("type", text()),
            ("status", optional_text()),
            ("title", optional_text()),
            ("file", text()),
            ("achieved", flag()),
        ],
        &[],
    );
    let fields = [
        ("entity", full.clone()),
        ("sources", list(full.clone())),
        ("decisions", list(full)),
        ("blockedBy", list(summary.clone())),
        ("blocks", list(summary.clone())),
        ("milestone", or_null(summary.clone())),
        ("implementedBy", list(summary.clone())),
        ("refersTo", list(summary)),
        ("missing", array(text(), "Ids that no file of the plan defines")),
    ];
    result(&fields, &fields.each_ref().map(|(name, _)| *name))
}

pub(super) fn next() -> Value {
    let item = record(
        &[
            ("id", text()),
            ("title", text()),
            ("type", text()),
            ("priority", text()),
            ("complexity", text()),
            ("file", text()),
            ("criteria", criteria()),
            ("refs", list(text())),
            ("attributes", map()),
        ],
        &[],
    );
    result(&[("items", list(item))], &["items"])
}

pub(super) fn next_id() -> Value {
    let fields = [("type", text()), ("nextId", text()), ("highest", optional_text())];
    result(&fields, &["type", "nextId", "highest"])
}

pub(super) fn validation() -> Value {
    let issue = record(
        &[("severity", text()), ("type", text()), ("source", text()), ("file", text()), ("message", text())],
        &[&position()[..], &[("target", text())]].concat(),
    );
    let counts = record(&[("errors", number()), ("warnings", number()), ("info", number())], &[]);
    let exit_code = json!({"type": "integer", "description": "1 if there are errors"});
    result(
        &[
            ("scanned", number()),
            ("issues", list(issue)),
            ("counts", counts),
            ("exitCode", exit_code),
            next_cursor(),
        ],
        &["scanned", "issues", "counts", "exitCode"],
    )
}

pub(super) fn update() -> Value {
    let changes = list(record(&[("field", text()), ("old", text()), ("new", text())], &[]));
    let entity = record(
        &[
            ("id", text()),
            ("type", text()),
            ("file", text()),
            ("changed", flag()),
            ("changes", changes.clone()),
            ("hash", text()),
        ],
        &[("diff", string("Only with dryRun"))],
    );
    let changed = json!({"type": "integer", "description": "How many files change"});
    result(
        &[
            ("dryRun", flag()),
            ("changed", changed),
            ("entities", list(entity)),
            ("file", string("Of one entity")),
            ("type", string("Of one entity")),
            ("changes", changes),
        ],
        &["dryRun", "changed", "entities"],
    )
}

pub(super) fn history() -> Value {
    let attribute = record(&[("field", text()), ("from", optional_text()), ("to", optional_text())], &[]);
    let criterion = record(&[("text", text()), ("action", text())], &[]);
    let always = ["kind", "hash", "shortHash", "date", "author", "message"].map(|name| (name, text()));
    let event = record(
        &always,
        &[
            ("initialAttributes", map()),
            ("attributeChanges", list(attribute)),
            ("criteriaChanges", list(criterion)),
            ("id", text()),
            ("type", text()),
            ("file", text()),
        ],
    );
    result(&[("id", string("Of one entity")), ("events", list(event))], &["events"])
}

pub(super) fn init() -> Value {
    let config = record(&["action", "path", "message"].map(|name| (name, text())), &[]);
    let fields = [
        ("dir", text()),
        ("created", list(text())),
        ("agentFilesUpdated", list(text())),
        ("packageJsonUpdated", flag()),
        ("hookWritten", flag()),
        ("mcpWritten", flag()),
        ("wrapperWritten", flag()),
        ("refraktConfig", or_null(config)),
    ];
    result(&fields, &fields.each_ref().map(|(name, _)| *name))
}

pub(super) fn create() -> Value {
    result(
        &[
            ("id", text()),
            ("type", text()),
            ("file", text()),
            ("hash", text()),
            ("diff", string("Only with dryRun")),
            ("dryRun", flag()),
        ],
        &["id", "type", "file", "hash"],
    )
}
