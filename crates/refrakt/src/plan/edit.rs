//! Changing an entity in its text: attributes, ticks, how it ended. Every byte that is not meant stays as it is.
//!
//! Pure: a text and a wish give another text. What was wished for is checked against the outcome before anybody sees it.

use indexmap::IndexMap;
use quad_address::nearest;
use quad_markdoc::{Annotation, AnnotationType, Node};

use super::entity::{Criterion, Entity};
use super::passages;
use super::scan::{EntityTag, entity_tag, scan};
use super::vocabulary::EntityType;
use crate::limits::ATTRIBUTE_CHARS_MAX;

/// What is to become of an entity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Attributes by name; `None` takes one away.
    pub attributes: IndexMap<String, Option<String>>,
    /// Boxes to tick.
    pub check: Vec<Which>,
    /// Boxes to clear.
    pub uncheck: Vec<Which>,
    /// How it ended: the text of a new section.
    pub resolution: Option<String>,
}

/// Which of the things to tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// Number so-and-so, from 1.
    Number(usize),
    /// The one whose text this is, or else the only one that contains it.
    Text(String),
}

/// Why a wish cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditError {
    /// The file has no entity, or one without an end where an end is needed.
    NoEntity(&'static str),
    /// An attribute that an entity of this type does not have, or that is not to be changed.
    Attribute {
        /// Its name.
        name: String,
        /// What is wrong with it.
        message: String,
        /// What to do.
        hint: String,
    },
    /// No box, or more than one, is meant.
    Criterion {
        /// What was asked for.
        which: String,
        /// The things to tick that there are, or that could be meant.
        candidates: Vec<String>,
        /// Whether several could be meant.
        ambiguous: bool,
    },
    /// It says already how it ended.
    Resolved,
    /// The outcome would not be read as what was wished for: a text that was put in opens or closes a tag.
    Broken,
}

impl Changes {
    /// Whether nothing is wished for.
    pub fn is_empty(&self) -> bool {
        *self == Changes::default()
    }

    /// Carries them out. `today` is the date that a resolution gets.
    pub fn apply(&self, text: &str, today: &str) -> Result<String, EditError> {
        let tag = entity_tag(text).ok_or(EditError::NoEntity("the file has no entity that can be read"))?;
        for (name, value) in &self.attributes {
            check_attribute(tag.kind, &tag.node, name, value.as_deref())?;
        }
        let mut edits = self.attribute_edits(text, &tag)?;
        edits.extend(self.box_edits(text, &tag)?);
        edits.extend(self.resolution_edit(text, &tag, today)?);
        let edited = carry_out(text, edits);
        if self.is_fulfilled(&tag, text, &edited) { Ok(edited) } else { Err(EditError::Broken) }
    }

    fn attribute_edits(&self, text: &str, tag: &EntityTag) -> Result<Vec<Edit>, EditError> {
        let (node, offset) = (&tag.node, tag.offset);
        let opening = node.opening().ok_or(EditError::NoEntity("the entity has no opening tag"))?;
        let mut edits = Vec::new();
        let mut added = String::new();
        for (name, value) in &self.attributes {
            let written: Vec<&Annotation> = node
                .annotations
                .iter()
                .filter(|one| one.kind == AnnotationType::Attribute && one.name == *name)
                .filter(|one| opening.contains(one.span))
                .collect();
            match (value, written.last()) {
                (Some(value), None) => added.push_str(&format!(" {name}={}", quoted(value))),
                (Some(value), Some(last)) => {
                    let is_named = last.span.of(&text[offset..]).starts_with(name.as_str());
                    let (span, with) = if is_named {
                        (last.value_span, quoted(value))
                    } else {
                        (last.span, format!("{name}={}", quoted(value)))
                    };
                    edits.push(Edit {
                        start: offset + span.start as usize,
                        end: offset + span.end as usize,
                        with,
                    });
                }
                (None, _) => edits.extend(written.iter().map(|one| {
                    let (start, end) = (offset + one.span.start as usize, offset + one.span.end as usize);
                    let kept = text[..start].trim_end().len();
                    Edit { start: kept, end, with: String::new() }
                })),
            }
        }
        if !added.is_empty() {
            let start = offset + opening.start as usize;
            let written = opening.of(&text[offset..]);
            let inner = written.strip_suffix("%}").map(|inner| inner.strip_suffix('/').unwrap_or(inner));
            let at = start + inner.unwrap_or(written).trim_end().len();
            edits.push(Edit { start: at, end: at, with: added });
        }
        Ok(edits)
    }

    fn box_edits(&self, text: &str, tag: &EntityTag) -> Result<Vec<Edit>, EditError> {
        if self.check.is_empty() && self.uncheck.is_empty() {
            return Ok(Vec::new());
        }
        let (start, end) = body(text, tag);
        let boxes = passages::boxes(&text[start..end]);
        let mut edits: Vec<Edit> = Vec::new();
        for (wanted, sign) in [(&self.check, "x"), (&self.uncheck, " ")] {
            for which in wanted {
                let at = start + which.of(&boxes)?;
                let is_so = text[at..].starts_with(sign) || (sign == "x" && text[at..].starts_with('X'));
                if !is_so && !edits.iter().any(|edit| edit.start == at) {
                    edits.push(Edit { start: at, end: at + 1, with: sign.to_owned() });
                }
            }
        }
        Ok(edits)
    }

    fn resolution_edit(&self, text: &str, tag: &EntityTag, today: &str) -> Result<Option<Edit>, EditError> {
        let Some(words) = &self.resolution else { return Ok(None) };
        let closing = tag.node.closing();
        let closing =
            closing.ok_or(EditError::NoEntity("the entity has no closing tag to put a section before"))?;
        let (start, end) = body(text, tag);
        if passages::resolution(&text[start..end]).1 > 0 {
            return Err(EditError::Resolved);
        }
        let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let before = &text[..tag.offset + closing.start as usize];
        let gap = if before.ends_with('\n') { line_end.to_owned() } else { line_end.repeat(2) };
        let words: Vec<&str> = words.trim().lines().map(str::trim_end).collect();
        let completed = format!("Completed: {today}");
        let lines = [&["## Resolution", ""][..], &[completed.as_str(), ""], &words].concat();
        let section: String = lines.iter().flat_map(|line| [line, line_end]).collect();
        let at = before.len();
        Ok(Some(Edit { start: at, end: at, with: format!("{gap}{section}") }))
    }

    /// Whether the outcome says what was wished for, and nothing else about the entity has changed.
    fn is_fulfilled(&self, tag: &EntityTag, before: &str, after: &str) -> bool {
        let (Some(old), Some(new)) = (scan("", before).entity, scan("", after).entity) else { return false };
        let attributes_fit = self.attributes.iter().all(|(name, value)| {
            new.attributes.get(name).map(String::as_str).filter(|text| !text.is_empty()) == value.as_deref()
        });
        let others = |entity: &Entity| -> Vec<(String, String)> {
            let kept = entity.attributes.iter().filter(|(name, _)| !self.attributes.contains_key(*name));
            kept.map(|(name, value)| (name.clone(), value.clone())).collect()
        };
        let ticked = self.check.len() + self.uncheck.len() > 0;
        // What follows the entity must follow it still: a text that closes the tag would end it early.
        let tail = |text: &str, tag: &EntityTag| {
            tag.node.closing().map(|closing| text.len() - tag.offset - closing.end as usize)
        };
        let same_tail = entity_tag(after).is_some_and(|now| tail(after, &now) == tail(before, tag));
        new.kind == tag.kind
            && same_tail
            && attributes_fit
            && others(&old) == others(&new)
            && old.criteria.len() == new.criteria.len()
            && (ticked || old.criteria == new.criteria)
            && (new.resolution.is_some() || self.resolution.is_none())
            && (self.resolution.is_some() || (old.refs == new.refs && old.resolution == new.resolution))
    }
}

impl Which {
    /// The place of the sign in the box that is meant.
    fn of(&self, boxes: &[(Criterion, usize)]) -> Result<usize, EditError> {
        let listed = |some: &[&(Criterion, usize)]| some.iter().map(|(one, _)| one.text.clone()).collect();
        let none = |which: String| EditError::Criterion {
            which,
            candidates: listed(&boxes.iter().collect::<Vec<_>>()),
            ambiguous: false,
        };
        let text = match self {
            Which::Number(number) => {
                let place = number.checked_sub(1).and_then(|index| boxes.get(index));
                return place.map(|(_, at)| *at).ok_or_else(|| none(number.to_string()));
            }
            Which::Text(text) => text.trim(),
        };
        if let Some((_, at)) = boxes.iter().find(|(one, _)| one.text == text) {
            return Ok(*at);
        }
        let wanted = text.to_lowercase();
        let like: Vec<&(Criterion, usize)> =
            boxes.iter().filter(|(one, _)| one.text.to_lowercase().contains(&wanted)).collect();
        match like.as_slice() {
            [(_, at)] if !wanted.is_empty() => Ok(*at),
            [] => Err(none(text.to_owned())),
            several => Err(EditError::Criterion {
                which: text.to_owned(),
                candidates: listed(several),
                ambiguous: true,
            }),
        }
    }
}

/// Whether an entity of a type may have such an attribute; for changes and for new entities alike.
pub fn check_value(kind: EntityType, name: &str, value: &str) -> Result<(), EditError> {
    let refuse =
        |message: String, hint: String| EditError::Attribute { name: name.to_owned(), message, hint };
    let names = kind.attribute_names();
    if !names.contains(&name) {
        let near = nearest(name, names.iter().copied())
            .map(|near| format!("did you mean {near}? "))
            .unwrap_or_default();
        let all = names.join(", ");
        return Err(refuse(
            format!("a {kind} has no attribute called {name}"),
            format!("{near}it has {all}"),
        ));
    }
    let known = kind.values(name);
    if !known.is_empty() && !known.iter().any(|word| word == value) {
        let near = nearest(value, known.iter().map(String::as_str));
        let near = near.map(|near| format!("did you mean {near}? ")).unwrap_or_default();
        let message = format!("{value:?} is no {name} of a {kind}");
        return Err(refuse(message, format!("{near}there are {}", known.join(", "))));
    }
    if value.is_empty() || value.chars().count() > ATTRIBUTE_CHARS_MAX || value.contains(char::is_control) {
        let hint = format!("write one line of at most {ATTRIBUTE_CHARS_MAX} characters");
        return Err(refuse(
            format!("the value of {name} is empty, too long or has control characters"),
            hint,
        ));
    }
    if value.contains("{%") || value.contains("%}") {
        return Err(refuse(
            format!("the value of {name} holds the sign of a tag"),
            "leave {% and %} out".into(),
        ));
    }
    Ok(())
}

fn check_attribute(kind: EntityType, node: &Node, name: &str, value: Option<&str>) -> Result<(), EditError> {
    let identity = if kind == EntityType::Milestone { "name" } else { "id" };
    if name == identity || name == "id" {
        let hint = "make a new entity with plan.create, and point to it with supersedes".to_owned();
        return Err(EditError::Attribute {
            name: name.to_owned(),
            message: format!("the {name} of an entity stays"),
            hint,
        });
    }
    match value {
        Some(value) => check_value(kind, name, value),
        // What is written may be taken away, known or not.
        None if node.annotation(name).is_some() => Ok(()),
        None => check_value(kind, name, "x").or_else(|error| match error {
            EditError::Attribute { ref message, .. } if message.contains("has no attribute") => Err(error),
            _ => Ok(()),
        }),
    }
}

/// What lies between the tags.
fn body(text: &str, tag: &EntityTag) -> (usize, usize) {
    let start = tag.node.opening().map_or(0, |opening| opening.end as usize);
    let end = tag.node.closing().map_or(text.len() - tag.offset, |closing| closing.start as usize);
    (tag.offset + start, tag.offset + end.max(start))
}

/// A string as Markdoc writes it.
pub(crate) fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Bytes that are replaced.
struct Edit {
    start: usize,
    end: usize,
    with: String,
}

fn carry_out(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| std::cmp::Reverse((edit.start, edit.end)));
    let mut edited = text.to_owned();
    for edit in edits {
        edited.replace_range(edit.start..edit.end, &edit.with);
    }
    edited
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\u{feff}Intro.\r\n\r\n{% work id=\"WORK-1\"   status=\"ready\" tags=\"a,b\" %}\r\n# T\r\n\r\n## AC\r\n\r\n\
                        - [ ] first thing\r\n- [x] second thing\r\n\r\n```\r\n{% work status=\"x\" %}\r\n```\r\n{% /work %}\r\ntail";

    fn attributes(pairs: &[(&str, Option<&str>)]) -> Changes {
        let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned)));
        Changes { attributes: pairs.collect(), ..Changes::default() }
    }

    fn apply(changes: &Changes) -> Result<String, EditError> {
        changes.apply(TEXT, "2026-01-02")
    }

    #[test]
    fn only_the_meant_bytes_change() {
        let edited =
            apply(&attributes(&[("status", Some("done")), ("priority", Some("high")), ("tags", None)]))
                .unwrap();
        let expect = TEXT.replace("status=\"ready\" tags=\"a,b\" %}", "status=\"done\" priority=\"high\" %}");
        assert_eq!(edited, expect);
    }

    #[test]
    fn boxes_are_ticked_by_text_part_or_number() {
        let tick = |check: &[Which], uncheck: &[Which]| {
            apply(&Changes { check: check.to_vec(), uncheck: uncheck.to_vec(), ..Changes::default() })
        };
        let text = |text: &str| Which::Text(text.to_owned());
        let both = TEXT.replace("[ ] first", "[x] first").replace("[x] second", "[ ] second");
        assert_eq!(tick(&[text("first thing")], &[Which::Number(2)]).unwrap(), both);
        assert_eq!(tick(&[text("FIRST")], &[text("second")]).unwrap(), both);
        assert_eq!(tick(&[text("second")], &[]).unwrap(), TEXT, "what is so stays so");
        let error = tick(&[text("thing")], &[]).unwrap_err();
        assert!(
            matches!(error, EditError::Criterion { ambiguous: true, ref candidates, .. } if candidates.len() == 2)
        );
        for missing in [text("third"), Which::Number(3), Which::Number(0)] {
            assert!(matches!(tick(&[missing], &[]), Err(EditError::Criterion { ambiguous: false, .. })));
        }
    }

    #[test]
    fn a_resolution_comes_before_the_closing_tag_in_the_files_own_line_ends() {
        let changes =
            Changes { resolution: Some("Done.\nReally.".into()), ..attributes(&[("status", Some("done"))]) };
        let edited = apply(&changes).unwrap();
        let section = "```\r\n\r\n## Resolution\r\n\r\nCompleted: 2026-01-02\r\n\r\nDone.\r\nReally.\r\n{% /work %}\r\ntail";
        assert!(edited.ends_with(section), "{edited:?}");
        assert_eq!(changes.apply(&edited, "2026-01-02"), Err(EditError::Resolved));
        let breaks_out = Changes { resolution: Some("{% /work %}".into()), ..Changes::default() };
        assert_eq!(apply(&breaks_out), Err(EditError::Broken));
    }

    #[test]
    fn values_outside_the_vocabulary_are_refused_with_the_nearest() {
        let refused = |name: &str, value: Option<&str>| match apply(&attributes(&[(name, value)])) {
            Err(EditError::Attribute { hint, .. }) => hint,
            other => panic!("{name}: {other:?}"),
        };
        assert!(refused("status", Some("redy")).contains("did you mean ready?"));
        assert!(refused("asignee", Some("me")).contains("did you mean assignee?"));
        assert!(refused("id", Some("WORK-2")).contains("plan.create"));
        assert!(refused("nonsense", None).contains("it has"));
        for bad in ["", "a\nb", "{% x %}"] {
            refused("assignee", Some(bad));
        }
        let quotes = apply(&attributes(&[("assignee", Some("a \"b\" \\c"))])).unwrap();
        assert_eq!(scan("", &quotes).entity.unwrap().attribute("assignee"), Some("a \"b\" \\c"));
    }

    #[test]
    fn what_is_no_entity_is_not_changed() {
        let changes = attributes(&[("status", Some("done"))]);
        assert!(matches!(changes.apply("# Nothing\n", ""), Err(EditError::NoEntity(_))));
        let closed = "{% milestone name=\"m\" /%}\n";
        let active = attributes(&[("status", Some("active"))]).apply(closed, "").unwrap();
        assert_eq!(active, "{% milestone name=\"m\" status=\"active\" /%}\n");
        let resolved = Changes { resolution: Some("x".into()), ..Changes::default() };
        assert!(matches!(resolved.apply(closed, ""), Err(EditError::NoEntity(_))));
    }
}
