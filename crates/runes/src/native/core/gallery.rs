//! Pictures beside each other.
//!
//! Native because every picture, wherever it stands, becomes a figure of its own with its label as caption.

use crate::schema::component::{Component, element, field, part};
use crate::schema::context::Result;
use crate::schema::media::collect_media;
use crate::schema::{Call, Context};
use crate::tree::Node;
use crate::value::{number, to_text};

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let nodes = out.nodes(call.content.take("body"))?;
    let items = collect_media(&nodes).into_iter().map(|image| {
        let label = ["alt", "aria-label"].into_iter().find_map(|key| {
            image.as_tag().and_then(|tag| tag.text(key)).filter(|text| !text.is_empty()).map(str::to_owned)
        });
        let caption = label.map(|label| element("figcaption", [label.into()]));
        part("figure", "item", std::iter::once(image).chain(caption))
    });
    let arguments = &call.arguments;
    let columns = arguments.value_or("columns", number(3.0));
    let columns = (columns.as_f64() != Some(3.0)).then(|| to_text(&columns));
    let caption = arguments.text("caption").map(|caption| {
        let mut caption = element("figcaption", [caption.into()]);
        field(&mut caption, "caption");
        caption
    });
    let root = Component::new("gallery", "figure")
        .type_of("ImageGallery")
        .value("layout", arguments.value_or("layout", "grid"))
        .value("lightbox", to_text(&arguments.value_or("lightbox", true)))
        .value_if("columns", columns)
        .child(part("div", "items", items))
        .child_if(caption);
    Ok(root.build())
}
