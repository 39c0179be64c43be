//! Code blocks in tabs.
//!
//! Native: the name of a tab comes from the list of labels, from the annotations of the block, or from its language.

use quad_markdoc::Node as MarkdocNode;

use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, named_element, new_element, set_name};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::{JsTrim, to_js_string};
use crate::render_tree::{Element, RenderNode};

/// Languages whose display name is not the capitalised abbreviation.
const LANGUAGE_NAMES: [(&str, &str); 22] = [
    ("js", "JavaScript"),
    ("ts", "TypeScript"),
    ("py", "Python"),
    ("rb", "Ruby"),
    ("rs", "Rust"),
    ("go", "Go"),
    ("sh", "Shell"),
    ("bash", "Bash"),
    ("zsh", "Zsh"),
    ("shell", "Shell"),
    ("html", "HTML"),
    ("css", "CSS"),
    ("json", "JSON"),
    ("yaml", "YAML"),
    ("sql", "SQL"),
    ("swift", "Swift"),
    ("kt", "Kotlin"),
    ("java", "Java"),
    ("cpp", "C++"),
    ("c", "C"),
    ("cs", "C#"),
    ("php", "PHP"),
];

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let labels = rune_use.arguments.get("labels").filter(|labels| !labels.is_null()).map(to_js_string);
    let labels: Vec<String> = labels
        .map(|labels| labels.split(',').map(|label| label.js_trim().to_owned()).collect())
        .unwrap_or_default();
    let overflow =
        rune_use.arguments.truthy("overflow").filter(|overflow| overflow.as_str() != Some("scroll"));
    let root = RootBuilder::new("code-group", "section")
        .value_if("title", rune_use.arguments.get("title").cloned())
        .value_if("overflow", overflow.cloned());
    let fences = rune_use.content.take("panels");
    if fences.len() == 1 && labels.is_empty() {
        return Ok(root.children(cx.render_nodes(fences)?).build());
    }
    let (mut tabs, mut panels) = (Vec::new(), Vec::new());
    for (index, fence) in fences.into_iter().enumerate() {
        let label = labels
            .get(index)
            .filter(|label| !label.is_empty())
            .cloned()
            .unwrap_or_else(|| fence_label(&fence));
        let label = new_element("span", [label.into()]);
        tabs.push(
            Element::new("button")
                .with_attr("data-name", "tab")
                .with_attr("role", "tab")
                .with_children([label])
                .into(),
        );
        let mut panel: RenderNode = Element::new("div")
            .with_attr("role", "tabpanel")
            .with_children(cx.render_nodes(vec![fence])?)
            .into();
        set_name(&mut panel, "panel");
        panels.push(panel);
    }
    let mut list: RenderNode = Element::new("div").with_attr("role", "tablist").with_children(tabs).into();
    set_name(&mut list, "tabs");
    Ok(root.child(list).child(named_element("div", "panels", panels)).build())
}

/// The label of a code block: its own label, its file, or its language.
fn fence_label(fence: &MarkdocNode) -> String {
    let non_empty_attr = |name: &str| fence.attributes.get_str(name).filter(|text| !text.is_empty());
    if let Some(label) = non_empty_attr("label") {
        return label.to_owned();
    }
    let file = non_empty_attr("source").map(|path| path.strip_suffix('/').unwrap_or(path));
    let file = file.map(|path| path.rsplit('/').next().unwrap_or(path)).filter(|file| !file.is_empty());
    if let Some(file) = file {
        return non_empty_attr("lines").map_or_else(|| file.to_owned(), |lines| format!("{file}:{lines}"));
    }
    language_name(non_empty_attr("language").unwrap_or("shell"))
}

fn language_name(language: &str) -> String {
    if let Some((_, name)) = LANGUAGE_NAMES.iter().find(|(short, _)| *short == language) {
        return (*name).to_owned();
    }
    let mut chars = language.chars();
    chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect()
}
