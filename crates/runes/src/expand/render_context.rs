//! The state of one rendering: what runes can read, and the limits for the whole document.

use std::fmt;

use quad_markdoc::{AttributeMap, Node as MarkdocNode, SourceTooLong};
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::{builtin_tags, markdown_nodes, rune};
use crate::catalogue::{Catalogue, Rune};
use crate::content::ContentFields;
use crate::limits::{PREVIEW_MARKUP_BYTES_MAX, RENDER_DEPTH_MAX, RENDER_NODES_MAX, RUNE_DEPTH_MAX};
use crate::render_tree::RenderNode;

/// The variables of a page: `$path`, `$page.url`, `$frontmatter.title`. `$headings` is added by the engine.
#[derive(Clone, Debug, PartialEq)]
pub struct PageVariables {
    /// Values by name.
    pub values: serde_json::Map<String, Value>,
}

impl PageVariables {
    /// The variables of a page, from its URL, its file and its front matter.
    pub fn for_page(url: &str, file_path: &str, draft: bool, frontmatter: Value) -> PageVariables {
        let mut values = serde_json::Map::new();
        values.insert("path".into(), url.into());
        values.insert("page".into(), json!({ "url": url, "filePath": file_path, "draft": draft }));
        values.insert("frontmatter".into(), frontmatter);
        PageVariables { values }
    }
}

/// The page of a document that is not a page: a rune's example, or text in a request.
impl Default for PageVariables {
    fn default() -> Self {
        PageVariables::for_page("/inspect.md", "inspect.md", false, json!({}))
    }
}

/// Why a document cannot be rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenderError {
    /// The source is longer than the parser's limit.
    SourceTooLong(SourceTooLong),
    /// Runes and Markdown are nested too deep.
    TooDeep,
    /// Too many runes are nested in each other.
    RunesNestedTooDeep,
    /// The document expands to too many nodes.
    TooLarge,
    /// A rune cannot be rendered.
    Rune {
        /// Name of the rune.
        rune: String,
        /// What is wrong, and what to do.
        message: String,
    },
}

impl fmt::Display for RenderError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SourceTooLong(error) => error.fmt(out),
            Self::TooDeep => write!(out, "the document is nested deeper than {RENDER_DEPTH_MAX} levels"),
            Self::RunesNestedTooDeep => {
                write!(out, "more than {RUNE_DEPTH_MAX} runes are nested in one another")
            }
            Self::TooLarge => write!(out, "the document expands to more than {RENDER_NODES_MAX} nodes"),
            Self::Rune { rune, message } => write!(out, "{rune}: {message}"),
        }
    }
}

impl std::error::Error for RenderError {}

/// Result of a rendering step.
pub type Result<T> = std::result::Result<T, RenderError>;

/// A heading of the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadingEntry {
    /// 1 to 6.
    pub level: u8,
    /// Its text nodes, joined by spaces.
    pub text: String,
    /// Its id in links.
    pub id: String,
}

/// One use of a rune in a document.
#[derive(Debug)]
pub struct RuneUse<'a> {
    /// The rune.
    pub rune: &'a Rune,
    /// Its arguments.
    pub arguments: Arguments,
    /// Its content, by field. A rune without a model has all nodes in `children`.
    pub content: ContentFields,
    /// The parsed tag, without its children.
    pub node: MarkdocNode,
}

impl RuneUse<'_> {
    /// The error that this rune cannot be rendered.
    pub fn error(&self, message: impl Into<String>) -> RenderError {
        RenderError::Rune { rune: self.rune.name.clone(), message: message.into() }
    }

    /// The rune's name in `data-rune`: its type in kebab case.
    pub fn type_name(&self) -> String {
        crate::catalogue::kebab_case(&self.rune.type_name)
    }
}

/// The result of a [`NodeOverride`].
#[derive(Debug)]
pub enum Override {
    /// The rendered nodes.
    Rendered(Vec<RenderNode>),
    /// The override does not apply to this node.
    NotHandled(MarkdocNode),
}

/// A renderer for some nodes that replaces the usual one during [`RenderContext::render_nodes_with`].
pub type NodeOverride = fn(MarkdocNode, &mut RenderContext<'_>) -> Result<Override>;

/// The state of one rendering.
#[derive(Debug)]
pub struct RenderContext<'a> {
    /// The available runes.
    pub catalogue: &'a Catalogue,
    /// The source text.
    pub source: &'a str,
    /// All headings of the document.
    pub headings: Vec<HeadingEntry>,
    page: &'a PageVariables,
    overrides: Vec<NodeOverride>,
    depth: usize,
    rune_depth: usize,
    node_count: usize,
    markup_bytes: usize,
}

impl<'a> RenderContext<'a> {
    /// Starts the rendering of a document and collects its headings.
    pub fn new(
        catalogue: &'a Catalogue,
        page: &'a PageVariables,
        source: &'a str,
        root: &MarkdocNode,
    ) -> RenderContext<'a> {
        let headings = markdown_nodes::collect_headings(root);
        RenderContext {
            catalogue,
            source,
            headings,
            page,
            overrides: Vec::new(),
            depth: 0,
            rune_depth: 0,
            node_count: 0,
            markup_bytes: 0,
        }
    }

    /// The value of a variable.
    pub fn variable(&self, name: &str) -> Option<Value> {
        if name != "headings" {
            return self.page.values.get(name).cloned();
        }
        let entries = self.headings.iter();
        Some(
            entries
                .map(|entry| json!({ "level": entry.level, "text": entry.text, "id": entry.id }))
                .collect(),
        )
    }

    /// Evaluates the variables and functions in the attributes of a tree of nodes.
    pub fn evaluate(&self, root: &mut MarkdocNode) {
        builtin_tags::evaluate(self, root);
    }

    /// Renders nodes.
    pub fn render_nodes(&mut self, nodes: Vec<MarkdocNode>) -> Result<Vec<RenderNode>> {
        let mut rendered = Vec::with_capacity(nodes.len());
        for node in nodes {
            self.render_node_into(node, &mut rendered)?;
        }
        Ok(rendered)
    }

    /// Renders nodes with an override. If several are active, the innermost one that applies is used.
    pub fn render_nodes_with(
        &mut self,
        node_override: NodeOverride,
        nodes: Vec<MarkdocNode>,
    ) -> Result<Vec<RenderNode>> {
        self.overrides.push(node_override);
        let rendered = self.render_nodes(nodes);
        self.overrides.pop();
        rendered
    }

    /// Copies rendered nodes, for runes that show something twice. Copies count towards the node limit: nested runes
    /// that copy double their content at every level.
    pub fn clone_counted(&mut self, nodes: &[RenderNode]) -> Result<Vec<RenderNode>> {
        self.node_count += count_nodes(nodes);
        if self.node_count > RENDER_NODES_MAX {
            return Err(RenderError::TooLarge);
        }
        Ok(nodes.to_vec())
    }

    /// The content of a text node: text, or the value of a variable.
    pub fn text_content(&self, node: &MarkdocNode) -> RenderNode {
        builtin_tags::content_node(node.attributes.get("content"))
    }

    /// Counts bytes of markup that are shown as text. Returns `false` if the document's total is over the limit.
    pub fn reserve_markup(&mut self, bytes: usize) -> bool {
        self.markup_bytes = self.markup_bytes.saturating_add(bytes);
        self.markup_bytes <= PREVIEW_MARKUP_BYTES_MAX
    }

    /// Renders a tag that is not in the source.
    pub fn render_tag(
        &mut self,
        name: &str,
        attributes: AttributeMap,
        children: Vec<MarkdocNode>,
    ) -> Result<Vec<RenderNode>> {
        self.render_nodes(vec![crate::content::node_ext::new_tag(name, attributes, children)])
    }

    fn render_node_into(&mut self, node: MarkdocNode, rendered: &mut Vec<RenderNode>) -> Result<()> {
        self.node_count += 1;
        if self.node_count > RENDER_NODES_MAX {
            return Err(RenderError::TooLarge);
        }
        if self.depth >= RENDER_DEPTH_MAX {
            return Err(RenderError::TooDeep);
        }
        self.depth += 1;
        let result = self.dispatch(node, rendered);
        self.depth -= 1;
        result
    }

    fn dispatch(&mut self, node: MarkdocNode, rendered: &mut Vec<RenderNode>) -> Result<()> {
        let mut node = node;
        for index in (0..self.overrides.len()).rev() {
            let Some(node_override) = self.overrides.get(index).copied() else { break };
            match node_override(node, self)? {
                Override::Rendered(nodes) => {
                    rendered.extend(nodes);
                    return Ok(());
                }
                Override::NotHandled(unhandled) => node = unhandled,
            }
        }
        let Some(name) = &node.tag else { return markdown_nodes::render(node, self, rendered) };
        match self.catalogue.find_rune(name) {
            Some(rune) => self.render_rune_into(rune, node, rendered),
            None => builtin_tags::render_tag(node, self, rendered),
        }
    }

    fn render_rune_into(
        &mut self,
        rune: &Rune,
        node: MarkdocNode,
        rendered: &mut Vec<RenderNode>,
    ) -> Result<()> {
        if self.rune_depth >= RUNE_DEPTH_MAX {
            return Err(RenderError::RunesNestedTooDeep);
        }
        self.rune_depth += 1;
        let result = rune::render(rune, node, self);
        self.rune_depth -= 1;
        match result? {
            RenderNode::Element(tag) if tag.name.is_none() => rendered.extend(tag.children),
            node => rendered.push(node),
        }
        Ok(())
    }
}

/// The number of nodes at all levels.
fn count_nodes(nodes: &[RenderNode]) -> usize {
    nodes.iter().map(|node| 1 + node.as_element().map_or(0, |tag| count_nodes(&tag.children))).sum()
}
