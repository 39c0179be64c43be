//! Renders one page: its text, with the variables of a page and the runes of its site.

use quad_markdoc::Document;
use quad_runes::expand::{PageVariables, RenderContext, RenderError};
use quad_runes::render;
use serde_json::{Map, Value};

use super::front_matter::parse_front_matter;
use super::index::Page;
use super::shown_files::replace_shown_files;
use crate::plan::parse::find_title;
use crate::project::Site;
use crate::project::project_dir::ProjectDir;

/// A rendered page.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderedPage {
    /// The answer of `refrakt://pages/{url}`.
    pub document: Value,
    /// Whether the page shows other files of the project.
    pub shows_files: bool,
}

/// Renders a page whose file holds this text. `project_dir` is the folder of the project, whose files it may show.
pub fn render_page(
    site: &Site,
    page: &Page,
    text: &str,
    project_dir: &ProjectDir,
) -> Result<RenderedPage, RenderError> {
    let (front_matter, body) = parse_front_matter(text);
    let draft = front_matter.is_draft();
    let values = Value::Object(front_matter.values.clone());
    let variables = PageVariables::for_page(&page.url, &page.file, draft, values.clone());
    let mut parsed: Document =
        quad_markdoc::parse_with(body, &site.parse_options()).map_err(RenderError::SourceTooLong)?;
    let title = front_matter.get_str("title").map(str::to_owned).or_else(|| find_title(&parsed.root));
    let (headings, evaluated_root) = {
        let context = RenderContext::new(&site.catalogue, &variables, body, &parsed.root);
        let mut root = parsed.root.clone();
        // The name of a file may be a variable.
        context.evaluate(&mut root);
        (context.variable("headings"), root)
    };
    parsed.root = evaluated_root;
    let lines_above = text.len().checked_sub(body.len()).and_then(|end| text.get(..end));
    let lines_above = lines_above.unwrap_or_default().matches('\n').count();
    let shown = replace_shown_files(&mut parsed.root, project_dir, lines_above);
    let rendered = render::render_page(&site.catalogue, parsed, body, &variables)?;
    let mut document = Map::new();
    document.insert("url".into(), page.url.as_str().into());
    document.insert("file".into(), page.file.as_str().into());
    document.insert("title".into(), title.into());
    document.insert("frontmatter".into(), values);
    document.insert("html".into(), rendered.html.into());
    document.insert("selectors".into(), rendered.selectors.into());
    document.insert("headings".into(), headings.unwrap_or_else(|| Value::Array(Vec::new())));
    document.insert("source".into(), text.into());
    if let Some(problem) = front_matter.problem.or(shown.problem) {
        document.insert("problem".into(), problem.to_json());
    }
    Ok(RenderedPage { document: document.into(), shows_files: shown.any })
}
