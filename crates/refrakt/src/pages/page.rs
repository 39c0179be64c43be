//! Renders one page: its text, with the variables of a page and the runes of its site.

use quad_runes::catalogue::Catalogue;
use quad_runes::expand::{PageVariables, RenderContext, RenderError};
use quad_runes::render;
use serde_json::{Map, Value};

use super::front_matter::parse_front_matter;
use super::index::Page;
use crate::plan::parse::find_title;

/// The answer of `refrakt://pages/{url}` for a page whose file holds this text.
pub fn render_page(catalogue: &Catalogue, page: &Page, text: &str) -> Result<Value, RenderError> {
    let (front_matter, body) = parse_front_matter(text);
    let draft = front_matter.is_draft();
    let values = Value::Object(front_matter.values.clone());
    let variables = PageVariables::for_page(&page.url, &page.file, draft, values.clone());
    let rendered = render::render(catalogue, body, &variables)?;
    let root = quad_markdoc::parse(body).map_err(RenderError::SourceTooLong)?.root;
    let heading = || find_title(&root);
    let mut document = Map::new();
    document.insert("url".into(), page.url.as_str().into());
    document.insert("file".into(), page.file.as_str().into());
    document.insert("title".into(), front_matter.get_str("title").map(str::to_owned).or_else(heading).into());
    document.insert("frontmatter".into(), values);
    document.insert("html".into(), rendered.html.into());
    document.insert("selectors".into(), rendered.selectors.into());
    let headings = RenderContext::new(catalogue, &variables, body, &root).variable("headings");
    document.insert("headings".into(), headings.unwrap_or_else(|| Value::Array(Vec::new())));
    if let Some(problem) = front_matter.problem {
        document.insert("problem".into(), problem.to_json());
    }
    Ok(document.into())
}
