//! The identity transform.
use crate::catalogue::Catalogue;
use crate::tree::Node;

/// What the engine makes of a tree.
pub fn transform(_catalogue: &Catalogue, node: Node) -> Node {
    node
}
