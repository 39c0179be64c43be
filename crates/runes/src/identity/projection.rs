//! Projection: parts that are hidden, put together or moved, after everything else is in place.

use super::element::Parts;
use super::find::{self, name_of};
use crate::catalogue::Projection;
use crate::tree::{Node, Tag};

/// Hides, then groups, then moves.
pub(super) fn apply(projection: &Projection, parts: &Parts<'_>, children: &mut Vec<Node>) {
    children.retain(|child| {
        name_of(child).is_none_or(|name| !projection.hide.iter().any(|hidden| hidden == name))
    });
    for (name, group) in &projection.group {
        let is_member =
            |node: &Node| name_of(node).is_some_and(|name| group.members.iter().any(|m| m == name));
        let Some(at) = children.iter().position(is_member) else { continue };
        let (members, others): (Vec<Node>, Vec<Node>) = children.drain(..).partition(is_member);
        *children = others;
        let mut together = Tag::new(&*group.tag).with("data-name", name.as_str()).holding(members);
        parts.dress(&mut together);
        children.insert(at, together.into());
    }
    for (name, target) in &projection.relocate {
        let Some(part) = take(children, name) else { continue };
        // A part that is to go where nothing is, is dropped.
        let Some(target_tag) = find::named(children, &target.into) else { continue };
        let at = if target.position.as_deref() == Some("prepend") { 0 } else { target_tag.children.len() };
        target_tag.children.insert(at, part);
    }
}

/// Takes a part out, also out of a preamble, which vanishes when it is empty.
fn take(children: &mut Vec<Node>, name: &str) -> Option<Node> {
    if let Some(at) = children.iter().position(|child| name_of(child) == Some(name)) {
        return Some(children.remove(at));
    }
    for at in 0..children.len() {
        let preamble = children.get_mut(at).filter(|child| name_of(child) == Some("preamble"));
        let Some(preamble) = preamble.and_then(Node::as_tag_mut) else { continue };
        if let Some(part) = take(&mut preamble.children, name) {
            if preamble.children.is_empty() {
                children.remove(at);
            }
            return Some(part);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::EngineConfig;
    use crate::identity::look::Look;

    fn names(nodes: &[Node]) -> String {
        let name = |node: &Node| {
            let inner = node.as_tag().map(|tag| names(&tag.children)).filter(|inner| !inner.is_empty());
            let inner = inner.map(|inner| format!("({inner})")).unwrap_or_default();
            format!("{}{inner}", name_of(node).unwrap_or("?"))
        };
        nodes.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn parts_are_hidden_grouped_and_moved() {
        let config: EngineConfig = toml::from_str(
            "[projection]\nhide = ['a']\n[projection.group]\ng = { tag = 'p', members = ['d', 'b'] }\n\
             [projection.relocate]\nc = { into = 'g', position = 'prepend' }\nh = { into = 'g' }",
        )
        .unwrap();
        let part = |name: &str| Tag::new("i").with("data-name", name);
        let mut children: Vec<Node> = ["a", "b", "c", "d"].map(|name| part(name).into()).into();
        children.push(part("preamble").holding([part("h").into()]).into());
        let look = Look::default();
        let parts = Parts { config: &config, block: "rf-x", look: &look };
        apply(config.projection.as_ref().unwrap(), &parts, &mut children);
        assert_eq!(names(&children), "g(c b d h)");
    }
}
