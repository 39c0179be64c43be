//! What the block stage and the inline stage share.

/// Whether a token opens a node, closes one, or is a complete node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nesting {
    /// Opens a node; the following tokens are its children.
    Open,
    /// Closes the innermost open node.
    Close,
    /// A node without children.
    Leaf,
}

/// What a rule does where it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Emits tokens.
    Emit,
    /// Only tells that it matches, and in the inline stage where the element ends.
    Probe,
}
