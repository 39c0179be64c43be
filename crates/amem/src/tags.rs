//! Cache tags: what reads of this scheme depend on and what its writes invalidate.
//!
//! An edge belongs to both its ends. A write that touches more than [`limits::MAX_NODE_TAGS`] nodes invalidates
//! [`any_node`] instead of each, so every read of single nodes depends on that tag too.

use std::collections::BTreeSet;

use quad_core::Tag;
use quad_store::Tx;

use crate::event_type::EventType;
use crate::limits;
use crate::node::NodeId;
use crate::session::SessionId;

/// The counters.
pub(crate) fn counters() -> Tag {
    Tag::new("amem:stats")
}

/// The set of nodes, and which of them are superseded.
pub(crate) fn nodes() -> Tag {
    Tag::new("amem:nodes")
}

/// The set of sessions.
pub(crate) fn sessions() -> Tag {
    Tag::new("amem:sessions")
}

/// The nodes of one session.
pub(crate) fn session(id: SessionId) -> Tag {
    Tag::new(format!("amem:session:{id}"))
}

/// The nodes of one type.
pub(crate) fn event_type(event_type: EventType) -> Tag {
    Tag::new(format!("amem:type:{}", event_type.as_str()))
}

/// One node and its edges.
pub(crate) fn node(id: NodeId) -> Tag {
    Tag::new(format!("amem:node:{id}"))
}

/// The node of a [`node`] tag.
pub(crate) fn parse_node(tag: &Tag) -> Option<NodeId> {
    tag.as_str().strip_prefix("amem:node:")?.parse().ok().map(NodeId)
}

/// Any node and its edges, after a write that changed many.
pub(crate) fn any_node() -> Tag {
    Tag::new("amem:bulk")
}

/// Invalidates the tags of these nodes.
pub(crate) fn invalidate_nodes(tx: &mut Tx<'_>, nodes: &BTreeSet<NodeId>) {
    if nodes.len() > limits::MAX_NODE_TAGS {
        tx.invalidate(any_node());
    } else {
        nodes.iter().for_each(|id| tx.invalidate(node(*id)));
    }
}
