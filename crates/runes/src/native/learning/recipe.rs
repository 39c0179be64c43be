//! `recipe`: native because the items of both lists are marked one by one.

use serde_json::Value;

use super::{Kind, items};
use crate::schema::component::{name, part, property, structured};
use crate::schema::context::Result;
use crate::schema::header::{Header, is_element};
use crate::schema::layout::SplitLayout;
use crate::schema::media::take_media;
use crate::schema::{Arguments, Call, Component, Context};
use crate::tree::Node;
use crate::value::to_text;

const STEP: Kind = Kind { part: "step", type_of: "HowToStep", property: "recipeInstructions", words: "text" };

pub(super) fn transform(call: Call<'_>, context: &mut Context<'_>) -> Result<Node> {
    let Call { arguments, mut content, .. } = call;
    let mut words = content.take_group("content");
    let mut header = context.nodes(words.take_each(&["eyebrow", "headline", "blurb"]))?;
    Header::name(&mut header).describe(&mut header);
    let mut ingredients = items(&mut context.nodes(words.take("ingredients"))?, "ul");
    for ingredient in &mut ingredients {
        name(ingredient, "ingredient");
        property(ingredient, "recipeIngredient");
    }
    let mut steps = items(&mut context.nodes(words.take("steps"))?, "ol");
    STEP.mark(&mut steps);
    let mut tips = context.nodes(words.take("tips"))?;
    tips.retain(|tip| is_element(tip, "blockquote"));
    let media = match take_media(context.nodes(content.take_group("media").take("media"))?) {
        Ok(mut picture) => {
            property(&mut picture, "image");
            vec![picture]
        }
        Err(media) => media,
    };
    let root = values(Component::new("recipe", "article"), &arguments)
        .property("contentSection")
        .type_of("Recipe")
        .child_if((!media.is_empty()).then(|| part("div", "media", media)))
        .children(header)
        .child(part("ul", "ingredients", ingredients))
        .child(part("ol", "steps", steps))
        .child_if((!tips.is_empty()).then(|| part("div", "tips", tips)));
    Ok(SplitLayout::read(&arguments).hand_to(root).build())
}

/// What is told to the engine, and again to search engines.
fn values(root: Component, arguments: &Arguments) -> Component {
    let servings = arguments.get("servings").filter(|servings| !servings.is_null()).map(to_text);
    let servings = Value::from(servings.unwrap_or_default());
    root.value_if("prepTime", arguments.get("prepTime").cloned())
        .value_if("cookTime", arguments.get("cookTime").cloned())
        .value("servings", servings.clone())
        .value_if("difficulty", arguments.get("difficulty").cloned())
        .value_if("content-place", arguments.given("content-place").cloned())
        .child_if(structured("prepTime", arguments.get("prepTime")))
        .child_if(structured("cookTime", arguments.get("cookTime")))
        .child_if(structured("recipeYield", Some(&servings)))
}
