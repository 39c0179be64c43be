//! Checks a page against the runes of a site: broken tags, unknown runes and attributes, missing attributes, invalid
//! values. Each finding has a line and a column. Renders nothing and reads no file.

use quad_address::closest;
use quad_markdoc::{Annotation, AnnotationKind, Document, Level, Node, NodeType, Options, Span, Value};
use quad_runes::catalogue::{Attribute, AttributeType, Catalogue, Rune};
use quad_runes::choices::{self, choices_hint};
use serde_json::{Map, json};

use crate::diagnostic::Severity;
use crate::limits::FINDINGS_MAX;
use crate::plan::parse::parse_ignoring_fences_with;

/// Tags of Markdoc itself, which are in no catalogue.
const MARKDOC_TAGS: [&str; 6] = ["if", "else", "partial", "slot", "table", "link"];

/// Attributes that every tag accepts.
const UNIVERSAL_ATTRIBUTES: [&str; 2] = ["id", "class"];

/// A problem in a page, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How serious it is.
    pub severity: Severity,
    /// A stable code.
    pub code: &'static str,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The rune concerned.
    pub rune: Option<String>,
    /// The attribute concerned.
    pub attribute: Option<String>,
    /// One sentence.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl Finding {
    /// As JSON.
    pub fn to_json(&self) -> serde_json::Value {
        let mut finding = Map::new();
        finding.insert("severity".into(), json!(self.severity.as_str()));
        finding.insert("code".into(), json!(self.code));
        finding.insert("line".into(), json!(self.line));
        finding.insert("column".into(), json!(self.column));
        for (key, value) in [("rune", &self.rune), ("attribute", &self.attribute)] {
            if let Some(value) = value {
                finding.insert(key.into(), json!(value));
            }
        }
        finding.insert("message".into(), json!(self.message));
        if let Some(hint) = &self.hint {
            finding.insert("hint".into(), json!(hint));
        }
        serde_json::Value::Object(finding)
    }
}

/// All findings of a page, in the order of the text; at most [`FINDINGS_MAX`]. `options` are those of its site.
pub fn lint_page(text: &str, catalogue: &Catalogue, options: Options) -> Vec<Finding> {
    // In plain Markdown, `{% … %}` is text.
    let finds_tags = options.tags;
    let Some(document) = parse_ignoring_fences_with(text, options) else { return Vec::new() };
    let mut linter = PageLinter { text, document: &document, catalogue, findings: Vec::new() };
    let mut nodes = vec![&document.root];
    while let Some(node) = nodes.pop() {
        if linter.findings.len() >= FINDINGS_MAX {
            break;
        }
        linter.check_node(node);
        if finds_tags && node.kind == NodeType::Text {
            linter.check_text(node);
        }
        // Tags in a code block are examples.
        if node.kind != NodeType::Fence {
            nodes.extend(node.children.iter().rev());
        }
    }
    let mut findings = linter.findings;
    findings.sort_by_key(|finding| (finding.line, finding.column));
    findings.truncate(FINDINGS_MAX);
    findings
}

struct PageLinter<'a> {
    text: &'a str,
    document: &'a Document,
    catalogue: &'a Catalogue,
    findings: Vec<Finding>,
}

impl PageLinter<'_> {
    fn check_node(&mut self, node: &Node) {
        for error in &node.errors {
            let severity =
                if error.id.level() == Level::Warning { Severity::Warning } else { Severity::Error };
            self.add_finding(severity, error.id.as_str(), error.span, error.message.clone());
        }
        let Some(name) = node.tag.as_deref().filter(|_| node.kind == NodeType::Tag) else { return };
        let Some(opening) = node.opening().filter(|_| !MARKDOC_TAGS.contains(&name)) else { return };
        match self.catalogue.rune(name) {
            Ok(rune) => {
                let rune = rune.clone();
                self.check_attributes(node, opening, &rune);
            }
            Err(unknown) => {
                let hint = unknown.hint();
                self.add_finding(Severity::Error, "unknown-rune", opening, unknown.to_string());
                self.with_details(Some(name), None, Some(hint));
            }
        }
    }

    /// Text that begins like a tag: the tag is never ended, so Markdoc shows it to readers.
    fn check_text(&mut self, node: &Node) {
        let source = self.text.get(node.span.range()).unwrap_or_default();
        let is_escaped = |at: usize| source.get(..at).is_some_and(|before| before.ends_with('\\'));
        let Some(at) = source.match_indices("{%").map(|(at, _)| at).find(|at| !is_escaped(*at)) else {
            return;
        };
        let Ok(offset) = u32::try_from(at) else { return };
        let start = node.span.start + offset;
        let message = "this tag is not ended by %}, so it is shown as text".to_owned();
        self.add_finding(Severity::Error, "broken-tag", Span { start, end: node.span.end }, message);
        let hint = "end the tag with %} in the same paragraph, or write \\{% for text".to_owned();
        self.with_details(None, None, Some(hint));
    }

    fn check_attributes(&mut self, node: &Node, opening: Span, rune: &Rune) {
        let catalogue = self.catalogue;
        let written =
            node.annotations.iter().filter(|annotation| annotation.kind == AnnotationKind::Attribute);
        for annotation in written.filter(|annotation| opening.contains(annotation.span)) {
            match catalogue.attribute(rune, &annotation.name) {
                Some(attribute) => self.check_value(rune, annotation, attribute),
                None if UNIVERSAL_ATTRIBUTES.contains(&annotation.name.as_str()) => {}
                None => self.report_unknown_attribute(rune, annotation),
            }
        }
        for (name, attribute) in catalogue.own_attributes(rune) {
            if attribute.required && node.annotation(name).is_none() {
                let message = format!("{} needs the attribute {name}", rune.name);
                self.add_finding(Severity::Error, "missing-attribute", opening, message);
                self.with_details(Some(&rune.name), Some(name), Some(hint_with("add", name, attribute)));
            }
        }
    }

    fn report_unknown_attribute(&mut self, rune: &Rune, annotation: &Annotation) {
        let own = self.catalogue.own_attributes(rune);
        let universal =
            self.catalogue.universal_attributes().filter(|_| rune.universal).map(|(name, _)| name);
        let near = closest(&annotation.name, own.keys().copied().chain(universal));
        let hint = match (near, own.is_empty()) {
            (Some(near), _) => format!("did you mean {near}?"),
            (None, true) => format!("remove it: {} has no attributes of its own", rune.name),
            (None, false) => choices_hint(&annotation.name, own.keys().copied()),
        };
        let message = format!("{} has no attribute called {}", rune.name, annotation.name);
        self.add_finding(Severity::Warning, "unknown-attribute", annotation.span, message);
        self.with_details(Some(&rune.name), Some(&annotation.name), Some(hint));
    }

    fn check_value(&mut self, rune: &Rune, annotation: &Annotation, attribute: &Attribute) {
        let name = &annotation.name;
        if attribute.deprecated {
            let message = format!("the attribute {name} of {} is deprecated", rune.name);
            self.add_finding(Severity::Warning, "deprecated-attribute", annotation.span, message);
            self.with_details(Some(&rune.name), Some(name), Some(hint_with("replace", name, attribute)));
        }
        let wrong_type = match (&annotation.value, attribute.kind) {
            // The type is known only when the page is rendered.
            (Value::Variable(_) | Value::Function(_) | Value::Null, _) => false,
            (Value::String(_), kind) => {
                !matches!(kind, AttributeType::String | AttributeType::List | AttributeType::NumberOrString)
            }
            (Value::Number(_), kind) => {
                !matches!(kind, AttributeType::Number | AttributeType::NumberOrString)
            }
            (Value::Bool(_), kind) => kind != AttributeType::Boolean,
            (Value::Array(_), kind) => !matches!(kind, AttributeType::Array | AttributeType::List),
            (Value::Hash(_), kind) => kind != AttributeType::Object,
        };
        if wrong_type {
            let kind = attribute.kind.reference_name();
            let message = format!("{name} of {} takes a value of type {kind}", rune.name);
            self.add_finding(Severity::Error, "invalid-type", annotation.value_span, message);
            self.with_details(Some(&rune.name), Some(name), None);
        }
        let Some(text) = annotation.value.as_str().filter(|_| !attribute.matches.is_empty()) else { return };
        if !attribute.matches.iter().any(|allowed| allowed == text) {
            let message = format!("{text:?} is not a valid {name} of {}", rune.name);
            self.add_finding(Severity::Error, "invalid-value", annotation.value_span, message);
            let hint = choices_hint(text, attribute.matches.iter().map(String::as_str));
            self.with_details(Some(&rune.name), Some(name), Some(hint));
        }
    }

    fn add_finding(&mut self, severity: Severity, code: &'static str, span: Span, message: String) {
        let position = self.document.lines.position(span.start);
        let start = self.document.lines.line_start(position.line).unwrap_or(0) as usize;
        let before = self.text.get(start..start + position.column as usize).unwrap_or_default();
        self.findings.push(Finding {
            severity,
            code,
            line: position.line as usize + 1,
            column: before.chars().count() + 1,
            rune: None,
            attribute: None,
            message,
            hint: None,
        });
    }

    /// Sets the rune, the attribute and the hint of the last finding.
    fn with_details(&mut self, rune: Option<&str>, attribute: Option<&str>, hint: Option<String>) {
        if let Some(last) = self.findings.last_mut() {
            last.rune = rune.map(str::to_owned);
            last.attribute = attribute.map(str::to_owned);
            last.hint = hint;
        }
    }
}

/// A hint that says what to do with an attribute, what the attribute means and which values it allows.
fn hint_with(action: &str, name: &str, attribute: &Attribute) -> String {
    let description = match attribute.description.trim_end_matches('.') {
        "" => String::new(),
        text => format!(": {text}"),
    };
    let values = match attribute.matches.as_slice() {
        [] => String::new(),
        matches => format!(", one of {}", choices::list(matches)),
    };
    format!("{action} {name}{description}{values}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lint_positions(text: &str) -> Vec<(&'static str, usize, usize)> {
        let findings = lint_page(text, &Catalogue::all_builtin(), Options::default());
        findings.iter().map(|finding| (finding.code, finding.line, finding.column)).collect()
    }

    #[test]
    fn lint_findings_have_line_and_column() {
        let text = "# T\n\n{% hint type=\"warnin\" %}\nText.\n{% /hint %}\n\n{% hnt %}\n{% /hnt %}\n\nä {% api method=\"GET\" /%}\n\n\
                    {% gallery columns=\"3\" wobble=1 %}\n{% /gallery %}\n";
        let expected = [
            ("invalid-value", 3, 14),
            ("unknown-rune", 7, 1),
            ("missing-attribute", 10, 3),
            ("invalid-type", 12, 20),
            ("unknown-attribute", 12, 24),
        ];
        assert_eq!(lint_positions(text), expected);
        let hints: Vec<Option<String>> = lint_page(text, &Catalogue::all_builtin(), Options::default())
            .into_iter()
            .map(|finding| finding.hint)
            .collect();
        assert!(hints[0].as_ref().unwrap().starts_with("did you mean warning?"), "{hints:?}");
        assert!(hints[1].as_ref().unwrap().contains("hint"), "{hints:?}");
    }

    #[test]
    fn lint_reports_broken_tags_and_ignores_code() {
        assert_eq!(lint_positions("{% hint %}\n\nSee {% link to= /%}.\n")[0], ("missing-closing", 1, 1));
        assert_eq!(lint_positions("```\n{% nonsense %}\n```\n"), []);
        assert_eq!(lint_positions("{% if $x %}\n{% hint type=$kind %}\nA\n{% /hint %}\n{% /if %}\n"), []);
        assert_eq!(lint_positions("# Plain {% #anchor .big %}\n"), []);
    }

    #[test]
    fn malformed_tags_are_found_with_their_lines() {
        for (text, line, column) in [
            ("# T\n\n{% hint type= %}\nA\n{% /hint %}\n", 3, 14),
            ("# T\n\nText.\n{% hint type=\"note\"\nA\n", 4, 1),
            ("a\n\nSee {% hint type=\"note %} and more.\n", 3, 5),
            ("a\n\n{% hint 7x %}\n", 3, 11),
            ("a\n\n{% /hint %}\n", 3, 1),
            ("a\n\n- b\n- {% if $x\n", 4, 3),
        ] {
            let found = lint_positions(text);
            assert!(found.iter().any(|(_, at, _)| *at == line), "{text}: {found:?}");
            let (_, _, first_column) = found.iter().find(|(_, at, _)| *at == line).unwrap();
            assert_eq!(*first_column, column, "{text}: {found:?}");
        }
        assert_eq!(lint_positions("Write \\{% for a tag, `{% x`, 5 %} and {{ x }}.\n"), []);
        let plain = Options { tags: false, ..Options::default() };
        let jinja = "{% for x in y %}\n{% if\n{{ x }}\n{% endfor %}\n";
        assert_eq!(lint_page(jinja, &Catalogue::all_builtin(), plain), []);
    }

    #[test]
    fn unknown_rune_hint_names_its_package() {
        let findings = lint_page("{% hero %}\n# T\n{% /hero %}\n", &Catalogue::core(), Options::default());
        assert!(findings[0].hint.as_ref().unwrap().contains("@refrakt-md/marketing"), "{findings:?}");
    }
}
