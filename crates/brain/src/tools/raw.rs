//! `raw.*`: contributing and reading evidence.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::{object, string, string_enum};
use quad_core::{Error, Kind, PrincipalKind, Result, Tool, ToolEntry, ToolOutput, canonical};
use quad_store::{Sql, Tx, WriteContext};
use serde_json::{Map, Value, json};

use super::{Arguments, id, run_read};
use crate::errors::invalid;
use crate::raw::{self, NewArtifact, SourceType};
use crate::routes::{EVIDENCE_READ, RAW_WRITE};
use crate::{Brain, contribution, errors, limits, tags};

pub(super) fn entries() -> Vec<ToolEntry<Brain>> {
    let contribute_tool = Tool::new(
        "raw.contribute",
        "Contribute evidence",
        "Stores a document as evidence, unchanged and permanently: a bank statement, an invoice, a receipt. The same bytes \
             twice are one artifact. Statements (CSV, OFX, camt.053, hledger) are read into the ledger; those of a new \
             agent wait until it is released.",
        object(
            &[
                ("payload", string("The document")),
                (
                    "encoding",
                    string_enum(&["utf-8", "base64"], "The encoding of the payload; utf-8 by default"),
                ),
                ("mime_type", string("Its media type; application/json by default")),
                (
                    "source_ref",
                    json!({"type": "object", "description": "Where it comes from; account_id names the account of a statement"}),
                ),
            ],
            &["payload"],
        ),
        RAW_WRITE,
        ToolEffect::Creates,
    );
    let get_tool = Tool::new(
        "raw.artifact.get",
        "Look at evidence",
        "What an artifact is and what was read from it: one that you contributed, or one that the ledger cites.",
        object(
            &[
                ("raw_id", id("The artifact")),
                ("include_parsed", json!({"type": "boolean", "default": true})),
            ],
            &["raw_id"],
        ),
        EVIDENCE_READ,
        ToolEffect::Reads,
    );
    vec![
        ToolEntry::new(contribute_tool, |brain, call| Box::pin(contribute(brain, call))),
        ToolEntry::new(get_tool, |brain, call| Box::pin(get_artifact(brain, call))),
    ]
}

async fn get_artifact(brain: &Brain, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments(call.arguments);
    let raw_id = arguments.required("raw_id")?.to_owned();
    let with_parsed = arguments.bool_or("include_parsed", true);
    let subject = call.caller.subject.clone();
    let work = move |sql: &mut dyn Sql| {
        let read_set = tags::read_set(sql.version()).with_tag(tags::row(raw::KIND, &raw_id));
        let artifact_json = raw::to_json_for(sql, &raw_id, &subject, with_parsed)?;
        Ok((artifact_json.ok_or_else(|| raw::artifact_not_found(&raw_id))?, read_set))
    };
    run_read(brain, call.caller, work).await
}

async fn contribute(brain: &Brain, call: ToolCall<'_>) -> Result<ToolResult> {
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
    let mime_type = arguments.text("mime_type").unwrap_or("application/json").to_owned();
    if mime_type.len() > 128 {
        return Err(invalid("mime_type", "must have at most 128 characters"));
    }
    let agent = call.caller.subject.as_ref().to_owned();
    let source_ref = attributed_source_ref(&arguments, &agent)?;
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
    let (value, receipt) = brain.store.write(&writer, event, work).await?;
    if let Err(error) = brain.extract_pending(&writer, &contributor).await {
        // The contribution is committed with its audit event; an error now would add a second event for the same call.
        // What was not extracted stays pending: the next contribution or the release of the agent tries it again.
        tracing::warn!(
            agent = contributor,
            cause = error.cause_chain(),
            "contributed evidence was not extracted"
        );
    }
    let uri = raw::Artifact::uri(value["rawId"].as_str().unwrap_or_default());
    Ok(ToolResult::committed(ToolOutput::structured(value).with_link(uri, "Raw evidence"), receipt))
}

fn decode(payload: &str, encoding: Option<&str>) -> Result<Vec<u8>> {
    let bytes = match encoding {
        Some("base64") => {
            let compact: String = payload.split_ascii_whitespace().collect();
            BASE64.decode(compact).map_err(|error| invalid("payload", format!("is not base64: {error}")))?
        }
        _ => payload.as_bytes().to_vec(),
    };
    if bytes.is_empty() {
        return Err(invalid("payload", "must not be empty"));
    }
    if bytes.len() > limits::CONTRIBUTION_BYTES {
        return Err(errors::limit("raw_artifact_too_large", "The payload is larger than the limit")
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
        ));
    }
    source_ref.remove("agent_role");
    source_ref.insert("agent_id".into(), agent.into());
    Ok(source_ref)
}
