//! What a memory consists of, whatever the file.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The event types by their numbers.
pub const EVENT_TYPES: [&str; 6] = ["fact", "decision", "inference", "correction", "skill", "episode"];

/// The edge types by their numbers.
pub const EDGE_TYPES: [&str; 7] =
    ["caused_by", "supports", "contradicts", "supersedes", "related_to", "part_of", "temporal_next"];

/// One thing of a memory. A stream has each node before the edges and sessions that name it.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A node.
    Node(NodeItem),
    /// An edge.
    Edge(EdgeItem),
    /// What is known of a session beyond its nodes.
    Session(SessionItem),
}

/// A node. Times are microseconds since 1970.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeItem {
    /// Its id in the file. Ids ascend.
    pub id: u64,
    /// Its type's number.
    pub event_type: u8,
    /// The session that made it.
    pub session_id: u32,
    /// When it was made.
    pub created_at: i64,
    /// How sure its maker was, 0 to 1.
    pub confidence: f64,
    /// How often it was read.
    pub access_count: u32,
    /// When it was last read.
    pub last_accessed: i64,
    /// Who made it, if that is known.
    pub created_by: Option<String>,
    /// Its text.
    pub content: String,
    /// The vector that its maker gave, if any: 128 finite numbers, not all zero.
    pub vector: Option<Vec<f32>>,
}

/// An edge.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeItem {
    /// From which node.
    pub source_id: u64,
    /// To which node.
    pub target_id: u64,
    /// Its type's number.
    pub edge_type: u8,
    /// How strong it is, 0 to 1.
    pub weight: f64,
    /// When it was made, in microseconds since 1970.
    pub created_at: i64,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionItem {
    /// Its number.
    pub session_id: u32,
    /// When it was started, in microseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<i64>,
    /// When it was ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<i64>,
    /// Who started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_by: Option<String>,
    /// The node that sums it up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub episode_id: Option<u64>,
    /// What its maker noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

/// Whether a vector can be kept: the graph's dimension, finite, and pointing somewhere.
pub(crate) fn is_valid_vector(vector: &[f32]) -> bool {
    vector.len() == super::limits::DIMENSIONS
        && vector.iter().all(|number| number.is_finite())
        && vector.iter().any(|number| *number != 0.0)
}
