//! `recipe`. Native: the items of both lists are marked one by one.

use serde_json::Value;

use super::{ItemKind, take_list_items};
use crate::expand::header::{SectionHeader, is_element};
use crate::expand::layout::SplitLayout;
use crate::expand::media::take_media;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{named_element, rdfa_meta_element, set_name, set_rdfa_property};
use crate::expand::{Arguments, RenderContext, RootBuilder, RuneUse};
use crate::js_value::to_js_string;
use crate::render_tree::RenderNode;

const STEP: ItemKind =
    ItemKind { part: "step", type_of: "HowToStep", property: "recipeInstructions", text_property: "text" };

pub(super) fn transform(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let RuneUse { arguments, mut content, .. } = rune_use;
    let mut content_fields = content.take_group("content");
    let mut header = cx.render_nodes(content_fields.take_each(&["eyebrow", "headline", "blurb"]))?;
    SectionHeader::set_part_names(&mut header).set_rdfa_properties(&mut header);
    let mut ingredients = take_list_items(&mut cx.render_nodes(content_fields.take("ingredients"))?, "ul");
    for ingredient in &mut ingredients {
        set_name(ingredient, "ingredient");
        set_rdfa_property(ingredient, "recipeIngredient");
    }
    let mut steps = take_list_items(&mut cx.render_nodes(content_fields.take("steps"))?, "ol");
    STEP.mark_items(&mut steps);
    let mut tips = cx.render_nodes(content_fields.take("tips"))?;
    tips.retain(|tip| is_element(tip, "blockquote"));
    let media = match take_media(cx.render_nodes(content.take_group("media").take("media"))?) {
        Ok(mut picture) => {
            set_rdfa_property(&mut picture, "image");
            vec![picture]
        }
        Err(media) => media,
    };
    let root = with_values(RootBuilder::new("recipe", "article"), &arguments)
        .data_field("contentSection")
        .type_of("Recipe")
        .child_if((!media.is_empty()).then(|| named_element("div", "media", media)))
        .children(header)
        .child(named_element("ul", "ingredients", ingredients))
        .child(named_element("ol", "steps", steps))
        .child_if((!tips.is_empty()).then(|| named_element("div", "tips", tips)));
    Ok(root.build())
}

/// Passes values to the engine, and again as structured data.
fn with_values(root: RootBuilder, arguments: &Arguments) -> RootBuilder {
    let servings = arguments.get("servings").filter(|servings| !servings.is_null()).map(to_js_string);
    let servings = Value::from(servings.unwrap_or_default());
    let root = root
        .value_if("prepTime", arguments.get("prepTime").cloned())
        .value_if("cookTime", arguments.get("cookTime").cloned())
        .value("servings", servings.clone())
        .value_if("difficulty", arguments.get("difficulty").cloned());
    SplitLayout::read(arguments)
        .apply_to(root)
        .value_if("content-place", arguments.truthy("content-place").cloned())
        .child_if(rdfa_meta_element("prepTime", arguments.get("prepTime")))
        .child_if(rdfa_meta_element("cookTime", arguments.get("cookTime")))
        .child_if(rdfa_meta_element("recipeYield", Some(&servings)))
}
