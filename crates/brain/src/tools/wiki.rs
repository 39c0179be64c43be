//! `wiki_*`: pages and questions.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::{array, object, result};
use quad_core::{Error, Kind, Principal, ReadSet, Result, Timestamp, Tool, ToolEntry, ToolOutput};
use quad_store::{Snapshot, Sql};
use serde_json::{Value, json};

use super::{Arguments, bound, hint, reference, run_read};
use crate::read::{self, Page};
use crate::reference::strip_address;
use crate::routes::WIKI_READ;
use crate::wiki::{PageName, PageRef, not_found};
use crate::{Brain, errors, limits, question, tags};

pub(super) fn entries() -> Vec<ToolEntry<Brain>> {
    let depth = json!({"type": "integer", "minimum": 1, "maximum": 5, "default": 3, "description": "More cites more rows"});
    let question = Tool::new(
        "wiki_question",
        "Ask about the money",
        "Answers a question about balances, spending, income, bills, invoices, subscriptions or counterparties from \
         the ledger, with evidence. Says what it cannot answer; never pays.",
        object(
            &[
                (
                    "question",
                    json!({"type": "string", "minLength": 1, "maxLength": limits::QUESTION_CHARS,
                        "description": "Such as: How much did I spend in September 2025?"}),
                ),
                ("as_of", bound("What counts as now")),
                ("max_evidence_depth", depth),
            ],
            &["question"],
        ),
        WIKI_READ,
        ToolEffect::Reads,
    )
    .dotted("wiki.question")
    .output(question_schema())
    .example(json!({"question": "How much did I spend in September 2025?"}))
    .aliases(&[("query", "question"), ("q", "question"), ("text", "question"), ("prompt", "question"), ("date", "as_of")]);
    let page = Tool::new(
        "wiki_page_get",
        "One wiki page",
        "A page by slug (monthly-summaries/2025-09), by the id or name of what it is about, or a revision by its id.",
        object(&[("slug_or_id", reference("Slug, id or name"))], &["slug_or_id"]),
        WIKI_READ,
        ToolEffect::Reads,
    )
    .dotted("wiki.page.get")
    .output(page_schema())
    .example(json!({"slug_or_id": "monthly-summaries/2025-09"}))
    .aliases(&[
        ("slug", "slug_or_id"),
        ("id", "slug_or_id"),
        ("page", "slug_or_id"),
        ("page_id", "slug_or_id"),
        ("name", "slug_or_id"),
        ("path", "slug_or_id"),
        ("uri", "slug_or_id"),
    ]);
    vec![
        ToolEntry::new(question.with_stored_text(), |brain, call| Box::pin(answer_question(brain, call))),
        ToolEntry::new(page.with_stored_text(), |brain, call| Box::pin(get_page(brain, call))),
    ]
}

fn question_schema() -> Value {
    let citation = json!({
        "type": "object",
        "properties": {
            "entityType": {"type": "string"},
            "entityId": {"type": "string"},
            "excerpt": {"type": "string"},
        },
        "required": ["entityType", "entityId", "excerpt"],
    });
    let usage = json!({
        "type": "object",
        "properties": {"inputTokens": {"type": "integer"}, "outputTokens": {"type": "integer"}},
    });
    let fields = [
        ("question", json!({"type": "string"})),
        ("answered", json!({"type": "boolean"})),
        ("answer", json!({"type": "string", "description": "The answer, or why there is none"})),
        ("evidence", array(citation, "Rows that the answer depends on")),
        ("model", json!({"type": "string"})),
        ("usage", usage),
    ];
    result(&fields, &["question", "answered", "answer", "evidence", "model", "usage"])
}

fn page_schema() -> Value {
    let text = || json!({"type": "string"});
    let fields = [
        ("id", json!({"type": "string", "description": "The id of this revision"})),
        ("page_type", text()),
        ("subject_id", json!({"type": ["string", "null"]})),
        ("slug", text()),
        ("body_md", json!({"type": "string", "description": "The page as Markdown"})),
        ("rendered_at", text()),
        ("source_revision", text()),
        ("uri", text()),
        ("found", json!({"type": "boolean", "description": "false if there is no such page"})),
        ("hint", hint()),
    ];
    result(&fields, &[])
}

async fn answer_question(brain: &Brain, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments(call.arguments);
    let question = arguments.required("question")?.to_owned();
    let as_of = arguments.bound("as_of", true)?;
    let depth = arguments.usize_or("max_evidence_depth", 3);
    let work = move |sql: &mut dyn Sql| {
        let now = as_of.unwrap_or_else(Timestamp::now);
        let answer = question::answer_question(sql, &question, now, depth)?;
        // An answer may depend on rows of any kind.
        let mut read_set = tags::read_set(sql.version());
        for kind in question::KINDS {
            read_set = read_set.with_tag(tags::rows_of_kind(kind));
        }
        Ok((answer, read_set))
    };
    run_read(brain, call.caller, work).await
}

async fn get_page(brain: &Brain, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments(call.arguments);
    let requested = arguments.required("slug_or_id")?;
    // The address of a row stands for the page about it.
    let requested = match requested.trim().strip_prefix("brain://ledger/") {
        Some(_) => strip_address(requested),
        None => requested,
    };
    let requested = requested.to_owned();
    let mut page = match PageRef::parse(&requested) {
        Some(page_ref) => read::get_or_render(brain, call.caller, page_ref).await?,
        None => None,
    };
    if page.is_none()
        && let Some(name) = find_by_name(brain, call.caller, requested.clone()).await?
    {
        page = read::get_or_render(brain, call.caller, PageRef::Page(name)).await?;
    }
    let (value, read_set) = match page {
        Some(Page::Current(rendered, revision)) => (revision.to_json(), rendered.read_set),
        Some(Page::Revision(revision, read_set)) => (revision.to_json(), read_set),
        None => (json!({"found": false, "hint": not_found::hint(&requested)}), ReadSet::default()),
    };
    Ok(ToolResult::read_only(ToolOutput::structured(value), read_set))
}

/// The page of the account or counterparty with this name, with or without the folder of its slug. An error if several
/// have the name.
async fn find_by_name(brain: &Brain, caller: &Principal, requested: String) -> Result<Option<PageName>> {
    let work = move |sql: &mut Snapshot<'_>| {
        let slug = requested.trim().trim_start_matches('/');
        let (folder, name) = slug.split_once('/').unwrap_or(("", slug));
        let mut pages = Vec::new();
        if matches!(folder, "" | "accounts") {
            let account = crate::reference::find_account(sql, name)?;
            pages.extend(account.map(|account| PageName::Account(account.id.as_str().to_owned())));
        }
        if matches!(folder, "" | "counterparties") {
            let counterparty = crate::reference::find_counterparty(sql, name)?;
            pages.extend(
                counterparty.map(|counterparty| PageName::Counterparty(counterparty.id.as_str().to_owned())),
            );
        }
        if pages.len() > 1 {
            let message = "slug_or_id: an account and a counterparty have this name";
            return Err(Error::new(Kind::BadInput, errors::PARAMS_INVALID, message)
                .hint("Write accounts/ or counterparties/ before the name"));
        }
        Ok(pages.pop())
    };
    brain.store.read(&caller.tenant, work).await
}
