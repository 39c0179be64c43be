//! References of callers to nodes and sessions: an id, an address, or an id with the word that results print before it.

use crate::node::NodeId;
use crate::session::SessionId;

/// The node that a text names: `5`, `#5`, `node 5`, `amem://node/5`. An id above the largest one becomes the largest.
pub(crate) fn parse_node(text: &str) -> Option<NodeId> {
    let id = id_text(text, &["node", "memory"], &["/neighborhood"])?;
    Some(NodeId::from_u64_saturating(id.parse().unwrap_or(u64::MAX)))
}

/// The session that a text names: `1`, `session:1`, `amem://session/1`. `None` if the id is too large.
pub(crate) fn parse_session(text: &str) -> Option<SessionId> {
    id_text(text, &["session"], &[])?.parse().ok().map(SessionId)
}

/// The digits of a reference to a thing with one of these names.
fn id_text<'a>(text: &'a str, names: &[&str], suffixes: &[&str]) -> Option<&'a str> {
    let text = text.trim();
    let text = match text.strip_prefix("amem://") {
        Some(path) => {
            let path = path.split('?').next().unwrap_or(path);
            suffixes.iter().find_map(|suffix| path.strip_suffix(suffix)).unwrap_or(path)
        }
        None => text,
    };
    let named = names.iter().find_map(|name| {
        let (prefix, rest) = text.split_at_checked(name.len())?;
        prefix.eq_ignore_ascii_case(name).then_some(rest)
    });
    let id = named.unwrap_or(text).trim_start_matches(['/', ':', '#', ' ']);
    (!id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit())).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_is_named_by_id_or_address() {
        for text in [
            "5",
            " 5 ",
            "#5",
            "node 5",
            "Node #5",
            "memory 5",
            "node:5",
            "node/5",
            "amem://node/5",
            "amem://node/5/neighborhood",
            "amem://node/5/neighborhood?depth=1",
        ] {
            assert_eq!(parse_node(text), Some(NodeId(5)), "{text}");
        }
        assert_eq!(parse_node("99999999999999999999"), Some(NodeId(i64::MAX)));
        for text in [
            "",
            "-5",
            "5.5",
            "five",
            "node",
            "amem://node/",
            "amem://session/5",
            "session:5",
            "amem://node/-5",
            "brain://node/5",
            "5 6",
        ] {
            assert_eq!(parse_node(text), None, "{text}");
        }
    }

    #[test]
    fn session_is_named_by_id_or_address() {
        for text in ["1", "session:1", "Session 1", "amem://session/1", "amem://session/1?limit=5"] {
            assert_eq!(parse_session(text), Some(SessionId(1)), "{text}");
        }
        for text in ["", "-1", "4294967296", "amem://node/1", "current"] {
            assert_eq!(parse_session(text), None, "{text}");
        }
    }
}
