//! Projection: hides, groups and moves parts after they are placed.

use super::find::{self, part_name};
use super::parts::PartStyler;
use crate::catalogue::Projection;
use crate::render_tree::{Element, RenderNode};

/// Hides, then groups, then moves.
pub(super) fn apply(projection: &Projection, part_styler: &PartStyler<'_>, children: &mut Vec<RenderNode>) {
    children.retain(|child| {
        part_name(child).is_none_or(|name| !projection.hide.iter().any(|hidden| hidden == name))
    });
    for (name, group) in &projection.group {
        let is_member =
            |node: &RenderNode| part_name(node).is_some_and(|name| group.members.iter().any(|m| m == name));
        let Some(index) = children.iter().position(is_member) else { continue };
        let (members, remaining): (Vec<RenderNode>, Vec<RenderNode>) =
            children.drain(..).partition(is_member);
        *children = remaining;
        let mut group_element =
            Element::new(&*group.tag).with_attr("data-name", name.as_str()).with_children(members);
        part_styler.apply_classes(&mut group_element);
        children.insert(index, group_element.into());
    }
    for (name, target) in &projection.relocate {
        let Some(part) = take_part(children, name) else { continue };
        // A part with a missing target is dropped.
        let Some(target_tag) = find::find_named(children, &target.into) else { continue };
        let index = if target.position.as_deref() == Some("prepend") { 0 } else { target_tag.children.len() };
        target_tag.children.insert(index, part);
    }
}

/// Takes a part, also from a preamble. An empty preamble is removed.
fn take_part(children: &mut Vec<RenderNode>, name: &str) -> Option<RenderNode> {
    if let Some(index) = children.iter().position(|child| part_name(child) == Some(name)) {
        return Some(children.remove(index));
    }
    for index in 0..children.len() {
        let preamble = children.get_mut(index).filter(|child| part_name(child) == Some("preamble"));
        let Some(preamble) = preamble.and_then(RenderNode::as_element_mut) else { continue };
        if let Some(part) = take_part(&mut preamble.children, name) {
            if preamble.children.is_empty() {
                children.remove(index);
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
    use crate::identity::root_style::RootStyle;

    fn names(nodes: &[RenderNode]) -> String {
        let name = |node: &RenderNode| {
            let inner = node.as_element().map(|tag| names(&tag.children)).filter(|inner| !inner.is_empty());
            let inner = inner.map(|inner| format!("({inner})")).unwrap_or_default();
            format!("{}{inner}", part_name(node).unwrap_or("?"))
        };
        nodes.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn projection_hides_groups_and_moves_parts() {
        let config: EngineConfig = toml::from_str(
            "[projection]\nhide = ['a']\n[projection.group]\ng = { tag = 'p', members = ['d', 'b'] }\n\
             [projection.relocate]\nc = { into = 'g', position = 'prepend' }\nh = { into = 'g' }",
        )
        .unwrap();
        let part = |name: &str| Element::new("i").with_attr("data-name", name);
        let mut children: Vec<RenderNode> = ["a", "b", "c", "d"].map(|name| part(name).into()).into();
        children.push(part("preamble").with_children([part("h").into()]).into());
        let root_style = RootStyle::default();
        let part_styler = PartStyler { config: &config, block: "rf-x", root_style: &root_style };
        apply(config.projection.as_ref().unwrap(), &part_styler, &mut children);
        assert_eq!(names(&children), "g(c b d h)");
    }
}
