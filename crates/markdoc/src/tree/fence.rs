//! Fences: their annotations, and the tags in them.

use super::Builder;
use super::fence_tags::{self, FencePart};
use crate::attribute_map::AttributeMap;
use crate::error::ErrorId;
use crate::mapped_text::MappedText;
use crate::node::{Node, NodeType};
use crate::span::Span;
use crate::stage::Nesting;
use crate::tag::{self, TagSyntax};
use crate::tag_close_index::TagCloseIndex;
use crate::value::Value;

impl Builder<'_> {
    pub(super) fn add_fence(
        &mut self,
        mut node: Node,
        info: &MappedText<'_>,
        content: &MappedText<'_>,
        lines: [u32; 2],
    ) {
        node.attributes = AttributeMap::from_entry("content", Value::from(&*content.text));
        let language = info.text.split(' ').next().unwrap_or("");
        if !language.is_empty() && language != "{%" {
            node.attributes.insert("language", Value::from(language));
        }
        let parses_tags = self.options.tags && self.options.tags_in_fences;
        let mut is_processed = true;
        if let Some(start) = info.text.find("{%").filter(|_| parses_tags) {
            is_processed = self.apply_fence_annotation(&mut node, info, start);
        }
        self.add(node, Nesting::Open, Some(lines), None);
        if !parses_tags {
            self.add_fence_part(FencePart::Text(0..content.text.len()), content);
        } else if is_processed {
            for part in fence_tags::split(content, lines[0]) {
                self.add_fence_part(part, content);
            }
        }
        self.pop();
    }

    /// Parses the tag in a fence's info string. Returns whether tags in the fence's content are parsed.
    fn apply_fence_annotation(&mut self, node: &mut Node, info: &MappedText<'_>, start: usize) -> bool {
        let close = TagCloseIndex::new(&info.text).close_of(start);
        let end = close.map_or(info.len(), |close| close + "%}".len());
        let span = self.to_original_span(Span::new(info.source_offset(start), info.source_end_offset(end)));
        // An unclosed tag is parsed as empty text, which is an error.
        let syntax = tag::parse_between(&info.text, start, close.unwrap_or(start));
        match self.with_source_spans(syntax, info) {
            Ok(syntax) => {
                node.source_parts_mut().opening = Some(span);
                let (name, attributes) = match syntax {
                    TagSyntax::Annotation(attributes) => (None, attributes),
                    TagSyntax::Open { name, attributes } | TagSyntax::SelfClosing { name, attributes } => {
                        (Some(name), attributes)
                    }
                    TagSyntax::Close { name } => (Some(name), Vec::new()),
                    TagSyntax::Interpolation(_) => (None, Vec::new()),
                };
                node.tag = name;
                let is_disabled = attributes
                    .iter()
                    .any(|attribute| attribute.name == "process" && attribute.value.is_falsy());
                self.annotate(node, attributes);
                !is_disabled
            }
            Err(error) => {
                let error_span = if close.is_some() { error.span } else { span };
                let message = format!("the fence's annotation is not read: {}", error.message);
                let error = self.parse_error(ErrorId::FenceTagError, message, error_span);
                node.errors.push(error);
                true
            }
        }
    }

    fn add_fence_part(&mut self, part: FencePart, content: &MappedText<'_>) {
        match part {
            FencePart::Text(range) => {
                let text = content.text.get(range.clone()).unwrap_or("");
                if text.is_empty() {
                    return;
                }
                let mut node = Node::new(NodeType::Text);
                node.span = self.to_original_span(Span::new(
                    content.source_offset(range.start),
                    content.source_end_offset(range.end),
                ));
                node.attributes = AttributeMap::from_entry("content", Value::from(text));
                self.add(node, Nesting::Leaf, None, None);
            }
            FencePart::Tag { range, line, syntax } => {
                let syntax = self.with_source_spans(syntax, content);
                let (kind, nesting) = tag::node_kind(&syntax);
                let mut node = Node::new(kind);
                node.span = self.to_original_span(Span::new(
                    content.source_offset(range.start),
                    content.source_end_offset(range.end),
                ));
                self.add_tag(node, nesting, syntax, Some([line, line + 1]), None);
            }
        }
    }
}
