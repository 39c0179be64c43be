//! The third stage: tokens become the tree.
//!
//! Tokens open and close, and the tree follows them with a stack. A tag may open within a paragraph and close
//! somewhere else, or never; then other elements are cut in two. The tree is still made of every token, in order,
//! with an error on each piece.

mod fence;
mod fence_tags;

use std::sync::Arc;

use crate::Options;
use crate::block::{Blocks, Payload, TagToken, Token};
use crate::error::{ErrorId, ParseError, Warning, WarningId, shown};
use crate::inline::{self, Content, Context, InlineToken};
use crate::limits::TREE_DEPTH_MAX;
use crate::map::Map;
use crate::node::{Annotation, AnnotationType, Lines, LinesOf, Node, NodeType};
use crate::source::Source;
use crate::span::{LineIndex, Span};
use crate::tag::{Syntax, SyntaxError};
use crate::text::Text;
use crate::value::Value;
use crate::{FrontMatter, table_tag};

/// What the third stage makes of the first one's output.
pub(crate) struct Tree {
    pub(crate) root: Node,
    pub(crate) front_matter: Option<FrontMatter>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) steps: u64,
}

/// Builds the tree of a document that is `length` bytes long.
pub(crate) fn build(
    blocks: Blocks<'_>,
    source: &Source<'_>,
    index: &LineIndex,
    options: &Options,
    length: usize,
) -> Tree {
    let Blocks { tokens, definitions, warnings, steps } = blocks;
    let mut root = Node::new(NodeType::Document);
    root.span = Span::new(0, length as u32);
    let mut builder = Builder {
        source,
        index,
        options,
        stack: Vec::new(),
        finished: Vec::new(),
        root,
        flattened: Vec::new(),
        line_lists: Vec::new(),
        front_matter: None,
        warnings: Vec::new(),
        steps,
    };
    for (id, span) in warnings {
        builder.warn(id, span);
    }
    let context = Context { definitions: &definitions, options };
    for token in tokens {
        builder.block(token, &context);
    }
    builder.finish()
}

struct Builder<'b> {
    source: &'b Source<'b>,
    index: &'b LineIndex,
    options: &'b Options,
    root: Node,
    /// The open nodes below the root, each with the place in `finished` at which its children begin.
    stack: Vec<(Node, usize)>,
    /// Nodes whose parent is still open. They move into it all at once, so that each node allocates once for its
    /// children.
    finished: Vec<Node>,
    /// What is open beyond the deepest node that the tree may have.
    flattened: Vec<(NodeType, Option<String>)>,
    line_lists: Vec<LineList>,
    front_matter: Option<FrontMatter>,
    warnings: Vec<Warning>,
    steps: u64,
}

/// The lines of a node, which it shares with the nodes in it that have none of their own.
struct LineList {
    first: [u32; 2],
    more: Vec<u32>,
}

/// A node that annotations in the text belong to: its place on the stack, none for the root.
#[derive(Clone, Copy)]
struct InlineParent(Option<usize>);

impl Builder<'_> {
    fn block(&mut self, token: Token<'_>, context: &Context<'_>) {
        self.steps += 1;
        let span = self.given(token.span);
        if let Payload::FrontMatter(content) = &token.payload {
            self.root.attributes.insert("frontmatter", Value::from(*content));
            self.front_matter = Some(FrontMatter { content: (*content).to_owned(), span });
            return;
        }
        if token.hidden {
            return;
        }
        let mut node = Node::new(token.kind);
        node.span = span;
        match token.payload {
            Payload::None | Payload::FrontMatter(_) => {}
            Payload::Heading { level } => node.attributes = Map::of("level", Value::Number(f64::from(level))),
            Payload::List { ordered, start, marker } => {
                node.attributes.insert("ordered", Value::Bool(ordered));
                // 0 counts as not given, as in the original.
                if ordered && start > 1 {
                    node.attributes.insert("start", Value::Number(f64::from(start)));
                }
                node.attributes.insert("marker", Value::String(marker.to_string()));
            }
            Payload::Item { task: None } => {}
            Payload::Item { task: Some(mut task) } => {
                task.span = self.given(task.span);
                node.parts_mut().task = Some(task);
            }
            Payload::Cell(alignment) => {
                if let Some(align) = alignment.as_str() {
                    node.attributes = Map::of("align", Value::from(align));
                }
            }
            Payload::Comment(content) => node.attributes = Map::of("content", Value::from(content)),
            Payload::Tag(tag) => {
                let TagToken { syntax } = *tag;
                let place = |at: u32| self.source.given(at);
                let syntax = match syntax {
                    Ok(syntax) => Ok(syntax.moved(place, place)),
                    Err(error) => Err(error.moved(place)),
                };
                self.tag(node, token.nesting, syntax, token.lines, None);
                return;
            }
            Payload::Inline(text) => {
                self.inline(node, &text, token.lines, context);
                return;
            }
            Payload::Fence { info, content } => {
                self.fence(node, &info, &content, token.lines.unwrap_or_default());
                return;
            }
        }
        self.add(node, token.nesting, token.lines, None);
    }

    /// The text of a block.
    fn inline(&mut self, node: Node, text: &Text<'_>, lines: Option<[u32; 2]>, context: &Context<'_>) {
        let parent = InlineParent(self.stack.len().checked_sub(1));
        self.add(node, 1, lines, None);
        let inlines = inline::parse(text, context);
        self.steps += inlines.steps;
        if let Some(at) = inlines.too_deep {
            self.warn(WarningId::InlineTooDeep, Span::new(text.source(at), text.source_end(text.len())));
        }
        for token in inlines.tokens {
            self.inline_token(token, text, parent);
        }
        self.pop();
    }

    fn inline_token(&mut self, token: InlineToken, text: &Text<'_>, parent: InlineParent) {
        self.steps += 1;
        let mut node = Node::new(token.kind);
        node.span = self.given(Span::new(text.source(token.start), text.source_end(token.end)));
        match token.content {
            Content::None => {}
            Content::Text(content) => {
                node.attributes = Map::of("content", Value::String(content.into_owned()))
            }
            Content::Marker(marker) => node.attributes = Map::of("marker", Value::from(marker)),
            Content::Link { href, title } => {
                node.attributes = Map::of("href", Value::String(href));
                if !title.is_empty() {
                    node.attributes.insert("title", Value::String(title));
                }
            }
            Content::Image { alt, src, title } => {
                node.attributes = Map::of("alt", Value::String(alt));
                node.attributes.insert("src", Value::String(src));
                if !title.is_empty() {
                    node.attributes.insert("title", Value::String(title));
                }
            }
            Content::Tag(syntax) => {
                let syntax = self.placed(*syntax, text);
                self.tag(node, token.nesting, syntax, None, Some(parent));
                return;
            }
        }
        self.add(node, token.nesting, None, Some(parent));
    }

    /// A tag with spans of a block's text, with spans of the given source.
    fn placed(&self, syntax: Result<Syntax, SyntaxError>, text: &Text<'_>) -> Result<Syntax, SyntaxError> {
        let start = |at: u32| self.source.given(text.source(at as usize));
        let end = |at: u32| self.source.given(text.source_end(at as usize));
        match syntax {
            Ok(syntax) => Ok(syntax.moved(start, end)),
            Err(error) => Err(error.moved(end)),
        }
    }

    /// Whatever stood between `{%` and `%}`.
    fn tag(
        &mut self,
        mut node: Node,
        nesting: i8,
        syntax: Result<Syntax, SyntaxError>,
        lines: Option<[u32; 2]>,
        parent: Option<InlineParent>,
    ) {
        match syntax {
            Ok(Syntax::Annotation(attributes)) => {
                match parent {
                    Some(InlineParent(at)) => self.annotate_at(at, attributes),
                    None => {
                        let what = self.top().kind.as_str();
                        let message =
                            format!("an annotation alone on its line belongs to no text of this {what}");
                        let error = self.error(ErrorId::NoInlineAnnotations, message, node.span);
                        self.top_mut().errors.push(error);
                    }
                }
                return;
            }
            Ok(Syntax::Interpolation(value)) => node.attributes = Map::of("content", value),
            Ok(Syntax::Open { name, attributes } | Syntax::SelfClosing { name, attributes }) => {
                node.tag = Some(name);
                node.parts_mut().opening = Some(node.span);
                self.annotate(&mut node, attributes);
            }
            Ok(Syntax::Close { name }) => {
                node.tag = Some(name);
                node.parts_mut().closing = Some(node.span);
            }
            Err(SyntaxError { span, message }) => {
                let error = self.error(ErrorId::ParseError, message, span);
                node.errors.push(error);
            }
        }
        self.add(node, nesting, lines, parent);
    }

    /// Opens a node, closes the innermost one, or adds a node that is one piece.
    fn add(&mut self, mut node: Node, nesting: i8, lines: Option<[u32; 2]>, parent: Option<InlineParent>) {
        if nesting < 0 {
            if self.is_open(node.kind, node.tag.as_deref()) {
                self.close(&node, lines);
                return;
            }
            let message = match &node.tag {
                Some(tag) => format!("`{{% /{} %}}` closes a tag that is not open here", shown(tag)),
                None => format!("a tag that is left open cuts this {} in two", node.kind.as_str()),
            };
            let error = self.error(ErrorId::MissingOpening, message, node.span);
            node.errors.push(error);
        }
        node.inline = parent.is_some();
        node.lines = match lines {
            Some(lines) => {
                self.line_lists.push(LineList { first: lines, more: Vec::new() });
                Lines(LinesOf::Pending(self.line_lists.len() as u32 - 1))
            }
            None => self.top().lines.clone(),
        };
        if nesting <= 0 {
            self.attach(node);
        } else if self.stack.len() < TREE_DEPTH_MAX {
            self.stack.push((node, self.finished.len()));
        } else {
            if !self.warnings.iter().any(|warning| warning.id == WarningId::TreeTooDeep) {
                let position = self.index.position(node.span.start);
                self.warnings.push(Warning { id: WarningId::TreeTooDeep, span: node.span, position });
            }
            self.flattened.push((node.kind, node.tag.clone()));
            self.attach(node);
        }
    }

    fn is_open(&self, kind: NodeType, tag: Option<&str>) -> bool {
        match (self.flattened.last(), self.stack.last()) {
            (Some((open, name)), _) => *open == kind && name.as_deref() == tag,
            (None, Some((open, _))) => open.kind == kind && open.tag.as_deref() == tag,
            (None, None) => false,
        }
    }

    fn close(&mut self, closing: &Node, lines: Option<[u32; 2]>) {
        if self.flattened.is_empty()
            && let Some((open, _)) = self.stack.last_mut()
        {
            open.span = open.span.joined(closing.span);
            if let Some(span) = closing.closing() {
                open.parts_mut().closing = Some(span);
            }
            if let (LinesOf::Pending(list), Some(lines)) = (&open.lines.0, lines)
                && let Some(list) = self.line_lists.get_mut(*list as usize)
            {
                list.more.extend(lines);
            }
        }
        self.pop();
    }

    /// Takes the innermost open node off the stack, whatever it is.
    fn pop(&mut self) {
        if self.flattened.pop().is_some() {
            return;
        }
        if let Some((mut node, children)) = self.stack.pop() {
            node.children = self.finished.drain(children..).collect();
            self.attach(node);
        }
    }

    fn attach(&mut self, node: Node) {
        let has_slots = self.options.slots;
        let parent = self.top_mut();
        parent.span = parent.span.joined(node.span);
        let slot = if has_slots && node.tag.as_deref() == Some("slot") {
            node.attributes.text("primary")
        } else {
            None
        };
        match slot.map(str::to_owned) {
            Some(name) => {
                parent.slots.insert(name, node);
            }
            None => self.finished.push(node),
        }
    }

    fn top(&self) -> &Node {
        self.stack.last().map_or(&self.root, |(node, _)| node)
    }

    fn top_mut(&mut self) -> &mut Node {
        match self.stack.last_mut() {
            Some((node, _)) => node,
            None => &mut self.root,
        }
    }

    fn annotate_at(&mut self, at: Option<usize>, annotations: Vec<Annotation>) {
        let doubles = set(self.open_node(at), annotations);
        for (name, span) in doubles {
            let error = self.duplicate(&name, span);
            self.open_node(at).errors.push(error);
        }
    }

    fn open_node(&mut self, at: Option<usize>) -> &mut Node {
        match at.and_then(|at| self.stack.get_mut(at)) {
            Some((node, _)) => node,
            None => &mut self.root,
        }
    }

    fn annotate(&self, node: &mut Node, annotations: Vec<Annotation>) {
        for (name, span) in set(node, annotations) {
            let error = self.duplicate(&name, span);
            node.errors.push(error);
        }
    }

    fn duplicate(&self, name: &str, span: Span) -> ParseError {
        let message = format!("the attribute `{}` is set more than once; the last one counts", shown(name));
        self.error(ErrorId::DuplicateAttribute, message, span)
    }

    fn error(&self, id: ErrorId, message: String, span: Span) -> ParseError {
        ParseError { id, message, span, position: self.index.position(span.start) }
    }

    /// Warns of a span of the normalised source.
    fn warn(&mut self, id: WarningId, span: Span) {
        let span = self.given(span);
        self.warnings.push(Warning { id, span, position: self.index.position(span.start) });
    }

    fn given(&self, span: Span) -> Span {
        Span::new(self.source.given(span.start), self.source.given(span.end))
    }

    fn finish(mut self) -> Tree {
        for at in 0..self.stack.len() {
            let (node, _) = &self.stack[at];
            let message = match &node.tag {
                Some(tag) => {
                    let tag = shown(tag);
                    format!("`{{% {tag} %}}` is never closed; add `{{% /{tag} %}}` or close it with `/%}}`")
                }
                None => format!("a tag that is left open cuts this {} in two", node.kind.as_str()),
            };
            let span = node.opening().unwrap_or(node.span);
            let error = self.error(ErrorId::MissingClosing, message, span);
            self.stack[at].0.errors.push(error);
        }
        self.flattened.clear();
        while !self.stack.is_empty() {
            self.pop();
        }
        self.root.children = self.finished;
        let lists: Vec<LinesOf> = self
            .line_lists
            .into_iter()
            .map(|LineList { first, more }| {
                if more.is_empty() {
                    return LinesOf::Pair(first);
                }
                LinesOf::Shared(Arc::new(first.into_iter().chain(more).collect()))
            })
            .collect();
        settle_lines(&mut self.root, &lists);
        table_tag::transform(&mut self.root);
        Tree { root: self.root, front_matter: self.front_matter, warnings: self.warnings, steps: self.steps }
    }
}

fn settle_lines(node: &mut Node, lists: &[LinesOf]) {
    if let LinesOf::Pending(list) = node.lines.0 {
        node.lines = Lines(lists.get(list as usize).cloned().unwrap_or_default());
    }
    for child in node.slots.values_mut().chain(node.children.iter_mut()) {
        settle_lines(child, lists);
    }
}

/// Sets what annotations say; gives those that were set before.
fn set(node: &mut Node, annotations: Vec<Annotation>) -> Vec<(String, Span)> {
    let mut doubles = Vec::new();
    for annotation in annotations {
        let Annotation { kind, name, value, span, .. } = &annotation;
        match kind {
            AnnotationType::Attribute => {
                if node.attributes.insert(name.clone(), value.clone()).is_some() {
                    doubles.push((name.clone(), *span));
                }
            }
            AnnotationType::Class => match node.attributes.get_mut("class") {
                Some(Value::Hash(classes)) => {
                    classes.insert(name.clone(), value.clone());
                }
                // A class that is a text or a variable stays as it is.
                Some(class) if !class.is_falsy() => {}
                _ => {
                    let classes = Map::from_iter([(name.clone(), value.clone())]);
                    node.attributes.insert("class", Value::Hash(classes));
                }
            },
        }
        node.annotations.push(annotation);
    }
    doubles
}
