//! `wiki.*`: pages and questions.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::{integer, object, string};
use quad_core::tool_table::ToolHandler;
use quad_core::{ReadSet, Result, Timestamp, Tool, ToolEntry, ToolOutput};
use quad_store::Sql;
use serde_json::json;

use super::{Arguments, run_read, timestamp};
use crate::read::{self, Page};
use crate::routes::WIKI_READ;
use crate::wiki::PageRef;
use crate::{Brain, limits, question, tags};

pub(super) fn entries() -> Vec<ToolEntry<Brain>> {
    let entry = |name, title, description, schema, handler: ToolHandler<Brain>| {
        let tool = Tool::new(name, title, description, schema, WIKI_READ, ToolEffect::Reads);
        ToolEntry::new(tool, handler)
    };
    vec![
        entry(
            "wiki.question",
            "Ask about the money",
            "Answers a question about balances, spending, income, bills, invoices, subscriptions or counterparties from \
             the ledger, with evidence. What it cannot answer it says; it never guesses and never pays.",
            object(
                &[
                    (
                        "question",
                        json!({"type": "string", "minLength": 1, "maxLength": limits::QUESTION_CHARS,
                            "description": "Such as: How much did I spend in September 2025?"}),
                    ),
                    ("as_of", timestamp("The time that counts as now")),
                    ("max_evidence_depth", integer(1, 5, 3)),
                ],
                &["question"],
            ),
            |brain, call| Box::pin(answer_question(brain, call)),
        ),
        entry(
            "wiki.page.get",
            "One wiki page",
            "A page by its slug (/monthly-summaries/2025-09), by the id of what it is about, or one revision by its id.",
            object(&[("slug_or_id", string("Slug, subject or revision"))], &["slug_or_id"]),
            |brain, call| Box::pin(get_page(brain, call)),
        ),
    ]
}

async fn answer_question(brain: &Brain, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments(call.arguments);
    let question = arguments.required("question")?.to_owned();
    let as_of = arguments.timestamp("as_of", true)?;
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
    let page = match PageRef::parse(arguments.required("slug_or_id")?) {
        Some(page_ref) => read::get_or_render(brain, call.caller, page_ref).await?,
        None => None,
    };
    let (value, read_set) = match page {
        Some(Page::Current(rendered, revision)) => (revision.to_json(), rendered.read_set),
        Some(Page::Revision(revision, read_set)) => (revision.to_json(), read_set),
        None => (json!({"found": false}), ReadSet::default()),
    };
    Ok(ToolResult::read_only(ToolOutput::structured(value), read_set))
}
