//! Code blocks behind tabs.
//!
//! Native because the name of a tab is derived: from the list of labels, from what the block notes, or from its language.

use quad_markdoc::Node as Parsed;

use crate::schema::component::{Component, element, name, part};
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::{Node, Tag};
use crate::value::to_text;

/// Languages whose name is not their abbreviation with a capital.
const LANGUAGES: [(&str, &str); 22] = [
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

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let labels = call.arguments.get("labels").filter(|labels| !labels.is_null()).map(to_text);
    let labels: Vec<String> = labels
        .map(|labels| labels.split(',').map(|label| label.trim().to_owned()).collect())
        .unwrap_or_default();
    let overflow = call.arguments.given("overflow").filter(|overflow| overflow.as_str() != Some("scroll"));
    let root = Component::new("code-group", "section")
        .value_if("title", call.arguments.get("title").cloned())
        .value_if("overflow", overflow.cloned());
    let fences = call.content.take("panels");
    if fences.len() == 1 && labels.is_empty() {
        return Ok(root.children(out.nodes(fences)?).build());
    }
    let (mut tabs, mut panels) = (Vec::new(), Vec::new());
    for (at, fence) in fences.into_iter().enumerate() {
        let label =
            labels.get(at).filter(|label| !label.is_empty()).cloned().unwrap_or_else(|| label_of(&fence));
        let label = element("span", [label.into()]);
        tabs.push(Tag::new("button").with("data-name", "tab").with("role", "tab").holding([label]).into());
        let mut panel: Node =
            Tag::new("div").with("role", "tabpanel").holding(out.nodes(vec![fence])?).into();
        name(&mut panel, "panel");
        panels.push(panel);
    }
    let mut list: Node = Tag::new("div").with("role", "tablist").holding(tabs).into();
    name(&mut list, "tabs");
    Ok(root.child(list).child(part("div", "panels", panels)).build())
}

/// What a code block says of itself: its label, the file it shows, its language.
fn label_of(fence: &Parsed) -> String {
    let noted = |name: &str| fence.attributes.text(name).filter(|text| !text.is_empty());
    if let Some(label) = noted("label") {
        return label.to_owned();
    }
    let file = noted("source").map(|path| path.strip_suffix('/').unwrap_or(path));
    let file = file.map(|path| path.rsplit('/').next().unwrap_or(path)).filter(|file| !file.is_empty());
    if let Some(file) = file {
        return noted("lines").map_or_else(|| file.to_owned(), |lines| format!("{file}:{lines}"));
    }
    language_name(noted("language").unwrap_or("shell"))
}

fn language_name(language: &str) -> String {
    if let Some((_, name)) = LANGUAGES.iter().find(|(short, _)| *short == language) {
        return (*name).to_owned();
    }
    let mut letters = language.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}
