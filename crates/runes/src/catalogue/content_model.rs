//! The content model: how a rune reads the Markdown inside it.
//!
//! Most runes are a sequence of fields, written `"name: pattern"` with an optional mark: `?` is optional, `*` matches
//! any number, `+` at least one, `!` is required (the default; the reference shows it). A pattern is one or more words
//! of [`NodePatternAlternative`], separated by `|`. The other models are tables with a `kind`. `content_serde` parses
//! the TOML.

use indexmap::IndexMap;

use crate::js_regex::JsRegex;
use crate::limits::MODEL_DEPTH_MAX;

/// How the children of a rune become named fields.
#[derive(Clone, Debug, PartialEq)]
pub enum ContentModel {
    /// Fields in a row.
    Sequence(Vec<Field>),
    /// A preamble, then one section for each heading.
    Sections(Box<SectionsModel>),
    /// Zones separated by thematic breaks.
    Delimited(Box<DelimitedModel>),
    /// The rune's Rust code reads the nodes.
    Custom(CustomModel),
    /// One of several models, chosen by a condition.
    When(Box<ConditionalModel>),
}

/// One field of a sequence.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Name under which the rune finds the matched nodes.
    pub name: String,
    /// The nodes that it matches.
    pub pattern: NodePattern,
    /// Whether it may be missing. `None` if the author did not say, which means no.
    pub optional: Option<bool>,
    /// Whether it matches every matching node in a row.
    pub greedy: bool,
    /// Text that an editor inserts for it.
    pub template: Option<String>,
    /// One line for the author of a page.
    pub description: Option<String>,
    /// The parts that are extracted from each list item.
    pub item_model: Vec<PartExtractor>,
    /// The rune that each item becomes.
    pub emit_tag: Option<String>,
    /// Attributes of that rune: `$name` of an extracted part, or literal text.
    pub emit_attributes: IndexMap<String, String>,
}

/// The nodes that a field matches: source text and parsed form.
#[derive(Clone, Debug, PartialEq)]
pub struct NodePattern {
    /// Source text: `heading|paragraph`.
    pub source: String,
    /// The alternatives.
    pub any_of: Vec<NodePatternAlternative>,
}

/// One alternative of a [`NodePattern`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodePatternAlternative {
    /// Any node.
    Any,
    /// A paragraph.
    Paragraph,
    /// A heading of one level, or of any level.
    Heading(Option<u8>),
    /// A list: ordered, unordered or either.
    List(Option<bool>),
    /// An image, or a paragraph that contains only an image.
    Image,
    /// A block quote.
    Blockquote,
    /// A code block.
    Fence,
    /// A thematic break.
    ThematicBreak,
    /// A table.
    Table,
    /// A tag with one name, or with any name.
    Tag(Option<String>),
}

/// One part that is extracted from a heading or a list item.
#[derive(Clone, Debug)]
pub struct PartExtractor {
    /// Name of the part.
    pub name: String,
    /// Where the text comes from.
    pub from: PartSource,
    /// Whether it may be missing. `None` if the author did not say.
    pub optional: Option<bool>,
}

/// Where the text of a part comes from.
#[derive(Clone, Debug)]
pub enum PartSource {
    /// The first inline node of this kind: its text, or one of its attributes.
    Inline {
        /// `strong`, `em`, `link`, `image` or `code`.
        node: String,
        /// The attribute to take instead of the text.
        attribute: Option<String>,
    },
    /// The first capture group of a pattern in the remaining text.
    Pattern(JsRegex),
    /// The remaining text.
    Remainder,
}

impl PartialEq for PartExtractor {
    fn eq(&self, other: &PartExtractor) -> bool {
        self.name == other.name
            && self.optional == other.optional
            && self.pattern_text() == other.pattern_text()
    }
}

impl PartExtractor {
    /// The source of the pattern, or the word for the other cases.
    pub fn pattern_text(&self) -> &str {
        match &self.from {
            PartSource::Inline { node, .. } => node,
            PartSource::Pattern(regex) => regex.as_str(),
            PartSource::Remainder => "remainder",
        }
    }
}

/// A preamble, then one section for each heading.
#[derive(Clone, Debug, PartialEq)]
pub struct SectionsModel {
    /// `heading`, or `heading:N` for one level.
    pub section_heading: String,
    /// Fields of the preamble.
    pub fields: Vec<Field>,
    /// The model of each section.
    pub section_model: ContentModel,
    /// Sections with a special model or aliases, by canonical name.
    pub known_sections: IndexMap<String, KnownSection>,
    /// The rune that each section becomes.
    pub emit_tag: Option<String>,
    /// Attributes of that rune: `$heading`, `$name` of an extracted part, or literal text.
    pub emit_attributes: IndexMap<String, String>,
    /// The parts that are extracted from the heading.
    pub heading_extract: Vec<PartExtractor>,
    /// Attributes of the single section that holds everything when there is no heading.
    pub implicit_section: Option<IndexMap<String, String>>,
}

/// A section that the rune knows by its heading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownSection {
    /// Other headings for the same section, in any case.
    pub alias: Vec<String>,
    /// Its model, if it is not the model of all sections.
    pub model: Option<ContentModel>,
}

/// Zones separated by thematic breaks.
#[derive(Clone, Debug, PartialEq)]
pub struct DelimitedModel {
    /// The separator: `hr`.
    pub delimiter: String,
    /// The zones, in order.
    pub zones: Vec<Zone>,
    /// The model of every zone, where the number of zones is open.
    pub dynamic: Option<ContentModel>,
}

/// One zone.
#[derive(Clone, Debug, PartialEq)]
pub struct Zone {
    /// Name of the zone.
    pub name: String,
    /// Its fields.
    pub fields: Vec<Field>,
    /// Receives everything if there is no separator.
    pub primary: bool,
}

/// The rune's Rust code reads the nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomModel {
    /// What the code reads, for the author of a page.
    pub description: String,
}

/// One of several models, chosen by a condition.
#[derive(Clone, Debug, PartialEq)]
pub struct ConditionalModel {
    /// Tried in order.
    pub branches: Vec<ModelBranch>,
    /// Used if no branch matches.
    pub default: ContentModel,
}

/// One case of a [`ConditionalModel`].
#[derive(Clone, Debug, PartialEq)]
pub struct ModelBranch {
    /// The condition.
    pub condition: Condition,
    /// The model to use.
    pub model: ContentModel,
}

/// The condition of a branch.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// The attribute has one of these values.
    AttributeIn(String, Vec<String>),
    /// The attribute is written.
    AttributeExists(String),
    /// A child matches.
    HasChild(NodePattern),
}

impl ContentModel {
    /// The name of the condition in the reference.
    pub fn kind(&self) -> &'static str {
        match self {
            ContentModel::Sequence(_) => "sequence",
            ContentModel::Sections(_) => "sections",
            ContentModel::Delimited(_) => "delimited",
            ContentModel::Custom(_) => "custom",
            ContentModel::When(_) => "when",
        }
    }

    /// Names of the fields. Empty for custom models and dynamic zones, whose names only the code knows.
    pub(crate) fn field_names(&self) -> Vec<&str> {
        match self {
            ContentModel::Sequence(fields) => fields.iter().map(|field| field.name.as_str()).collect(),
            ContentModel::Sections(sections) => {
                let preamble = sections.fields.iter().map(|field| field.name.as_str());
                preamble.chain(["sections"]).collect()
            }
            ContentModel::Custom(_) => vec!["children"],
            ContentModel::Delimited(_) => Vec::new(),
            ContentModel::When(when) => {
                let branches = when.branches.iter().map(|branch| &branch.model);
                branches.chain([&when.default]).flat_map(ContentModel::field_names).collect()
            }
        }
    }

    /// Nesting depth of models.
    pub(crate) fn depth(&self) -> usize {
        1 + match self {
            ContentModel::Sequence(_) | ContentModel::Custom(_) => 0,
            ContentModel::Sections(sections) => {
                let section_models =
                    sections.known_sections.values().filter_map(|section| section.model.as_ref());
                section_models.chain([&sections.section_model]).map(ContentModel::depth).max().unwrap_or(0)
            }
            ContentModel::Delimited(delimited) => delimited.dynamic.as_ref().map_or(0, ContentModel::depth),
            ContentModel::When(when) => {
                let branches = when.branches.iter().map(|branch| &branch.model);
                branches.chain([&when.default]).map(ContentModel::depth).max().unwrap_or(0)
            }
        }
    }

    pub(crate) fn validate(&self) -> Result<(), String> {
        if self.depth() > MODEL_DEPTH_MAX {
            return Err(format!("content models nest deeper than {MODEL_DEPTH_MAX} levels"));
        }
        Ok(())
    }
}

impl Field {
    pub(super) fn parse(text: &str) -> Result<Field, String> {
        let syntax_error =
            || format!("`{text}` is not a field; write \"name: what\", such as \"body: any*\"");
        let (name, rest) = text.split_once(": ").ok_or_else(syntax_error)?;
        let (pattern, optional, greedy) = match rest.trim_end().chars().last().ok_or_else(syntax_error)? {
            '?' => (&rest[..rest.len() - 1], Some(true), false),
            '*' => (&rest[..rest.len() - 1], Some(true), true),
            '+' => (&rest[..rest.len() - 1], None, true),
            '!' => (&rest[..rest.len() - 1], Some(false), false),
            _ => (rest, None, false),
        };
        if name.trim().is_empty() {
            return Err(syntax_error());
        }
        Ok(Field {
            name: name.trim().into(),
            pattern: NodePattern::parse(pattern.trim())?,
            optional,
            greedy,
            template: None,
            description: None,
            item_model: Vec::new(),
            emit_tag: None,
            emit_attributes: IndexMap::new(),
        })
    }
}

impl NodePattern {
    /// The words that a pattern may use, for messages.
    const KNOWN_WORDS: &'static str = "any, paragraph, heading, heading:N, list, list:ordered, list:unordered, image, blockquote, \
                                 fence, hr, table, tag, tag:NAME";

    pub(super) fn parse(source: &str) -> Result<NodePattern, String> {
        let any_of = source.split('|').map(NodePatternAlternative::parse).collect::<Result<_, _>>()?;
        Ok(NodePattern { source: source.into(), any_of })
    }
}

impl NodePatternAlternative {
    fn parse(word: &str) -> Result<NodePatternAlternative, String> {
        let (kind, detail) = match word.trim().split_once(':') {
            Some((kind, detail)) => (kind, Some(detail)),
            None => (word.trim(), None),
        };
        Ok(match (kind, detail) {
            ("any", None) => NodePatternAlternative::Any,
            ("paragraph", None) => NodePatternAlternative::Paragraph,
            ("heading", None) => NodePatternAlternative::Heading(None),
            ("heading", Some(level)) if matches!(level, "1" | "2" | "3" | "4" | "5" | "6") => {
                NodePatternAlternative::Heading(level.parse().ok())
            }
            ("list", None) => NodePatternAlternative::List(None),
            ("list", Some("ordered")) => NodePatternAlternative::List(Some(true)),
            ("list", Some("unordered")) => NodePatternAlternative::List(Some(false)),
            ("image", None) => NodePatternAlternative::Image,
            ("blockquote", None) => NodePatternAlternative::Blockquote,
            ("fence", None) => NodePatternAlternative::Fence,
            ("hr", None) => NodePatternAlternative::ThematicBreak,
            ("table", None) => NodePatternAlternative::Table,
            ("tag", None) => NodePatternAlternative::Tag(None),
            ("tag", Some(name)) if !name.is_empty() => NodePatternAlternative::Tag(Some(name.into())),
            _ => return Err(format!("nothing matches `{word}`; known are {}", NodePattern::KNOWN_WORDS)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_suffix_sets_optional_and_greedy() {
        let check = |text: &str, optional: Option<bool>, greedy: bool| {
            let field = Field::parse(text).unwrap();
            assert_eq!(
                (field.name.as_str(), field.optional, field.greedy),
                ("a", optional, greedy),
                "{text}"
            );
            assert_eq!(field.pattern.source, "heading:2|list:ordered", "{text}");
        };
        check("a: heading:2|list:ordered", None, false);
        check("a: heading:2|list:ordered!", Some(false), false);
        check("a: heading:2|list:ordered?", Some(true), false);
        check("a: heading:2|list:ordered*", Some(true), true);
        check("a: heading:2|list:ordered+", None, true);
    }
}
