//! The third stage: tokens become the tree.
//!
//! A stack follows the opening and closing tokens. A tag may open in a paragraph and close in another block, or never;
//! then it cuts other elements in two. Every token still becomes a part of the tree, in order, with an error on each
//! piece.

mod fence;
mod fence_tags;

use std::sync::Arc;

use crate::Options;
use crate::attribute_map::AttributeMap;
use crate::block::{BlockData, BlockOutput, TagToken, Token};
use crate::error::{ErrorId, ParseError, Warning, WarningId, excerpt};
use crate::inline::{self, InlineContext, InlineData, InlineToken};
use crate::limits::TREE_DEPTH_MAX;
use crate::mapped_text::MappedText;
use crate::node::{Annotation, AnnotationKind, LineNumbers, LineRepr, Node, NodeType};
use crate::source::NormalizedSource;
use crate::span::{LineIndex, Span};
use crate::stage::Nesting;
use crate::tag::{SyntaxError, TagSyntax};
use crate::value::Value;
use crate::{FrontMatter, table_tag};

/// The result of the third stage.
pub(crate) struct Tree {
    pub(crate) root: Node,
    pub(crate) front_matter: Option<FrontMatter>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) steps: u64,
}

/// Builds the tree of a document that is `length` bytes long.
pub(crate) fn build(
    blocks: BlockOutput<'_>,
    source: &NormalizedSource<'_>,
    line_index: &LineIndex,
    options: &Options,
    length: usize,
) -> Tree {
    let BlockOutput { tokens, definitions, warnings, steps } = blocks;
    let mut root = Node::new(NodeType::Document);
    root.span = Span::new(0, length as u32);
    let mut builder = Builder {
        source,
        line_index,
        options,
        stack: Vec::new(),
        completed: Vec::new(),
        root,
        overflow: Vec::new(),
        pending_lines: Vec::new(),
        front_matter: None,
        warnings: Vec::new(),
        steps,
    };
    for (id, span) in warnings {
        builder.warn(id, span);
    }
    let context = InlineContext { definitions: &definitions, options };
    for token in tokens {
        builder.add_block_token(token, &context);
    }
    builder.finish()
}

struct Builder<'b> {
    source: &'b NormalizedSource<'b>,
    line_index: &'b LineIndex,
    options: &'b Options,
    root: Node,
    /// The open nodes below the root, each with the index in `completed` at which its children begin.
    stack: Vec<(Node, usize)>,
    /// Completed nodes whose parent is still open. They move into it together, so that each node allocates once for its
    /// children.
    completed: Vec<Node>,
    /// Open nodes beyond the maximum depth of the tree.
    overflow: Vec<(NodeType, Option<String>)>,
    pending_lines: Vec<PendingLines>,
    front_matter: Option<FrontMatter>,
    warnings: Vec<Warning>,
    steps: u64,
}

/// The lines of a node. Nodes in it without lines of their own share them.
struct PendingLines {
    first: [u32; 2],
    closing: Vec<u32>,
}

/// The node that inline annotations apply to: its index on the stack, none for the root.
#[derive(Clone, Copy)]
struct InlineParent(Option<usize>);

impl Builder<'_> {
    fn add_block_token(&mut self, token: Token<'_>, context: &InlineContext<'_>) {
        self.steps += 1;
        let span = self.to_original_span(token.span);
        if let BlockData::FrontMatter(content) = &token.data {
            self.root.attributes.insert("frontmatter", Value::from(*content));
            self.front_matter = Some(FrontMatter { content: (*content).to_owned(), span });
            return;
        }
        if token.hidden {
            return;
        }
        let mut node = Node::new(token.kind);
        node.span = span;
        match token.data {
            BlockData::None | BlockData::FrontMatter(_) => {}
            BlockData::Heading { level } => {
                node.attributes = AttributeMap::from_entry("level", Value::Number(f64::from(level)))
            }
            BlockData::List { ordered, start, marker } => {
                node.attributes.insert("ordered", Value::Bool(ordered));
                // As in the npm package, 0 counts as not given.
                if ordered && start > 1 {
                    node.attributes.insert("start", Value::Number(f64::from(start)));
                }
                node.attributes.insert("marker", Value::String(marker.to_string()));
            }
            BlockData::Item { task: None } => {}
            BlockData::Item { task: Some(mut task) } => {
                task.span = self.to_original_span(task.span);
                node.source_parts_mut().task = Some(task);
            }
            BlockData::Cell(alignment) => {
                if let Some(align) = alignment.as_str() {
                    node.attributes = AttributeMap::from_entry("align", Value::from(align));
                }
            }
            BlockData::Comment(content) => {
                node.attributes = AttributeMap::from_entry("content", Value::from(content))
            }
            BlockData::Tag(tag) => {
                let TagToken { syntax } = *tag;
                let to_original = |offset: u32| self.source.to_original_offset(offset);
                let syntax = match syntax {
                    Ok(syntax) => Ok(syntax.map_spans(to_original, to_original)),
                    Err(error) => Err(error.map_spans(to_original)),
                };
                self.add_tag(node, token.nesting, syntax, token.lines, None);
                return;
            }
            BlockData::Inline(text) => {
                self.add_inline_content(node, &text, token.lines, context);
                return;
            }
            BlockData::Fence { info, content } => {
                self.add_fence(node, &info, &content, token.lines.unwrap_or_default());
                return;
            }
        }
        self.add(node, token.nesting, token.lines, None);
    }

    /// Adds the text of a block.
    fn add_inline_content(
        &mut self,
        node: Node,
        text: &MappedText<'_>,
        lines: Option<[u32; 2]>,
        context: &InlineContext<'_>,
    ) {
        let parent = InlineParent(self.stack.len().checked_sub(1));
        self.add(node, Nesting::Open, lines, None);
        let output = inline::parse(text, context);
        self.steps += output.steps;
        if let Some(pos) = output.too_deep {
            self.warn(
                WarningId::InlineTooDeep,
                Span::new(text.source_offset(pos), text.source_end_offset(text.len())),
            );
        }
        for token in output.tokens {
            self.add_inline_token(token, text, parent);
        }
        self.pop();
    }

    fn add_inline_token(&mut self, token: InlineToken, text: &MappedText<'_>, parent: InlineParent) {
        self.steps += 1;
        let mut node = Node::new(token.kind);
        node.span = self
            .to_original_span(Span::new(text.source_offset(token.start), text.source_end_offset(token.end)));
        match token.data {
            InlineData::None => {}
            InlineData::Text(content) => {
                node.attributes = AttributeMap::from_entry("content", Value::String(content.into_owned()))
            }
            InlineData::Marker(marker) => {
                node.attributes = AttributeMap::from_entry("marker", Value::from(marker))
            }
            InlineData::Link { href, title } => {
                node.attributes = AttributeMap::from_entry("href", Value::String(href));
                if !title.is_empty() {
                    node.attributes.insert("title", Value::String(title));
                }
            }
            InlineData::Image { alt, src, title } => {
                node.attributes = AttributeMap::from_entry("alt", Value::String(alt));
                node.attributes.insert("src", Value::String(src));
                if !title.is_empty() {
                    node.attributes.insert("title", Value::String(title));
                }
            }
            InlineData::Tag(syntax) => {
                let syntax = self.with_source_spans(*syntax, text);
                self.add_tag(node, token.nesting, syntax, None, Some(parent));
                return;
            }
        }
        self.add(node, token.nesting, None, Some(parent));
    }

    /// Converts the spans of a tag from a block's text to the source.
    fn with_source_spans(
        &self,
        syntax: Result<TagSyntax, SyntaxError>,
        text: &MappedText<'_>,
    ) -> Result<TagSyntax, SyntaxError> {
        let map_start = |pos: u32| self.source.to_original_offset(text.source_offset(pos as usize));
        let map_end = |pos: u32| self.source.to_original_offset(text.source_end_offset(pos as usize));
        match syntax {
            Ok(syntax) => Ok(syntax.map_spans(map_start, map_end)),
            Err(error) => Err(error.map_spans(map_end)),
        }
    }

    /// Adds the tag between `{%` and `%}`.
    fn add_tag(
        &mut self,
        mut node: Node,
        nesting: Nesting,
        syntax: Result<TagSyntax, SyntaxError>,
        lines: Option<[u32; 2]>,
        parent: Option<InlineParent>,
    ) {
        match syntax {
            Ok(TagSyntax::Annotation(attributes)) => {
                match parent {
                    Some(InlineParent(stack_index)) => self.annotate_open_node(stack_index, attributes),
                    None => {
                        let parent_kind = self.top().kind.as_str();
                        let message = format!(
                            "an annotation alone on its line belongs to no text of this {parent_kind}"
                        );
                        let error = self.parse_error(ErrorId::NoInlineAnnotations, message, node.span);
                        self.top_mut().errors.push(error);
                    }
                }
                return;
            }
            Ok(TagSyntax::Interpolation(value)) => {
                node.attributes = AttributeMap::from_entry("content", value)
            }
            Ok(TagSyntax::Open { name, attributes } | TagSyntax::SelfClosing { name, attributes }) => {
                node.tag = Some(name);
                node.source_parts_mut().opening = Some(node.span);
                self.annotate(&mut node, attributes);
            }
            Ok(TagSyntax::Close { name }) => {
                node.tag = Some(name);
                node.source_parts_mut().closing = Some(node.span);
            }
            Err(SyntaxError { span, message }) => {
                let error = self.parse_error(ErrorId::ParseError, message, span);
                node.errors.push(error);
            }
        }
        self.add(node, nesting, lines, parent);
    }

    /// Opens a node, closes the innermost one, or adds a complete node.
    fn add(
        &mut self,
        mut node: Node,
        nesting: Nesting,
        lines: Option<[u32; 2]>,
        parent: Option<InlineParent>,
    ) {
        if nesting == Nesting::Close {
            if self.is_open(node.kind, node.tag.as_deref()) {
                self.close(&node, lines);
                return;
            }
            let message = match &node.tag {
                Some(tag) => format!("`{{% /{} %}}` closes a tag that is not open here", excerpt(tag)),
                None => format!("a tag that is left open cuts this {} in two", node.kind.as_str()),
            };
            let error = self.parse_error(ErrorId::MissingOpening, message, node.span);
            node.errors.push(error);
        }
        node.inline = parent.is_some();
        node.lines = match lines {
            Some(lines) => {
                self.pending_lines.push(PendingLines { first: lines, closing: Vec::new() });
                LineNumbers(LineRepr::Unresolved(self.pending_lines.len() as u32 - 1))
            }
            None => self.top().lines.clone(),
        };
        if nesting != Nesting::Open {
            self.attach(node);
        } else if self.stack.len() < TREE_DEPTH_MAX {
            self.stack.push((node, self.completed.len()));
        } else {
            if !self.warnings.iter().any(|warning| warning.id == WarningId::TreeTooDeep) {
                let position = self.line_index.position(node.span.start);
                self.warnings.push(Warning { id: WarningId::TreeTooDeep, span: node.span, position });
            }
            self.overflow.push((node.kind, node.tag.clone()));
            self.attach(node);
        }
    }

    fn is_open(&self, kind: NodeType, tag: Option<&str>) -> bool {
        match (self.overflow.last(), self.stack.last()) {
            (Some((open, name)), _) => *open == kind && name.as_deref() == tag,
            (None, Some((open, _))) => open.kind == kind && open.tag.as_deref() == tag,
            (None, None) => false,
        }
    }

    fn close(&mut self, closing: &Node, lines: Option<[u32; 2]>) {
        if self.overflow.is_empty()
            && let Some((open, _)) = self.stack.last_mut()
        {
            open.span = open.span.union(closing.span);
            if let Some(span) = closing.closing() {
                open.source_parts_mut().closing = Some(span);
            }
            if let (LineRepr::Unresolved(list), Some(lines)) = (&open.lines.0, lines)
                && let Some(list) = self.pending_lines.get_mut(*list as usize)
            {
                list.closing.extend(lines);
            }
        }
        self.pop();
    }

    /// Removes the innermost open node from the stack, of any type.
    fn pop(&mut self) {
        if self.overflow.pop().is_some() {
            return;
        }
        if let Some((mut node, children)) = self.stack.pop() {
            node.children = self.completed.drain(children..).collect();
            self.attach(node);
        }
    }

    fn attach(&mut self, node: Node) {
        let has_slots = self.options.slots;
        let parent = self.top_mut();
        parent.span = parent.span.union(node.span);
        let slot = if has_slots && node.tag.as_deref() == Some("slot") {
            node.attributes.get_str("primary")
        } else {
            None
        };
        match slot.map(str::to_owned) {
            Some(name) => {
                parent.slots.insert(name, node);
            }
            None => self.completed.push(node),
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

    fn annotate_open_node(&mut self, stack_index: Option<usize>, annotations: Vec<Annotation>) {
        let duplicates = apply_annotations(self.open_node(stack_index), annotations);
        for (name, span) in duplicates {
            let error = self.duplicate_attribute_error(&name, span);
            self.open_node(stack_index).errors.push(error);
        }
    }

    fn open_node(&mut self, stack_index: Option<usize>) -> &mut Node {
        match stack_index.and_then(|index| self.stack.get_mut(index)) {
            Some((node, _)) => node,
            None => &mut self.root,
        }
    }

    fn annotate(&self, node: &mut Node, annotations: Vec<Annotation>) {
        for (name, span) in apply_annotations(node, annotations) {
            let error = self.duplicate_attribute_error(&name, span);
            node.errors.push(error);
        }
    }

    fn duplicate_attribute_error(&self, name: &str, span: Span) -> ParseError {
        let message = format!("the attribute `{}` is set more than once; the last one counts", excerpt(name));
        self.parse_error(ErrorId::DuplicateAttribute, message, span)
    }

    fn parse_error(&self, id: ErrorId, message: String, span: Span) -> ParseError {
        ParseError { id, message, span, position: self.line_index.position(span.start) }
    }

    /// Adds a warning about a span of the normalised source.
    fn warn(&mut self, id: WarningId, span: Span) {
        let span = self.to_original_span(span);
        self.warnings.push(Warning { id, span, position: self.line_index.position(span.start) });
    }

    fn to_original_span(&self, span: Span) -> Span {
        Span::new(self.source.to_original_offset(span.start), self.source.to_original_offset(span.end))
    }

    fn finish(mut self) -> Tree {
        for index in 0..self.stack.len() {
            let (node, _) = &self.stack[index];
            let message = match &node.tag {
                Some(tag) => {
                    let tag = excerpt(tag);
                    format!("`{{% {tag} %}}` is never closed; add `{{% /{tag} %}}` or close it with `/%}}`")
                }
                None => format!("a tag that is left open cuts this {} in two", node.kind.as_str()),
            };
            let span = node.opening().unwrap_or(node.span);
            let error = self.parse_error(ErrorId::MissingClosing, message, span);
            self.stack[index].0.errors.push(error);
        }
        self.overflow.clear();
        while !self.stack.is_empty() {
            self.pop();
        }
        self.root.children = self.completed;
        let resolved_lines: Vec<LineRepr> = self
            .pending_lines
            .into_iter()
            .map(|PendingLines { first, closing }| {
                if closing.is_empty() {
                    return LineRepr::Pair(first);
                }
                LineRepr::Shared(Arc::new(first.into_iter().chain(closing).collect()))
            })
            .collect();
        resolve_line_numbers(&mut self.root, &resolved_lines);
        table_tag::transform(&mut self.root);
        Tree { root: self.root, front_matter: self.front_matter, warnings: self.warnings, steps: self.steps }
    }
}

fn resolve_line_numbers(node: &mut Node, resolved_lines: &[LineRepr]) {
    if let LineRepr::Unresolved(index) = node.lines.0 {
        node.lines = LineNumbers(resolved_lines.get(index as usize).cloned().unwrap_or_default());
    }
    for child in node.slots.values_mut().chain(node.children.iter_mut()) {
        resolve_line_numbers(child, resolved_lines);
    }
}

/// Applies annotations to a node. Returns the names that were set before.
fn apply_annotations(node: &mut Node, annotations: Vec<Annotation>) -> Vec<(String, Span)> {
    let mut duplicates = Vec::new();
    for annotation in annotations {
        let Annotation { kind, name, value, span, .. } = &annotation;
        match kind {
            AnnotationKind::Attribute => {
                if node.attributes.insert(name.clone(), value.clone()).is_some() {
                    duplicates.push((name.clone(), *span));
                }
            }
            AnnotationKind::Class => match node.attributes.get_mut("class") {
                Some(Value::Hash(classes)) => {
                    classes.insert(name.clone(), value.clone());
                }
                // A class that is a string or a variable stays as it is.
                Some(class) if !class.is_falsy() => {}
                _ => {
                    let classes = AttributeMap::from_iter([(name.clone(), value.clone())]);
                    node.attributes.insert("class", Value::Hash(classes));
                }
            },
        }
        node.annotations.push(annotation);
    }
    duplicates
}
