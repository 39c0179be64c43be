//! Files that are stored as evidence: imported, loaded or typed. The rows made from them cite them.

use std::sync::Arc;

use quad_core::{EventDraft, Result, canonical};
use quad_store::{Store, Tx, WriteContext};
use serde_json::json;

use crate::raw::{self, NewArtifact, SourceType};
use crate::{errors, limits};

/// A file that is to be stored as an artifact.
#[derive(Debug)]
pub(crate) struct Upload {
    artifact: NewArtifact,
    bytes: Vec<u8>,
}

impl Upload {
    /// A file that `actor` uploads under a name.
    pub(crate) fn new(actor: &str, name: &str, mime_type: &str, bytes: Vec<u8>) -> Result<Upload> {
        if bytes.len() > limits::UPLOAD_BYTES {
            return Err(errors::limit("raw_artifact_too_large", format!("{name} is larger than the limit"))
                .hint(format!("Split it into files of at most {} bytes", limits::UPLOAD_BYTES)));
        }
        let artifact = NewArtifact {
            source_type: source_type(mime_type),
            source_ref: json!({"file": name}).as_object().cloned().unwrap_or_default(),
            mime_type: Some(mime_type.to_owned()),
            ingested_by: actor.to_owned(),
            sha256: canonical::sha256_hex(&bytes),
            bytes: bytes.len() as i64,
        };
        Ok(Upload { artifact, bytes })
    }

    /// The content.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether the bytes fit into one commit together with the artifact row.
    pub(crate) fn fits_one_commit(&self) -> bool {
        self.bytes.len() <= limits::BYTES_PER_WRITE
    }

    /// Stores the bytes of a large file in commits of their own. [`register`](Upload::register) then adds the row.
    pub(crate) async fn store_bytes(&self, store: &Store, writer: &WriteContext) -> Result<()> {
        if self.fits_one_commit() {
            return Ok(());
        }
        raw::store_bytes(store, writer, &self.artifact.sha256, &self.bytes).await
    }

    /// Inserts the artifact unless it exists, and returns its id. Adds the audit event of the upload.
    pub(crate) fn register(&self, tx: &mut Tx<'_>) -> Result<String> {
        if self.fits_one_commit() {
            raw::write_chunks(tx, &self.artifact.sha256, 0, &self.bytes)?;
        }
        let (artifact, is_new) = raw::register(tx, &self.artifact)?;
        if artifact.tombstoned_at.is_some() {
            return Err(raw::artifact_tombstoned(artifact.id.as_str()));
        }
        tx.audit_output("raw_id", artifact.id.as_str());
        tx.audit_output("deduplicated", !is_new);
        tx.emit_event(
            EventDraft::system("raw", "raw.ingest", &self.artifact.ingested_by)
                .input("sha256", self.artifact.sha256.as_str())
                .input("bytes", self.bytes.len()),
        );
        Ok(artifact.id.as_str().to_owned())
    }

    /// Stores the file in a commit of its own and returns the artifact's id.
    pub(crate) async fn store(self, store: &Store, writer: &WriteContext) -> Result<String> {
        self.store_bytes(store, writer).await?;
        let upload = Arc::new(self);
        store.write_with_events(writer, move |tx| upload.register(tx)).await
    }
}

fn source_type(mime_type: &str) -> SourceType {
    match mime_type {
        "text/csv" => SourceType::CsvUpload,
        "text/plain" | "application/x-ofx" | "application/xml" => SourceType::TxtUpload,
        _ => SourceType::Other,
    }
}
