//! The vectors that callers supplied. All vectors of a memory have one dimension, that of the first.

use quad_core::Result;
use quad_store::{Sql, Tx, Value as Cell, batch, params};

use crate::node::NodeId;
use crate::{errors, limits};

/// The bytes of a number.
const NUMBER_BYTES: i64 = 4;

/// The dimension of the stored vectors; `None` if there are none.
pub(crate) fn dimension(sql: &mut dyn Sql) -> Result<Option<usize>> {
    let tenant = sql.tenant().clone();
    let row = sql.query_opt(
        "SELECT LENGTH(vector) FROM amem_vector WHERE tenant_id = $1 ORDER BY node_id LIMIT 1",
        params![tenant.as_str()],
    )?;
    let bytes = row.map(|row| row.int(0)).transpose()?;
    Ok(bytes.and_then(|bytes| usize::try_from(bytes / NUMBER_BYTES).ok()))
}

/// Whether these numbers can be compared: finite, not all zero, and not too many.
pub(crate) fn is_valid(vector: &[f32]) -> bool {
    (1..=limits::MAX_DIMENSION).contains(&vector.len())
        && vector.iter().all(|number| number.is_finite())
        && vector.iter().any(|number| *number != 0.0)
}

/// Rejects new vectors of another dimension than the stored ones and the first of them.
pub(crate) fn check_dimension(sql: &mut dyn Sql, vectors: &[(NodeId, &[f32])]) -> Result<()> {
    let Some((_, first)) = vectors.first() else { return Ok(()) };
    let dimension = dimension(sql)?.unwrap_or(first.len());
    match vectors.iter().find(|(_, vector)| vector.len() != dimension) {
        Some((_, vector)) => Err(errors::other_dimension("feature_vec", vector.len(), dimension)),
        None => Ok(()),
    }
}

/// Inserts the vectors of nodes.
pub(crate) fn insert(tx: &mut Tx<'_>, vectors: &[(NodeId, &[f32])]) -> Result<()> {
    let tenant = tx.tenant().clone();
    for chunk in batch::chunks(vectors) {
        let placeholders = batch::values_placeholders(chunk.len(), 2, 2, "$1");
        let mut cells = vec![Cell::from(tenant.as_str())];
        for (id, vector) in chunk {
            let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
            cells.extend([Cell::Int(id.0), Cell::Blob(bytes)]);
        }
        tx.execute(
            &format!("INSERT INTO amem_vector (tenant_id, node_id, vector) VALUES {placeholders}"),
            &cells,
        )?;
    }
    Ok(())
}

/// The numbers of a stored vector.
pub(crate) fn decode(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])).collect()
}
