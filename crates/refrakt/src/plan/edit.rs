//! Edits an entity in its text: attributes, criteria and the resolution. All other bytes stay as they are.
//!
//! Pure functions: text and changes in, text out. The result is parsed again and compared with the changes before it is
//! returned.

use std::ops::Range;

use indexmap::IndexMap;
use quad_markdoc::Node;
use quad_markdoc::edit::{self, Edit};
use quad_runes::choices::choices_hint;

use super::checklist;
use super::entity::{Criterion, Entity};
use super::entity_type::EntityType;
use super::parse::{EntityTag, attribute_texts, find_entity_tag, parse_file};
use crate::limits::ATTRIBUTE_CHARS_MAX;

/// The changes to an entity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntityChanges {
    /// Attributes by name; `None` removes one.
    pub attributes: IndexMap<String, Option<String>>,
    /// Criteria to check: the whole text of each, its number from 1, or a part of the text that only it contains.
    pub check: Vec<String>,
    /// Criteria to uncheck, selected in the same way.
    pub uncheck: Vec<String>,
    /// The text of a new section Resolution, or of an addition to the one that is there.
    pub resolution: Option<String>,
}

/// One change that was made, in the words of the npm package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldChange {
    /// The name of an attribute, `criterion` or `resolution`.
    pub field: String,
    /// The value before; empty if there was none.
    pub old: String,
    /// The value after; `(removed)` for an attribute that was removed.
    pub new: String,
}

/// An edited file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditedEntity {
    /// The new text.
    pub text: String,
    /// What was changed: attributes, then criteria, then the resolution. An attribute that had the value already is
    /// listed; a criterion that was set already is not.
    pub changes: Vec<FieldChange>,
}

/// Why the changes cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditError {
    /// The file has no entity, or its tag has no closing tag where one is needed.
    NoEntity(&'static str),
    /// Entities of this type have no attribute of this name.
    UnknownAttribute {
        /// The name.
        name: String,
        /// The type of the entity.
        kind: EntityType,
        /// What to do.
        hint: String,
    },
    /// The attribute exists, but it cannot be changed or not to this value.
    Attribute {
        /// Its name.
        name: String,
        /// What is wrong with it.
        message: String,
        /// What to do.
        hint: String,
    },
    /// No criterion matches, or several do.
    Criterion {
        /// The selector.
        selector: String,
        /// All criteria if none matches, or those that match.
        candidates: Vec<String>,
        /// Whether several match.
        ambiguous: bool,
    },
    /// The entity has several sections Resolution, so it is not clear which one to extend.
    AlreadyResolved,
    /// The result would not parse to the requested entity, because an inserted text opens or closes a tag.
    WouldNotParse,
}

impl EntityChanges {
    /// Whether there are no changes.
    pub fn is_empty(&self) -> bool {
        *self == EntityChanges::default()
    }

    /// Applies the changes. `today` is the date of a new resolution.
    pub fn apply(&self, text: &str, today: &str) -> Result<EditedEntity, EditError> {
        let tag =
            find_entity_tag(text).ok_or(EditError::NoEntity("the file has no entity that can be read"))?;
        let changes = self.with_canonical_values(tag.kind);
        for (name, value) in &changes.attributes {
            check_attribute(tag.kind, &tag.node, name, value.as_deref())?;
        }
        // Positions of the tag count from behind a byte order mark.
        let (bom, source) = text.split_at(tag.offset);
        let mut made = changes.attribute_changes(&tag);
        let mut edits = changes.attribute_edits(source, &tag)?;
        edits.extend(changes.checkbox_edits(source, &tag, &mut made)?);
        edits.extend(changes.resolution_edit(source, &tag, today, &mut made)?);
        let edited = format!("{bom}{}", edit::apply(source, edits));
        if changes.verify_result(&tag, text, &edited) {
            Ok(EditedEntity { text: edited, changes: made })
        } else {
            Err(EditError::WouldNotParse)
        }
    }

    fn attribute_changes(&self, tag: &EntityTag) -> Vec<FieldChange> {
        let before = attribute_texts(&tag.node);
        let changes = self.attributes.iter().filter_map(|(name, value)| {
            let old = before.get(name).cloned();
            let new = match (value, &old) {
                (Some(value), _) => value.clone(),
                (None, Some(_)) => "(removed)".to_owned(),
                (None, None) => return None,
            };
            Some(FieldChange { field: name.clone(), old: old.unwrap_or_default(), new })
        });
        changes.collect()
    }

    /// The same changes, with each value of a closed vocabulary in its canonical form.
    fn with_canonical_values(&self, kind: EntityType) -> EntityChanges {
        let mut changes = self.clone();
        for (name, value) in &mut changes.attributes {
            if let Some(value) = value {
                *value = kind.canonical_value(name, value).to_owned();
            }
        }
        changes
    }

    fn attribute_edits(&self, source: &str, tag: &EntityTag) -> Result<Vec<Edit>, EditError> {
        let mut edits = Vec::new();
        for (name, value) in &self.attributes {
            match value {
                Some(value) => {
                    let edit = edit::set_attribute(source, &tag.node, name, &edit::quote(value));
                    edits.push(edit.ok_or(EditError::NoEntity("the entity has no opening tag"))?);
                }
                None => edits.extend(edit::remove_attribute(source, &tag.node, name)),
            }
        }
        Ok(edits)
    }

    fn checkbox_edits(
        &self,
        source: &str,
        tag: &EntityTag,
        made: &mut Vec<FieldChange>,
    ) -> Result<Vec<Edit>, EditError> {
        if self.check.is_empty() && self.uncheck.is_empty() {
            return Ok(Vec::new());
        }
        let body = body_range(source, tag);
        let checkboxes = checklist::checkbox_offsets(&source[body.clone()]);
        let mut edits: Vec<Edit> = Vec::new();
        for (selectors, checked) in [(&self.check, true), (&self.uncheck, false)] {
            for selector in selectors {
                let (criterion, offset) = select_criterion(selector, &checkboxes, checked)?;
                let offset = body.start + offset;
                if criterion.checked == checked || edits.iter().any(|edit| edit.range.start == offset) {
                    continue;
                }
                let mark = |checked: bool| if checked { "x" } else { " " };
                edits.push(Edit { range: offset..offset + 1, replacement: mark(checked).to_owned() });
                let line = |checked: bool| format!("[{}] {}", mark(checked), criterion.text);
                made.push(FieldChange {
                    field: "criterion".to_owned(),
                    old: line(!checked),
                    new: line(checked),
                });
            }
        }
        Ok(edits)
    }

    /// A new section before the closing tag, or an addition at the end of the section that is there. A blank line
    /// surrounds it.
    fn resolution_edit(
        &self,
        source: &str,
        tag: &EntityTag,
        today: &str,
        made: &mut Vec<FieldChange>,
    ) -> Result<Option<Edit>, EditError> {
        let Some(resolution_text) = &self.resolution else { return Ok(None) };
        if !tag.kind.is_task() {
            return Err(EditError::Attribute {
                name: "resolve".to_owned(),
                message: format!("a {} has no resolution", tag.kind),
                hint: "send resolve for a work or a bug only".to_owned(),
            });
        }
        let closing = tag.node.closing();
        let closing =
            closing.ok_or(EditError::NoEntity("the entity has no closing tag to put a section before"))?;
        let body = body_range(source, tag);
        let (section_end, sections) = checklist::resolution_end(&source[body.clone()]);
        let (first_lines, position, old, new) = match (section_end, sections) {
            (Some(end), 1) => (["", "---", ""], body.start + end, "(appended)", "updated"),
            (_, 0) => (["", "## Resolution", ""], closing.start as usize, "", "added"),
            _ => return Err(EditError::AlreadyResolved),
        };
        let first_lines = if sections == 0 { &first_lines[1..] } else { &first_lines[..] };
        let line_end = if source.contains("\r\n") { "\r\n" } else { "\n" };
        let before = &source[..position];
        let gap = match before.strip_suffix(line_end) {
            Some(line) if line.ends_with(line_end) => String::new(),
            Some(_) => line_end.to_owned(),
            None => line_end.repeat(2),
        };
        let completed = format!("Completed: {today}");
        let resolution_lines: Vec<&str> = resolution_text.trim().lines().map(str::trim_end).collect();
        let lines = [first_lines, &[completed.as_str(), ""], &resolution_lines, &[""]].concat();
        let section: String = lines.iter().flat_map(|line| [line, line_end]).collect();
        made.push(FieldChange { field: "resolution".to_owned(), old: old.to_owned(), new: new.to_owned() });
        Ok(Some(Edit::insert(position, format!("{gap}{section}"))))
    }

    /// Whether the result has the requested values and everything else is unchanged.
    fn verify_result(&self, tag: &EntityTag, before: &str, after: &str) -> bool {
        let (Some(old), Some(new)) = (parse_file("", before).entity, parse_file("", after).entity) else {
            return false;
        };
        let attributes_match = self.attributes.iter().all(|(name, value)| {
            new.attributes.get(name).map(String::as_str).filter(|text| !text.is_empty()) == value.as_deref()
        });
        let unchanged_attributes = |entity: &Entity| -> Vec<(String, String)> {
            let untouched = entity.attributes.iter().filter(|(name, _)| !self.attributes.contains_key(*name));
            untouched.map(|(name, value)| (name.clone(), value.clone())).collect()
        };
        let changes_checkboxes = self.check.len() + self.uncheck.len() > 0;
        // The text behind the entity must stay behind it: an inserted closing tag would end the entity early.
        let tail_len = |text: &str, tag: &EntityTag| {
            tag.node.closing().map(|closing| text.len() - tag.offset - closing.end as usize)
        };
        let has_same_tail = find_entity_tag(after)
            .is_some_and(|tag_after| tail_len(after, &tag_after) == tail_len(before, tag));
        new.kind == tag.kind
            && has_same_tail
            && attributes_match
            && unchanged_attributes(&old) == unchanged_attributes(&new)
            && old.criteria.len() == new.criteria.len()
            && (changes_checkboxes || old.criteria == new.criteria)
            && (new.resolution.is_some() || self.resolution.is_none())
            && (self.resolution.is_some() || (old.refs == new.refs && old.resolution == new.resolution))
    }
}

/// The criterion that a text selects, with the offset of the mark in its checkbox: by its whole text, by its number if
/// the text is a number, or by a part of its text. Criteria that are not yet as wanted come first: `check` with a part
/// of two texts means the one that is unchecked.
fn select_criterion<'c>(
    selector: &str,
    checkboxes: &'c [(Criterion, usize)],
    checked: bool,
) -> Result<&'c (Criterion, usize), EditError> {
    let criterion_error = |candidates: &[&(Criterion, usize)], ambiguous: bool| EditError::Criterion {
        selector: selector.trim().to_owned(),
        candidates: candidates.iter().map(|(criterion, _)| criterion.text.clone()).collect(),
        ambiguous,
    };
    let not_found = || criterion_error(&checkboxes.iter().collect::<Vec<_>>(), false);
    let text = selector.trim();
    if text.is_empty() {
        return Err(not_found());
    }
    let select = |matches: &dyn Fn(&Criterion) -> bool| {
        let matching = checkboxes.iter().filter(|(criterion, _)| matches(criterion));
        let (open, set): (Vec<_>, Vec<_>) = matching.partition(|(criterion, _)| criterion.checked != checked);
        if open.is_empty() { set } else { open }
    };
    if let Some(exact) = select(&|criterion| criterion.text == text).first() {
        return Ok(exact);
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        let number: Option<usize> = text.parse().ok();
        return number.and_then(|number| checkboxes.get(number.checked_sub(1)?)).ok_or_else(not_found);
    }
    let needle = text.to_lowercase();
    match select(&|criterion| criterion.text.to_lowercase().contains(&needle)).as_slice() {
        [only] => Ok(only),
        [] => Err(not_found()),
        several => Err(criterion_error(several, true)),
    }
}

/// Checks that entities of this type have an attribute of this name.
fn check_name(kind: EntityType, name: &str) -> Result<(), EditError> {
    let names = kind.attribute_names();
    if names.contains(&name) {
        return Ok(());
    }
    let can_be_set = names.into_iter().filter(|name| !is_id(kind, name));
    let hint = choices_hint(name, can_be_set);
    Err(EditError::UnknownAttribute { name: name.to_owned(), kind, hint })
}

/// Checks that entities of this type may have this attribute with this value. For changes and for new entities.
pub fn check_value(kind: EntityType, name: &str, value: &str) -> Result<(), EditError> {
    check_name(kind, name)?;
    let attribute_error =
        |message: String, hint: String| EditError::Attribute { name: name.to_owned(), message, hint };
    let allowed = kind.allowed_values(name);
    if !allowed.is_empty() && !allowed.iter().any(|allowed_value| allowed_value == value) {
        let message = format!("{value:?} is not a valid {name} of a {kind}");
        return Err(attribute_error(message, choices_hint(value, allowed.iter().map(String::as_str))));
    }
    if value.is_empty() {
        let hint = format!("leave {name} out, or send attrs with {name} null to remove it");
        return Err(attribute_error(format!("the value of {name} is empty"), hint));
    }
    if value.chars().count() > ATTRIBUTE_CHARS_MAX || value.contains(char::is_control) {
        let hint = format!("write one line of at most {ATTRIBUTE_CHARS_MAX} characters");
        return Err(attribute_error(
            format!("the value of {name} is too long or contains control characters"),
            hint,
        ));
    }
    if value.contains("{%") || value.contains("%}") {
        return Err(attribute_error(
            format!("the value of {name} contains {{% or %}}"),
            "remove {% and %}".into(),
        ));
    }
    Ok(())
}

/// Whether an attribute identifies the entity.
fn is_id(kind: EntityType, name: &str) -> bool {
    name == "id" || (kind == EntityType::Milestone && name == "name")
}

fn check_attribute(kind: EntityType, node: &Node, name: &str, value: Option<&str>) -> Result<(), EditError> {
    if is_id(kind, name) {
        let hint = "create a new entity with plan_create, and set supersedes".to_owned();
        return Err(EditError::Attribute {
            name: name.to_owned(),
            message: format!("the {name} of an entity cannot be changed"),
            hint,
        });
    }
    match value {
        Some(value) => check_value(kind, name, value),
        // An attribute that is written may be removed, known or not.
        None if node.annotation(name).is_some() => Ok(()),
        None => check_name(kind, name),
    }
}

/// The byte range between the opening and the closing tag.
fn body_range(source: &str, tag: &EntityTag) -> Range<usize> {
    let start = tag.node.opening().map_or(0, |opening| opening.end as usize);
    let end = tag.node.closing().map_or(source.len(), |closing| closing.start as usize);
    start..end.max(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\u{feff}Intro.\r\n\r\n{% work id=\"WORK-1\"   status=\"ready\" tags=\"a,b\" %}\r\n# T\r\n\r\n## AC\r\n\r\n\
                        - [ ] first thing\r\n- [x] second thing\r\n\r\n```\r\n{% work status=\"x\" %}\r\n```\r\n{% /work %}\r\ntail";

    fn attributes(pairs: &[(&str, Option<&str>)]) -> EntityChanges {
        let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned)));
        EntityChanges { attributes: pairs.collect(), ..EntityChanges::default() }
    }

    fn apply(changes: &EntityChanges) -> Result<String, EditError> {
        apply_to(changes, TEXT)
    }

    fn apply_to(changes: &EntityChanges, text: &str) -> Result<String, EditError> {
        changes.apply(text, "2026-01-02").map(|edited| edited.text)
    }

    fn resolved(text: &str) -> EntityChanges {
        EntityChanges { resolution: Some(text.into()), ..EntityChanges::default() }
    }

    #[test]
    fn update_changes_only_target_bytes() {
        let edited =
            apply(&attributes(&[("status", Some("done")), ("priority", Some("high")), ("tags", None)]))
                .unwrap();
        let expected =
            TEXT.replace("status=\"ready\" tags=\"a,b\" %}", "status=\"done\" priority=\"high\" %}");
        assert_eq!(edited, expected);
    }

    #[test]
    fn criteria_are_checked_by_text_substring_or_number() {
        let tick = |check: &[&str], uncheck: &[&str]| {
            let texts = |selectors: &[&str]| selectors.iter().map(|text| (*text).to_owned()).collect();
            apply(&EntityChanges { check: texts(check), uncheck: texts(uncheck), ..EntityChanges::default() })
        };
        let both = TEXT.replace("[ ] first", "[x] first").replace("[x] second", "[ ] second");
        let both_open = TEXT.replace("[x] second", "[ ] second");
        assert_eq!(tick(&["first thing"], &["2"]).unwrap(), both);
        assert_eq!(tick(&["FIRST"], &["second"]).unwrap(), both);
        assert_eq!(tick(&["second"], &[]).unwrap(), TEXT, "what is so stays so");
        assert_eq!(
            tick(&["thing"], &[]).unwrap(),
            TEXT.replace("[ ] first", "[x] first"),
            "the unchecked one"
        );
        assert_eq!(tick(&[], &["thing"]).unwrap(), TEXT.replace("[x] second", "[ ] second"));
        let error =
            apply_to(&EntityChanges { check: vec!["thing".into()], ..EntityChanges::default() }, &both_open)
                .unwrap_err();
        assert!(
            matches!(error, EditError::Criterion { ambiguous: true, ref candidates, .. } if candidates.len() == 2)
        );
        for missing in ["third", "3", "0"] {
            assert!(matches!(tick(&[missing], &[]), Err(EditError::Criterion { ambiguous: false, .. })));
        }
    }

    #[test]
    fn resolution_is_inserted_before_closing_tag_with_file_newlines() {
        let changes = EntityChanges {
            resolution: Some("Done.\nReally.".into()),
            ..attributes(&[("status", Some("done"))])
        };
        let edited = apply(&changes).unwrap();
        let section = "```\r\n\r\n## Resolution\r\n\r\nCompleted: 2026-01-02\r\n\r\nDone.\r\nReally.\r\n\r\n{% /work %}\r\ntail";
        assert!(edited.ends_with(section), "{edited:?}");
        assert_eq!(apply(&resolved("{% /work %}")), Err(EditError::WouldNotParse));
    }

    #[test]
    fn second_resolution_is_appended_to_its_section() {
        let text = "{% bug id=\"B\" %}\n# T\n\n## Resolution\n\nOne.\n\n## Notes\n\nText.\n{% /bug %}\n";
        let edited = resolved("Two.").apply(text, "2026-01-02").unwrap();
        let expected = text.replace("One.\n\n", "One.\n\n\n---\n\nCompleted: 2026-01-02\n\nTwo.\n\n");
        assert_eq!(edited.text, expected);
        let change =
            FieldChange { field: "resolution".into(), old: "(appended)".into(), new: "updated".into() };
        assert_eq!(edited.changes, [change]);
        let several = text.replace("## Notes", "## Resolution");
        assert_eq!(apply_to(&resolved("Two."), &several), Err(EditError::AlreadyResolved));
        let spec = "{% spec id=\"S\" %}\n{% /spec %}\n";
        assert!(matches!(
            apply_to(&resolved("x"), spec),
            Err(EditError::Attribute { ref name, .. }) if name == "resolve"
        ));
    }

    #[test]
    fn changes_have_old_and_new_values() {
        let changes = EntityChanges {
            check: vec!["first".into(), "second".into()],
            uncheck: vec!["2".into()],
            ..attributes(&[
                ("status", Some("Ready")),
                ("priority", Some("high")),
                ("tags", None),
                ("assignee", None),
            ])
        };
        let edited = changes.apply(TEXT, "").unwrap();
        let made: Vec<(&str, &str, &str)> = edited
            .changes
            .iter()
            .map(|change| (change.field.as_str(), change.old.as_str(), change.new.as_str()))
            .collect();
        assert_eq!(
            made,
            [
                ("status", "ready", "ready"),
                ("priority", "", "high"),
                ("tags", "a,b", "(removed)"),
                ("criterion", "[ ] first thing", "[x] first thing"),
                ("criterion", "[x] second thing", "[ ] second thing"),
            ]
        );
    }

    #[test]
    fn invalid_attribute_values_are_rejected_with_suggestion() {
        let rejection_hint = |name: &str, value: Option<&str>| match apply(&attributes(&[(name, value)])) {
            Err(EditError::Attribute { hint, .. } | EditError::UnknownAttribute { hint, .. }) => hint,
            other => panic!("{name}: {other:?}"),
        };
        assert!(rejection_hint("status", Some("redy")).contains("did you mean ready?"));
        assert!(rejection_hint("asignee", Some("me")).contains("did you mean assignee?"));
        assert!(rejection_hint("id", Some("WORK-2")).contains("plan_create"));
        assert!(rejection_hint("nonsense", None).starts_with("use one of status, "), "without the id");
        for bad in ["", "a\nb", "{% x %}"] {
            rejection_hint("assignee", Some(bad));
        }
        let quotes = apply(&attributes(&[("assignee", Some("a \"b\" \\c"))])).unwrap();
        assert_eq!(parse_file("", &quotes).entity.unwrap().attribute("assignee"), Some("a \"b\" \\c"));
    }

    #[test]
    fn removing_unknown_attribute_fails_by_error_kind() {
        let removed = |name: &str| apply(&attributes(&[(name, None)]));
        assert!(
            matches!(removed("nonsense"), Err(EditError::UnknownAttribute { ref name, .. }) if name == "nonsense")
        );
        assert_eq!(removed("assignee").unwrap(), TEXT, "a known attribute that is not written");
        let unknown_but_written = "{% work id=\"W\" nonsense=\"x\" %}\n{% /work %}\n";
        let edited = apply_to(&attributes(&[("nonsense", None)]), unknown_but_written).unwrap();
        assert_eq!(edited, "{% work id=\"W\" %}\n{% /work %}\n");
    }

    #[test]
    fn update_rejects_file_without_entity() {
        let changes = attributes(&[("status", Some("done"))]);
        assert!(matches!(changes.apply("# Nothing\n", ""), Err(EditError::NoEntity(_))));
        let closed = "{% milestone name=\"m\" /%}\n";
        let active = apply_to(&attributes(&[("status", Some("active"))]), closed).unwrap();
        assert_eq!(active, "{% milestone name=\"m\" status=\"active\" /%}\n");
        let closed_work = "{% work id=\"W\" /%}\n";
        assert!(matches!(apply_to(&resolved("x"), closed_work), Err(EditError::NoEntity(_))));
    }
}
