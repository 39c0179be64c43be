//! One rendering of one document: what runes may know, and the limits that hold for all of them together.

use std::fmt;

use quad_markdoc::{Map, Node as Parsed, SourceTooLong};
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::{markdoc, nodes, rune};
use crate::catalogue::{Catalogue, Rune};
use crate::content::Resolved;
use crate::limits::{RENDER_DEPTH_MAX, RENDER_NODES_MAX, RUNE_DEPTH_MAX, SHOWN_MARKUP_BYTES_MAX};
use crate::tree::Node;

/// The variables that a page has: `$path`, `$page.url`, `$frontmatter.title`. The engine adds `$headings`.
#[derive(Clone, Debug, PartialEq)]
pub struct PageVariables {
    /// Values by name.
    pub values: serde_json::Map<String, Value>,
}

impl PageVariables {
    /// The variables of a page at an address, made of a file, with its front matter.
    pub fn of_page(url: &str, file_path: &str, draft: bool, frontmatter: Value) -> PageVariables {
        let mut values = serde_json::Map::new();
        values.insert("path".into(), url.into());
        values.insert("page".into(), json!({ "url": url, "filePath": file_path, "draft": draft }));
        values.insert("frontmatter".into(), frontmatter);
        PageVariables { values }
    }
}

/// The page that a document has which is no page: a rune's example, a text in a request.
impl Default for PageVariables {
    fn default() -> Self {
        PageVariables::of_page("/inspect.md", "inspect.md", false, json!({}))
    }
}

/// Why a document is not rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenderError {
    /// The source is longer than the parser takes.
    SourceTooLong(SourceTooLong),
    /// Runes and Markdown nest too deep.
    TooDeep,
    /// Runes stand within runes within runes.
    TooManyRunes,
    /// The document becomes too many nodes.
    TooLarge,
    /// A rune cannot do its work.
    Rune {
        /// Its name.
        rune: String,
        /// What is wrong and what to do.
        message: String,
    },
}

impl fmt::Display for RenderError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SourceTooLong(error) => error.fmt(out),
            Self::TooDeep => write!(out, "the document nests deeper than {RENDER_DEPTH_MAX} levels"),
            Self::TooManyRunes => write!(out, "more than {RUNE_DEPTH_MAX} runes stand within one another"),
            Self::TooLarge => write!(out, "the document becomes more than {RENDER_NODES_MAX} nodes"),
            Self::Rune { rune, message } => write!(out, "{rune}: {message}"),
        }
    }
}

impl std::error::Error for RenderError {}

/// The result of every step of a rendering.
pub type Result<T> = std::result::Result<T, RenderError>;

/// A heading of the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadingEntry {
    /// 1 to 6.
    pub level: u8,
    /// Its texts, joined by spaces.
    pub text: String,
    /// The id that it is linked by.
    pub id: String,
}

/// A rune as it is used at one place.
#[derive(Debug)]
pub struct Call<'a> {
    /// The rune.
    pub rune: &'a Rune,
    /// Its arguments.
    pub arguments: Arguments,
    /// What its content model found. A rune without a model has its nodes under `children`.
    pub content: Resolved,
    /// The tag as it was parsed, without its children.
    pub node: Parsed,
}

impl Call<'_> {
    /// The error that this rune cannot do its work.
    pub fn error(&self, message: impl Into<String>) -> RenderError {
        RenderError::Rune { rune: self.rune.name.clone(), message: message.into() }
    }

    /// The name that the engine knows the rune by: its type in kebab case.
    pub fn type_name(&self) -> String {
        crate::catalogue::kebab_case(&self.rune.type_name)
    }
}

/// What a [`NodeRule`] made of a node.
#[derive(Debug)]
pub enum Ruled {
    /// These nodes stand for it.
    Done(Vec<Node>),
    /// The rule is about other nodes.
    Pass(Parsed),
}

/// Another way to render some nodes, for as long as [`Context::nodes_with`] lasts.
pub type NodeRule = fn(Parsed, &mut Context<'_>) -> Result<Ruled>;

/// One rendering.
#[derive(Debug)]
pub struct Context<'a> {
    /// The runes there are.
    pub catalogue: &'a Catalogue,
    /// The source, as it was given.
    pub source: &'a str,
    /// All headings of the document.
    pub headings: Vec<HeadingEntry>,
    page: &'a PageVariables,
    rules: Vec<NodeRule>,
    depth: usize,
    runes: usize,
    count: usize,
    shown: usize,
}

impl<'a> Context<'a> {
    /// The rendering of a document, of which the headings are noted.
    pub fn new(
        catalogue: &'a Catalogue,
        page: &'a PageVariables,
        source: &'a str,
        root: &Parsed,
    ) -> Context<'a> {
        let headings = nodes::headings(root);
        Context {
            catalogue,
            source,
            headings,
            page,
            rules: Vec::new(),
            depth: 0,
            runes: 0,
            count: 0,
            shown: 0,
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
    pub fn evaluate(&self, root: &mut Parsed) {
        markdoc::evaluate(self, root);
    }

    /// Renders nodes.
    pub fn nodes(&mut self, nodes: Vec<Parsed>) -> Result<Vec<Node>> {
        let mut rendered = Vec::with_capacity(nodes.len());
        for node in nodes {
            self.node_into(node, &mut rendered)?;
        }
        Ok(rendered)
    }

    /// Renders nodes, some of them by another rule; the innermost rule that is about a node renders it.
    pub fn nodes_with(&mut self, rule: NodeRule, nodes: Vec<Parsed>) -> Result<Vec<Node>> {
        self.rules.push(rule);
        let rendered = self.nodes(nodes);
        self.rules.pop();
        rendered
    }

    /// A copy of rendered nodes, for runes that show something twice. It counts like nodes that are rendered: runes that do so
    /// within one another double what they hold at every level.
    pub fn repeated(&mut self, nodes: &[Node]) -> Result<Vec<Node>> {
        self.count += weight(nodes);
        if self.count > RENDER_NODES_MAX {
            return Err(RenderError::TooLarge);
        }
        Ok(nodes.to_vec())
    }

    /// The content of a text node: a text, or the value of a variable.
    pub fn text(&self, node: &Parsed) -> Node {
        markdoc::content(node.attributes.get("content"))
    }

    /// Notes that so many bytes of markup are shown as text. `false` where all such texts together are too long.
    pub fn shows_markup(&mut self, bytes: usize) -> bool {
        self.shown = self.shown.saturating_add(bytes);
        self.shown <= SHOWN_MARKUP_BYTES_MAX
    }

    /// Renders a tag that nobody wrote.
    pub fn tag(&mut self, name: &str, attributes: Map, children: Vec<Parsed>) -> Result<Vec<Node>> {
        self.nodes(vec![crate::content::ast::tag(name, attributes, children)])
    }

    fn node_into(&mut self, node: Parsed, rendered: &mut Vec<Node>) -> Result<()> {
        self.count += 1;
        if self.count > RENDER_NODES_MAX {
            return Err(RenderError::TooLarge);
        }
        if self.depth >= RENDER_DEPTH_MAX {
            return Err(RenderError::TooDeep);
        }
        self.depth += 1;
        let done = self.dispatch(node, rendered);
        self.depth -= 1;
        done
    }

    fn dispatch(&mut self, node: Parsed, rendered: &mut Vec<Node>) -> Result<()> {
        let mut node = node;
        for at in (0..self.rules.len()).rev() {
            let Some(rule) = self.rules.get(at).copied() else { break };
            match rule(node, self)? {
                Ruled::Done(nodes) => {
                    rendered.extend(nodes);
                    return Ok(());
                }
                Ruled::Pass(passed) => node = passed,
            }
        }
        let Some(name) = &node.tag else { return nodes::render(node, self, rendered) };
        match self.catalogue.find(name) {
            Some(found) => self.rune_into(found, node, rendered),
            None => markdoc::render_tag(node, self, rendered),
        }
    }

    fn rune_into(&mut self, found: &Rune, node: Parsed, rendered: &mut Vec<Node>) -> Result<()> {
        if self.runes >= RUNE_DEPTH_MAX {
            return Err(RenderError::TooManyRunes);
        }
        self.runes += 1;
        let done = rune::render(found, node, self);
        self.runes -= 1;
        match done? {
            Node::Tag(tag) if tag.name.is_none() => rendered.extend(tag.children),
            node => rendered.push(node),
        }
        Ok(())
    }
}

/// How many nodes there are, all levels counted.
fn weight(nodes: &[Node]) -> usize {
    nodes.iter().map(|node| 1 + node.as_tag().map_or(0, |tag| weight(&tag.children))).sum()
}
