//! Raw evidence: immutable artifacts, identified by the hash of their bytes.
//!
//! Within a tenant the same bytes are one artifact, even from several uploaders; tenants share none. A tombstoned
//! artifact keeps its bytes, but nothing new is extracted from it. This file also decides who may see an artifact: its
//! contributor, and callers that may read the ledger once a ledger row cites it. For all others it is indistinguishable
//! from an artifact that does not exist.

use quad_core::{Error, EventDraft, Result, Timestamp, canonical};
use quad_store::{Row, Sql, Store, Tx, WriteContext, batch, params};
use serde_json::{Map, Value, json};

use crate::ids::RawId;
use crate::row_meta::RowMeta;
use crate::string_enum::string_enum;
use crate::{errors, limits, projection, tags};

string_enum!(
    /// The source of an artifact.
    SourceType, "source type" {
        Plaid = "plaid", Stripe = "stripe", Netsuite = "netsuite", EmailInbound = "email_inbound",
        CsvUpload = "csv_upload", XlsxUpload = "xlsx_upload", TxtUpload = "txt_upload", PdfUpload = "pdf_upload",
        AlchemyWallet = "alchemy_wallet", EthAddress = "eth_address", MergeAccounting = "merge_accounting",
        Finch = "finch", AgentContributed = "agent_contributed", WikiAnnotation = "wiki_annotation", Other = "other",
    }
);
string_enum!(
    /// The progress of its extraction.
    ProjectionStatus, "projection status" {
        Pending = "pending", Projecting = "projecting", Projected = "projected", Failed = "projection_failed",
    }
);

/// The kind of an artifact in tags.
pub(crate) const KIND: &str = "raw";

/// An artifact without its bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Artifact {
    pub id: RawId,
    pub sha256: String,
    pub source_type: SourceType,
    pub source_ref: Map<String, Value>,
    pub mime_type: Option<String>,
    pub bytes: i64,
    pub ingested_at: Timestamp,
    pub ingested_by: String,
    pub projection_status: Option<ProjectionStatus>,
    pub is_cited: bool,
    pub tombstoned_at: Option<Timestamp>,
}

const COLUMNS: &str = "id, sha256, source_type, source_ref, mime_type, bytes, ingested_at, ingested_by, \
    projection_status, cited, tombstoned_at";

impl Artifact {
    fn from_row(row: &Row) -> Result<Artifact> {
        let corrupt_row =
            |text: &str| Error::internal(format!("a stored artifact has the unknown value {text}"));
        let status = row.opt_text(8)?;
        Ok(Artifact {
            id: RawId::from_db(row.text(0)?),
            sha256: row.text(1)?.to_owned(),
            source_type: SourceType::parse(row.text(2)?)
                .ok_or_else(|| corrupt_row("an unknown source type"))?,
            source_ref: serde_json::from_str(row.text(3)?).map_err(Error::internal)?,
            mime_type: row.opt_text(4)?.map(str::to_owned),
            bytes: row.int(5)?,
            ingested_at: Timestamp(row.int(6)?),
            ingested_by: row.text(7)?.to_owned(),
            projection_status: status
                .map(|status| ProjectionStatus::parse(status).ok_or_else(|| corrupt_row("an unknown status")))
                .transpose()?,
            is_cited: row.int(9)? != 0,
            tombstoned_at: row.opt_int(10)?.map(Timestamp),
        })
    }

    /// The URI of an artifact.
    pub(crate) fn uri(id: &str) -> String {
        format!("brain://raw/{id}")
    }

    /// The JSON of an artifact. Only its contributor sees the source.
    fn to_json(&self, tenant: &str, is_contributor: bool) -> Map<String, Value> {
        let mut json = Map::new();
        json.insert("id".into(), self.id.as_str().into());
        json.insert("tenant_id".into(), tenant.into());
        json.insert("source_type".into(), self.source_type.as_str().into());
        json.insert("mime_type".into(), self.mime_type.clone().into());
        json.insert("bytes".into(), self.bytes.into());
        json.insert("sha256".into(), self.sha256.as_str().into());
        if is_contributor {
            json.insert("source_ref".into(), Value::Object(self.source_ref.clone()));
        }
        json.insert("ingested_at".into(), self.ingested_at.to_string().into());
        json.insert("ingested_by".into(), self.ingested_by.as_str().into());
        json.insert("projection_status".into(), self.projection_status.map(ProjectionStatus::as_str).into());
        json.insert("tombstoned_at".into(), self.tombstoned_at.map(|at| at.to_string()).into());
        json
    }
}

/// The JSON Schema of [`to_json_for`].
pub(crate) fn field_schemas() -> Vec<(&'static str, Value)> {
    let string = || json!({"type": "string"});
    let nullable = || json!({"type": ["string", "null"]});
    vec![
        ("id", string()),
        ("tenant_id", string()),
        ("source_type", string()),
        ("mime_type", nullable()),
        ("bytes", json!({"type": "integer"})),
        ("sha256", string()),
        ("source_ref", json!({"type": "object", "description": "Only for its contributor"})),
        ("ingested_at", string()),
        ("ingested_by", string()),
        ("projection_status", nullable()),
        ("tombstoned_at", nullable()),
        (
            "parsed",
            json!({"type": "array", "items": projection::schema(), "description": "The newest first"}),
        ),
    ]
}

/// The fields of an artifact that is to be stored.
#[derive(Clone, Debug)]
pub(crate) struct NewArtifact {
    pub source_type: SourceType,
    pub source_ref: Map<String, Value>,
    pub mime_type: Option<String>,
    pub ingested_by: String,
    pub sha256: String,
    pub bytes: i64,
}

/// The artifact with this id.
pub(crate) fn find(sql: &mut dyn Sql, id: &str) -> Result<Option<Artifact>> {
    by_column(sql, "id", id)
}

/// The artifacts with these ids, by id; missing ids are skipped.
pub(crate) fn find_many(sql: &mut dyn Sql, ids: &[String]) -> Result<Vec<Artifact>> {
    let tenant = sql.tenant().as_str().to_owned();
    let mut artifacts = Vec::with_capacity(ids.len());
    for chunk in batch::chunks(ids) {
        let query = format!(
            "SELECT {COLUMNS} FROM brain_raw WHERE tenant_id = $1 AND id IN ({})",
            batch::placeholders(chunk.len(), 2)
        );
        let mut cells = vec![quad_store::Value::from(tenant.as_str())];
        cells.extend(chunk.iter().map(|id| quad_store::Value::from(id.as_str())));
        for row in &sql.query(&query, &cells)? {
            artifacts.push(Artifact::from_row(row)?);
        }
    }
    artifacts.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(artifacts)
}

/// The artifact with these bytes.
pub(crate) fn by_hash(sql: &mut dyn Sql, sha256: &str) -> Result<Option<Artifact>> {
    by_column(sql, "sha256", sha256)
}

fn by_column(sql: &mut dyn Sql, column: &str, value: &str) -> Result<Option<Artifact>> {
    let query = format!("SELECT {COLUMNS} FROM brain_raw WHERE tenant_id = $1 AND {column} = $2");
    let tenant = sql.tenant().as_str().to_owned();
    sql.query_opt(&query, params![tenant, value])?.as_ref().map(Artifact::from_row).transpose()
}

/// The JSON of an artifact for a caller; `None` if it does not exist or the caller may not see it.
pub(crate) fn to_json_for(
    sql: &mut dyn Sql,
    id: &str,
    subject: &str,
    with_parsed: bool,
) -> Result<Option<Value>> {
    let Some(artifact) = find(sql, id)? else { return Ok(None) };
    let tenant = sql.tenant().as_str().to_owned();
    let contribution = sql.query_opt(
        "SELECT contributed_at FROM brain_contribution WHERE tenant_id = $1 AND agent_id = $2 AND raw_id = $3",
        params![tenant.as_str(), subject, id],
    )?;
    if contribution.is_none() && !artifact.is_cited {
        return Ok(None);
    }
    let mut json = artifact.to_json(&tenant, contribution.is_some());
    if with_parsed {
        let parsed: Vec<Value> =
            projection::by_artifact(sql, id)?.iter().map(projection::Projection::to_json).collect();
        json.insert("parsed".into(), parsed.into());
    }
    Ok(Some(Value::Object(json)))
}

/// Inserts an artifact whose chunks are stored, unless these bytes are one already. Returns the artifact and whether it
/// is new.
pub(crate) fn register(tx: &mut Tx<'_>, new: &NewArtifact) -> Result<(Artifact, bool)> {
    register_with_id(tx, new, None)
}

/// Like [`register`], with a given id.
pub(crate) fn register_with_id(
    tx: &mut Tx<'_>,
    new: &NewArtifact,
    id: Option<RawId>,
) -> Result<(Artifact, bool)> {
    tx.lock("brain:raw")?;
    if let Some(existing) = by_hash(tx, &new.sha256)? {
        return Ok((existing, false));
    }
    let artifact = Artifact {
        id: match id {
            Some(id) => id,
            None => RawId::generate()?,
        },
        sha256: new.sha256.clone(),
        source_type: new.source_type,
        source_ref: new.source_ref.clone(),
        mime_type: new.mime_type.clone(),
        bytes: new.bytes,
        ingested_at: tx.now(),
        ingested_by: new.ingested_by.clone(),
        projection_status: None,
        is_cited: false,
        tombstoned_at: None,
    };
    let tenant = tx.tenant().as_str().to_owned();
    tx.execute(
        "INSERT INTO brain_raw (tenant_id, id, sha256, source_type, source_ref, mime_type, bytes, ingested_at, \
         ingested_by, cited) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0)",
        params![
            tenant,
            artifact.id.as_str(),
            artifact.sha256.as_str(),
            artifact.source_type.as_str(),
            Value::Object(artifact.source_ref.clone()).to_string(),
            artifact.mime_type.clone(),
            artifact.bytes,
            artifact.ingested_at,
            artifact.ingested_by.as_str()
        ],
    )?;
    tx.invalidate(tags::row(KIND, artifact.id.as_str()));
    Ok((artifact, true))
}

/// Stores chunks of an artifact. Chunks without an artifact row are invisible, so they can be stored in earlier
/// commits.
pub(crate) fn write_chunks(tx: &mut Tx<'_>, sha256: &str, first: usize, bytes: &[u8]) -> Result<()> {
    let tenant = tx.tenant().as_str().to_owned();
    for (index, chunk) in bytes.chunks(limits::CHUNK_BYTES).enumerate() {
        tx.execute(
            "INSERT INTO brain_chunk (tenant_id, sha256, number, body) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
            params![tenant.as_str(), sha256, (first + index) as i64, chunk.to_vec()],
        )?;
    }
    Ok(())
}

/// Stores the bytes of a large artifact in several commits, before its row is inserted.
pub(crate) async fn store_bytes(
    store: &Store,
    writer: &WriteContext,
    sha256: &str,
    bytes: &[u8],
) -> Result<()> {
    for (index, part) in bytes.chunks(limits::BYTES_PER_WRITE).enumerate() {
        let (part, hash) = (part.to_vec(), sha256.to_owned());
        let first = index * limits::CHUNKS_PER_WRITE;
        store.write_unaudited(&writer.tenant, move |tx| write_chunks(tx, &hash, first, &part)).await?;
    }
    Ok(())
}

/// The bytes of an artifact. Checks their hash.
pub(crate) fn read_bytes(sql: &mut dyn Sql, artifact: &Artifact) -> Result<Vec<u8>> {
    let tenant = sql.tenant().as_str().to_owned();
    let mut bytes = Vec::with_capacity(usize::try_from(artifact.bytes).unwrap_or_default());
    let mut number = 0_i64;
    while (bytes.len() as i64) < artifact.bytes {
        let row = sql.query_opt(
            "SELECT body FROM brain_chunk WHERE tenant_id = $1 AND sha256 = $2 AND number = $3",
            params![tenant.as_str(), artifact.sha256.as_str(), number],
        )?;
        let row = row.ok_or_else(|| Error::internal(format!("a chunk of {} is missing", artifact.id)))?;
        bytes.extend_from_slice(row.blob(0)?);
        number += 1;
    }
    if canonical::sha256_hex(&bytes) != artifact.sha256 {
        return Err(Error::internal(format!("the stored bytes of {} do not match their hash", artifact.id)));
    }
    Ok(bytes)
}

/// Sets the progress of the extraction.
pub(crate) fn set_status(tx: &mut Tx<'_>, id: &str, status: ProjectionStatus) -> Result<()> {
    let tenant = tx.tenant().as_str().to_owned();
    tx.execute(
        "UPDATE brain_raw SET projection_status = $3 WHERE tenant_id = $1 AND id = $2",
        params![tenant, id, status.as_str()],
    )?;
    tx.invalidate(tags::row(KIND, id));
    Ok(())
}

/// Marks the evidence of a row as cited: callers that may read the ledger may then see it.
pub(crate) fn mark_cited(tx: &mut Tx<'_>, meta: &RowMeta) -> Result<()> {
    mark_ids_cited(tx, &meta.source_ids, &meta.evidence_ids)
}

/// Marks artifacts, and the artifacts of projections, as cited.
pub(crate) fn mark_ids_cited(tx: &mut Tx<'_>, sources: &[String], evidence: &[String]) -> Result<()> {
    let tenant = tx.tenant().as_str().to_owned();
    let mut raw_ids: Vec<String> = sources.to_vec();
    for chunk in batch::chunks(evidence) {
        let query = format!(
            "SELECT raw_id FROM brain_parsed WHERE tenant_id = $1 AND id IN ({})",
            batch::placeholders(chunk.len(), 2)
        );
        let mut cells = vec![quad_store::Value::from(tenant.as_str())];
        cells.extend(chunk.iter().map(|id| quad_store::Value::from(id.as_str())));
        for row in &tx.query(&query, &cells)? {
            let raw = row.text(0)?;
            if !raw_ids.iter().any(|id| id == raw) {
                raw_ids.push(raw.to_owned());
            }
        }
    }
    for raw in &raw_ids {
        let changed = tx.execute(
            "UPDATE brain_raw SET cited = 1 WHERE tenant_id = $1 AND id = $2 AND cited = 0",
            params![tenant.as_str(), raw.as_str()],
        )?;
        if changed > 0 {
            tx.invalidate(tags::row(KIND, raw));
        }
    }
    Ok(())
}

/// Tombstones an artifact: its bytes stay, nothing new is extracted from it. Idempotent.
pub async fn tombstone(store: &Store, writer: &WriteContext, actor: &str, id: &str) -> Result<Timestamp> {
    let event = EventDraft::system("raw", "raw.tombstone", actor).input("raw_id", id).succeeded();
    let id = id.to_owned();
    let work = move |tx: &mut Tx<'_>| {
        let artifact = find(tx, &id)?.ok_or_else(|| artifact_not_found(&id))?;
        if let Some(at) = artifact.tombstoned_at {
            return Ok(at);
        }
        let (tenant, now) = (tx.tenant().as_str().to_owned(), tx.now());
        tx.execute(
            "UPDATE brain_raw SET tombstoned_at = $3 WHERE tenant_id = $1 AND id = $2",
            params![tenant, id.as_str(), now],
        )?;
        tx.invalidate(tags::row(KIND, &id));
        tx.invalidate(tags::listing());
        Ok(now)
    };
    Ok(store.write(writer, event, work).await?.0)
}

/// The artifact does not exist, or the caller may not see it.
pub(crate) fn artifact_not_found(id: &str) -> Error {
    Error::new(
        quad_core::Kind::NotFound,
        "raw_artifact_not_found",
        format!("There is no artifact {}", quad_core::text::truncate(id, 80)),
    )
    .hint(errors::ARTIFACTS_HINT)
}

/// The artifact is tombstoned.
pub(crate) fn artifact_tombstoned(id: &str) -> Error {
    errors::conflict("raw_artifact_tombstoned", format!("The artifact {id} was withdrawn"))
        .hint("Store a new document; nothing is extracted from a withdrawn one")
}
