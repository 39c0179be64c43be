//! The parts of a memory, independent of the file format.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The names of the edge types, in the order of their numbers.
pub use crate::edge::NAMES as EDGE_TYPES;
/// The names of the event types, in the order of their numbers.
pub use crate::event_type::NAMES as EVENT_TYPES;

/// One part of a memory. A stream has each node before the edges and sessions that refer to it.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A node.
    Node(NodeItem),
    /// An edge.
    Edge(EdgeItem),
    /// A session's own data, beyond its nodes.
    Session(SessionItem),
}

/// A node. Times are in microseconds since 1970.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeItem {
    /// The id in the file. Ids ascend.
    pub id: u64,
    /// The number of the event type.
    pub event_type: u8,
    /// The session.
    pub session_id: u32,
    /// The creation time.
    pub created_at: i64,
    /// The confidence, 0 to 1.
    pub confidence: f64,
    /// The number of accesses.
    pub access_count: u32,
    /// The time of the last access.
    pub last_accessed: i64,
    /// The author, if known.
    pub created_by: Option<String>,
    /// The text.
    pub content: String,
    /// The vector that the author supplied, if any: finite numbers, not all zero.
    pub vector: Option<Vec<f32>>,
}

/// An edge.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeItem {
    /// The source node.
    pub source_id: u64,
    /// The target node.
    pub target_id: u64,
    /// The number of the edge type.
    pub edge_type: u8,
    /// The weight, 0 to 1.
    pub weight: f64,
    /// The creation time, in microseconds since 1970.
    pub created_at: i64,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionItem {
    /// The id.
    pub session_id: u32,
    /// The start time, in microseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<i64>,
    /// The end time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<i64>,
    /// The subject that started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_by: Option<String>,
    /// The episode that summarizes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub episode_id: Option<u64>,
    /// Free data of the author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}
