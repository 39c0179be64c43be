//! Fences: their annotation, and the tags within them.

use super::Builder;
use super::fence_tags::{self, FencePart};
use crate::error::ErrorId;
use crate::map::Map;
use crate::node::{Node, NodeType};
use crate::span::Span;
use crate::tag::{self, Syntax};
use crate::tag_ends::TagEnds;
use crate::text::Text;
use crate::value::Value;

impl Builder<'_> {
    pub(super) fn fence(&mut self, mut node: Node, info: &Text<'_>, content: &Text<'_>, lines: [u32; 2]) {
        node.attributes = Map::of("content", Value::from(&*content.text));
        let language = info.text.split(' ').next().unwrap_or("");
        if !language.is_empty() && language != "{%" {
            node.attributes.insert("language", Value::from(language));
        }
        let mut is_processed = true;
        if let Some(start) = info.text.find("{%") {
            is_processed = self.fence_annotation(&mut node, info, start);
        }
        self.add(node, 1, Some(lines), None);
        if is_processed {
            for part in fence_tags::split(content, lines[0]) {
                self.fence_part(part, content);
            }
        }
        self.pop();
    }

    /// The tag in a fence's info string; says whether the fence's content is looked at for tags.
    fn fence_annotation(&mut self, node: &mut Node, info: &Text<'_>, start: usize) -> bool {
        let close = TagEnds::new(&info.text).of(start);
        let end = close.map_or(info.len(), |close| close + "%}".len());
        let span = self.given(Span::new(info.source(start), info.source_end(end)));
        // Without an end there is nothing in it, which is no tag.
        let syntax = tag::between(&info.text, start, close.unwrap_or(start));
        match self.placed(syntax, info) {
            Ok(syntax) => {
                node.parts_mut().opening = Some(span);
                let (name, attributes) = match syntax {
                    Syntax::Annotation(attributes) => (None, attributes),
                    Syntax::Open { name, attributes } | Syntax::SelfClosing { name, attributes } => {
                        (Some(name), attributes)
                    }
                    Syntax::Close { name } => (Some(name), Vec::new()),
                    Syntax::Interpolation(_) => (None, Vec::new()),
                };
                node.tag = name;
                let is_off = attributes.iter().any(|it| it.name == "process" && it.value.is_falsy());
                self.annotate(node, attributes);
                !is_off
            }
            Err(error) => {
                let at = if close.is_some() { error.span } else { span };
                let message = format!("the fence's annotation is not read: {}", error.message);
                let error = self.error(ErrorId::FenceTagError, message, at);
                node.errors.push(error);
                true
            }
        }
    }

    fn fence_part(&mut self, part: FencePart, content: &Text<'_>) {
        match part {
            FencePart::Text(place) => {
                let text = content.text.get(place.clone()).unwrap_or("");
                if text.is_empty() {
                    return;
                }
                let mut node = Node::new(NodeType::Text);
                node.span = self.given(Span::new(content.source(place.start), content.source_end(place.end)));
                node.attributes = Map::of("content", Value::from(text));
                self.add(node, 0, None, None);
            }
            FencePart::Tag { place, line, syntax } => {
                let syntax = self.placed(syntax, content);
                let (kind, nesting) = tag::shape(&syntax);
                let mut node = Node::new(kind);
                node.span = self.given(Span::new(content.source(place.start), content.source_end(place.end)));
                self.tag(node, nesting, syntax, Some([line, line + 1]), None);
            }
        }
    }
}
