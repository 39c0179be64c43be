//! `wiki.*`: pages and questions.

use quad_core::tool::{Call, Called, Effect};
use quad_core::{Basis, Result, Timestamp, Tool, ToolOutput};
use serde_json::json;

use super::{Arguments, input, moment, read, string, unknown, whole};
use crate::reading::{self, Page};
use crate::routes::WIKI_READ;
use crate::wiki::Wanted;
use crate::{Brain, limits, question, tags};

pub(super) fn tools() -> Vec<Tool> {
    let tool = |name, title, description, schema| {
        Tool::new(name, title, description, schema, WIKI_READ, Effect::Reads)
    };
    vec![
        tool(
            "wiki.question",
            "Ask about the money",
            "Answers a question about balances, spending, income, bills, invoices, subscriptions or counterparties from \
             the ledger, with evidence. What it cannot answer it says; it never guesses and never pays.",
            input(
                &[
                    (
                        "question",
                        json!({"type": "string", "minLength": 1, "maxLength": limits::QUESTION_CHARS,
                            "description": "Such as: How much did I spend in September 2025?"}),
                    ),
                    ("as_of", moment("What counts as today")),
                    ("max_evidence_depth", whole(1, 5, 3)),
                ],
                &["question"],
            ),
        ),
        tool(
            "wiki.page.get",
            "One wiki page",
            "A page by its slug (/monthly-summaries/2025-09), by the id of what it is about, or one revision by its id.",
            input(&[("slug_or_id", string("Slug, subject or revision"))], &["slug_or_id"]),
        ),
    ]
}

pub(super) async fn call(brain: &Brain, call: Call<'_>) -> Result<Called> {
    let arguments = Arguments(call.arguments);
    match call.tool.name {
        "wiki.question" => {
            let question = arguments.required("question")?.to_owned();
            let as_of = arguments.moment("as_of", true)?;
            let depth = arguments.count("max_evidence_depth", 3);
            let work = move |sql: &mut dyn quad_store::Sql| {
                let now = as_of.unwrap_or_else(Timestamp::now);
                let answer = question::ask(sql, &question, now, depth)?;
                // A question may look at anything.
                let mut basis = tags::basis(sql.version());
                for kind in question::KINDS {
                    basis = basis.on(tags::all(kind));
                }
                Ok((answer, basis))
            };
            read(brain, call.caller, work).await
        }
        "wiki.page.get" => {
            let text = arguments.required("slug_or_id")?;
            let page = match Wanted::parse(text) {
                Some(wanted) => reading::page(brain, call.caller, wanted).await?,
                None => None,
            };
            let (value, basis) = match page {
                Some(Page::Current(rendered, revision)) => (revision.show(), rendered.basis),
                Some(Page::Old(revision, basis)) => (revision.show(), basis),
                None => (json!({"found": false}), Basis::default()),
            };
            Ok(Called::read(ToolOutput::structured(value), basis))
        }
        name => Err(unknown(name)),
    }
}
