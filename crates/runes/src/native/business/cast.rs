//! `cast` and `cast-member`. Native: members come from list items and from tags, and a portrait may be a placeholder.

use crate::expand::header::SectionHeader;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{is_rune_root, named_element, new_element, set_field, set_rdfa_property};
use crate::expand::text::text_node;
use crate::expand::{Arguments, RenderContext, RootBuilder, RuneUse, placeholder};
use crate::js_value::to_js_string;
use crate::render_tree::{Element, RenderNode};

pub(super) fn transform(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let RuneUse { arguments, mut content, .. } = rune_use;
    let mut header = cx.render_nodes(content.take("header"))?;
    SectionHeader::set_part_names(&mut header);
    let mut members = cx.render_nodes(content.take_each(&["members", "items"]))?;
    members.retain(|member| is_rune_root(member, "li", "cast-member"));
    members.iter_mut().for_each(|member| set_field(member, "member"));
    Ok(RootBuilder::new("cast", "section")
        .data_field("contentSection")
        .value("layout", arguments.non_null_or("layout", "grid"))
        .child_if((!header.is_empty()).then(|| new_element("header", header)))
        .child(named_element("ul", "items", members))
        .build())
}

pub(super) fn transform_member(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let RuneUse { arguments, mut content, .. } = rune_use;
    let body = cx.render_nodes(content.take("body"))?;
    let named_span = |argument: &str, rdfa_property: &str| {
        let mut line = named_element("span", argument, [text_node(arguments.get(argument))]);
        set_rdfa_property(&mut line, rdfa_property);
        line
    };
    Ok(RootBuilder::new("cast-member", "li")
        .type_of("Person")
        .child_if(portrait_element(&arguments))
        .child(named_span("name", "name"))
        .child(named_span("role", "jobTitle"))
        .child(named_element("div", "body", body))
        .build())
}

fn portrait_element(arguments: &Arguments) -> Option<RenderNode> {
    let source = arguments.truthy("image")?;
    let label = arguments.get("name").map(to_js_string).unwrap_or_default();
    let placeholder_image =
        source.as_str().and_then(|source| placeholder::placeholder_or_icon(source, &label));
    let image_element =
        || Element::new("img").with_attr("src", source.clone()).with_attr("alt", label.as_str()).into();
    let mut portrait = placeholder_image.unwrap_or_else(image_element);
    set_rdfa_property(&mut portrait, "image");
    Some(portrait)
}
