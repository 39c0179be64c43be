//! `raw_contribute`: an agent stores evidence, and learns whether it was read as a statement.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::{array, object, result, string, string_enum};
use quad_core::{Error, Kind, Principal, PrincipalKind, Result, Tool, ToolOutput, canonical};
use quad_store::{Tx, WriteContext};
use serde_json::{Map, Value, json};

use super::Arguments;
use crate::errors::invalid;
use crate::import::{self, Extraction, FileReport, StatementReport};
use crate::raw::{self, NewArtifact, ProjectionStatus, SourceType};
use crate::routes::{LEDGER_READ, RAW_WRITE};
use crate::{Brain, contribution, errors, limits, media_type};

/// The statement was imported into the ledger.
const IMPORTED: &str = "imported";
/// The same bytes were imported before.
const ALREADY_IMPORTED: &str = "already_imported";
/// The document is stored. It is imported when the hold on its agent ends.
const ON_HOLD: &str = "on_hold";
/// It is a statement that cannot be imported.
const REFUSED: &str = "refused";
/// It is another document.
const NOT_A_STATEMENT: &str = "not_a_statement";
/// The server could not import it now; the next contribution tries again.
const PENDING: &str = "pending";

pub(super) fn tool() -> Tool {
    Tool::new(
        "raw_contribute",
        "Contribute evidence",
        "Stores a document as evidence, unchanged and permanently: a bank statement, an invoice, a receipt. The same \
         bytes twice are one artifact. Statements (CSV, OFX, camt.053, hledger) are read into the ledger; those of a \
         new agent wait until it is released. The result says whether it was read as a statement.",
        object(
            &[
                ("payload", string("The document")),
                ("encoding", string_enum(&["utf-8", "base64"], "Encoding of the payload; utf-8 by default")),
                ("mime_type", string("Its media type, such as text/csv; application/json by default")),
                (
                    "source_ref",
                    json!({"type": "object", "description": "Where it comes from; account_id names the account of a statement"}),
                ),
            ],
            &["payload"],
        ),
        RAW_WRITE,
        ToolEffect::Creates,
    )
    .dotted("raw.contribute")
    .output(result(
        &[
            ("rawId", json!({"type": "string"})),
            ("sha256", json!({"type": "string"})),
            ("bytes", json!({"type": "integer"})),
            ("sourceType", json!({"type": "string"})),
            ("ingestedAt", json!({"type": "string"})),
            ("deduplicated", json!({"type": "boolean", "description": "Whether the same bytes were stored before"})),
            ("statement", statement_schema()),
        ],
        &["rawId", "sha256", "bytes", "sourceType", "ingestedAt", "deduplicated", "statement"],
    ))
    .example(json!({
        "payload": "Date,Description,Amount\n2025-09-14,Coffee,-4.50\n",
        "mime_type": "text/csv",
        "source_ref": {"account_id": "acct_8231"},
    }))
    .aliases(&[("data", "payload"), ("source", "source_ref"), ("metadata", "source_ref")])
    .with_stored_text()
}

fn statement_schema() -> Value {
    let account = json!({
        "type": "object",
        "properties": {
            "account_id": {"type": ["string", "null"], "description": "null if the account does not exist yet"},
            "name": {"type": "string"},
            "currency": {"type": "string"},
            "entries": {"type": "integer", "description": "Entries in the statement"},
            "added": {"type": "integer"},
            "updated": {"type": "integer"},
            "unchanged": {"type": "integer"},
        },
        "required": ["currency", "entries"],
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "description": "Whether the document was read as a bank statement",
        "properties": {
            "status": {
                "type": "string",
                "enum": [IMPORTED, ALREADY_IMPORTED, ON_HOLD, REFUSED, NOT_A_STATEMENT, PENDING],
            },
            "format": {"type": "string", "enum": ["csv", "ofx", "camt", "hledger"]},
            "accounts": array(account, "The statements in the document, each with its account"),
            "account_count": {"type": "integer", "description": "Statements in the document"},
            "problems": array(json!({"type": "string"}), "The first errors and warnings of the parser, with their lines"),
            "error_count": {"type": "integer", "description": "Errors; each stands for a line that was left out"},
            "error": {
                "type": "object",
                "description": "Why it is not imported, or cannot be imported when the hold ends",
                "properties": {
                    "code": {"type": "string"},
                    "message": {"type": "string"},
                    "hint": {"type": "string"},
                },
                "required": ["code", "message", "hint"],
                "additionalProperties": false,
            },
            "hint": {"type": "string", "description": "What to do next, if it is not imported yet"},
        },
        "required": ["status"],
        "additionalProperties": false,
    })
}

pub(super) async fn contribute(brain: &Brain, call: ToolCall<'_>) -> Result<ToolResult> {
    if call.caller.kind != PrincipalKind::Agent {
        return Err(Error::new(
            Kind::Scope,
            errors::SCOPE_INSUFFICIENT,
            "Only agents can contribute evidence",
        )
        .hint("Import with `quad brain import` instead")
        .with_detail("scope", "raw:write"));
    }
    let arguments = Arguments(call.arguments);
    let bytes = decode(arguments.required("payload")?, arguments.text("encoding"))?;
    let mime_type =
        media_type::check("mime_type", arguments.text("mime_type").unwrap_or("application/json"))?;
    let agent = call.caller.subject.as_ref().to_owned();
    let source_ref = attributed_source_ref(&arguments, &agent)?;
    let account = contribution::named_account(&source_ref);
    let new = NewArtifact {
        source_type: SourceType::AgentContributed,
        source_ref: source_ref.clone(),
        mime_type: Some(mime_type),
        ingested_by: agent.clone(),
        sha256: canonical::sha256_hex(&bytes),
        bytes: bytes.len() as i64,
    };
    let writer = WriteContext::from(call.caller);
    let is_large = bytes.len() > limits::BYTES_PER_WRITE;
    if is_large {
        raw::store_bytes(&brain.store, &writer, &new.sha256, &bytes).await?;
    }
    let event = call.event.succeeded();
    let contributor = agent.clone();
    let work = move |tx: &mut Tx<'_>| {
        if !is_large {
            raw::write_chunks(tx, &new.sha256, 0, &bytes)?;
        }
        let (artifact, is_new) = raw::register(tx, &new)?;
        contribution::record(tx, &artifact, &agent, &source_ref)?;
        tx.audit_output("raw_id", artifact.id.as_str());
        tx.audit_output("sha256", artifact.sha256.as_str());
        tx.audit_output("deduplicated", !is_new);
        Ok(json!({
            "rawId": artifact.id.as_str(),
            "sha256": artifact.sha256,
            "bytes": artifact.bytes,
            "sourceType": artifact.source_type.as_str(),
            "ingestedAt": artifact.ingested_at,
            "deduplicated": !is_new,
        }))
    };
    let (mut value, receipt) = brain.store.write(&writer, event, work).await?;
    let raw_id = value["rawId"].as_str().unwrap_or_default().to_owned();
    let contributed = Contributed { brain, writer, caller: call.caller, agent: contributor, raw_id, account };
    value["statement"] = contributed.import().await;
    let uri = raw::Artifact::uri(&contributed.raw_id);
    Ok(ToolResult::committed(ToolOutput::structured(value).with_link(uri, "Raw evidence"), receipt))
}

/// A stored contribution.
struct Contributed<'a> {
    brain: &'a Brain,
    writer: WriteContext,
    caller: &'a Principal,
    agent: String,
    raw_id: String,
    account: Option<String>,
}

impl Contributed<'_> {
    /// Imports it, with what else of the agent is pending, and describes what became of it.
    async fn import(&self) -> Value {
        let description = match self.extract().await {
            Ok(Some(extraction)) => Ok(self.describe(&extraction)),
            Ok(None) => self.describe_unextracted().await,
            Err(error) => Err(error),
        };
        description.unwrap_or_else(|error| {
            // The contribution is committed with its audit event; an error now would add a second event for the same
            // call. What was not extracted stays pending: the next contribution or the release of the agent tries it
            // again.
            tracing::warn!(
                agent = self.agent,
                cause = error.cause_chain(),
                "contributed evidence was not extracted"
            );
            json!({
                "status": PENDING,
                "hint": "Contribute the same document again later: its import could not be tried now",
            })
        })
    }

    /// What became of this contribution; `None` if it was not pending.
    async fn extract(&self) -> Result<Option<Extraction>> {
        let mut own = None;
        for (raw_id, result) in self.brain.extract_each(&self.writer, &self.agent).await? {
            match result {
                result if raw_id == self.raw_id => own = Some(result),
                Ok(_) => {}
                Err(error) => tracing::warn!(
                    agent = self.agent,
                    raw_id,
                    cause = error.cause_chain(),
                    "an earlier contribution was not extracted"
                ),
            }
        }
        own.transpose()
    }

    /// Describes a contribution that was not pending: it is on hold or was imported before.
    async fn describe_unextracted(&self) -> Result<Value> {
        let (agent, raw_id) = (self.agent.clone(), self.raw_id.clone());
        let work = move |sql: &mut quad_store::Snapshot<'_>| {
            let is_on_hold = contribution::load_contributor(sql, &agent)?.is_on_hold();
            let status = raw::find(sql, &raw_id)?.and_then(|artifact| artifact.projection_status);
            Ok((is_on_hold, status == Some(ProjectionStatus::Projected)))
        };
        let (is_on_hold, is_imported) = self.brain.store.read(&self.writer.tenant, work).await?;
        if is_imported {
            return Ok(json!({"status": ALREADY_IMPORTED}));
        }
        if !is_on_hold {
            return Err(Error::internal("a pending contribution was not tried"));
        }
        let preview =
            import::preview(&self.brain.store, &self.writer, &self.agent, &self.raw_id, self.account.clone());
        let preview = preview.await?;
        let mut description = self.describe(&preview);
        // Another document has nothing to wait for.
        if !matches!(preview, Extraction::NotAStatement(_)) {
            description["status"] = ON_HOLD.into();
            description["hint"] = format!(
                "Ask the operator to run `quad brain release {}`, or contribute more: the hold ends with contribution {}",
                self.agent,
                limits::CONTRIBUTIONS_ON_HOLD + 1
            )
            .into();
        }
        Ok(description)
    }

    fn describe(&self, extraction: &Extraction) -> Value {
        match extraction {
            Extraction::Imported(report) => {
                report_json(report, LEDGER_READ.is_satisfied_by(&self.caller.scopes))
            }
            Extraction::NotAStatement(error) => {
                json!({"status": NOT_A_STATEMENT, "error": error_json(error)})
            }
            Extraction::Refused(error) => json!({"status": REFUSED, "error": error_json(error)}),
        }
    }
}

/// The report of an import. What the ledger holds already is only for callers that may read the ledger.
fn report_json(report: &FileReport, with_ledger: bool) -> Value {
    let account = |statement: &StatementReport| {
        let mut json = json!({"currency": statement.currency, "entries": statement.entries});
        if with_ledger {
            json["account_id"] = statement.account_id.clone().into();
            json["name"] = statement.account_name.as_str().into();
            json["added"] = statement.posted.added.into();
            json["updated"] = statement.posted.updated.into();
            json["unchanged"] = statement.posted.unchanged.into();
        }
        json
    };
    let named = report.statements.iter().take(limits::MAX_ACCOUNTS_REPORTED);
    json!({
        "status": IMPORTED,
        "format": report.format,
        "accounts": named.map(account).collect::<Vec<_>>(),
        "account_count": report.statements.len(),
        "problems": report.problems,
        "error_count": report.error_count,
    })
}

fn error_json(error: &Error) -> Value {
    json!({
        "code": error.code(),
        "message": error.message(),
        "hint": error.hint_text().unwrap_or("Correct the document and contribute it again"),
    })
}

fn decode(payload: &str, encoding: Option<&str>) -> Result<Vec<u8>> {
    let bytes = match encoding {
        Some("base64") => {
            let compact: String = payload.split_ascii_whitespace().collect();
            BASE64.decode(compact).map_err(|error| {
                invalid("payload", format!("is not base64: {error}")).hint(
                    "Send text as it is with encoding utf-8, or encode the bytes as base64 with padding",
                )
            })?
        }
        _ => payload.as_bytes().to_vec(),
    };
    if bytes.is_empty() {
        return Err(invalid("payload", "must not be empty").hint("Send the text of the document"));
    }
    if bytes.len() > limits::CONTRIBUTION_BYTES {
        return Err(errors::limit("raw_artifact_too_large", "The payload is larger than the limit")
            .hint("Export shorter periods and contribute them one after the other")
            .with_detail("limit_bytes", limits::CONTRIBUTION_BYTES));
    }
    Ok(bytes)
}

/// The caller's `source_ref`, with the caller's own identity set by the server.
fn attributed_source_ref(arguments: &Arguments, agent: &str) -> Result<Map<String, Value>> {
    let mut source_ref =
        arguments.0.get("source_ref").and_then(Value::as_object).cloned().unwrap_or_default();
    if Value::Object(source_ref.clone()).to_string().len() > limits::METADATA_BYTES {
        return Err(invalid(
            "source_ref",
            format!("must have at most {} bytes as JSON", limits::METADATA_BYTES),
        )
        .hint("Send only what identifies the source, such as account_id and a file name"));
    }
    source_ref.remove("agent_role");
    source_ref.insert("agent_id".into(), agent.into());
    Ok(source_ref)
}
