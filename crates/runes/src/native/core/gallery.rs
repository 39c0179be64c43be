//! Images side by side.
//!
//! Native: every image, at any depth, becomes a figure with its label as caption.

use crate::expand::media::collect_media;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, named_element, new_element, set_field};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::{json_number, to_js_string};
use crate::render_tree::RenderNode;

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let nodes = cx.render_nodes(rune_use.content.take("body"))?;
    let items = collect_media(&nodes).into_iter().map(|image| {
        let label = ["alt", "aria-label"].into_iter().find_map(|key| {
            image
                .as_element()
                .and_then(|tag| tag.attr_str(key))
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        });
        let caption = label.map(|label| new_element("figcaption", [label.into()]));
        named_element("figure", "item", std::iter::once(image).chain(caption))
    });
    let arguments = &rune_use.arguments;
    let columns = arguments.non_null_or("columns", json_number(3.0));
    let columns = (columns.as_f64() != Some(3.0)).then(|| to_js_string(&columns));
    let caption = arguments.text("caption").map(|caption| {
        let mut caption = new_element("figcaption", [caption.into()]);
        set_field(&mut caption, "caption");
        caption
    });
    let root = RootBuilder::new("gallery", "figure")
        .type_of("ImageGallery")
        .value("layout", arguments.non_null_or("layout", "grid"))
        .value("lightbox", to_js_string(&arguments.non_null_or("lightbox", true)))
        .value_if("columns", columns)
        .child(named_element("div", "items", items))
        .child_if(caption);
    Ok(root.build())
}
