//! The content model: how a rune reads the Markdown inside it.
//!
//! Most runes are a sequence of fields, written `"name: what"` with a mark: `?` may be missing, `*` any number, `+` at
//! least one, `!` must be there (the same as no mark, and said so in the reference). `what` is one or more of the words
//! of [`NodePattern`], parted by `|`. The other models are tables with a `kind`. How all of
//! this is written in TOML stands in `content_form`.

use indexmap::IndexMap;
use regex::Regex;

use crate::limits::MODEL_DEPTH_MAX;

/// How the children of a rune become named fields.
#[derive(Clone, Debug, PartialEq)]
pub enum ContentModel {
    /// Fields one after another.
    Sequence(Vec<Field>),
    /// A preamble, then one section for each heading.
    Sections(Box<SectionsModel>),
    /// Zones parted by rules.
    Delimited(Box<DelimitedModel>),
    /// A reading that only code can do.
    Custom(CustomModel),
    /// One of several models, by what is written.
    When(Box<ConditionalModel>),
}

/// One field of a sequence.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Name under which the rune finds what was matched.
    pub name: String,
    /// What it takes.
    pub pattern: NodePattern,
    /// May it be missing? `None` where the author did not say, which means no.
    pub optional: Option<bool>,
    /// Does it take every match in a row?
    pub greedy: bool,
    /// What an editor inserts for it.
    pub template: Option<String>,
    /// One line for the author of a page.
    pub description: Option<String>,
    /// How each item of a list is taken apart.
    pub item_model: Vec<PartExtractor>,
    /// The rune that each item becomes.
    pub emit_tag: Option<String>,
    /// Its attributes: `$name` of an extracted part, or the text itself.
    pub emit_attributes: IndexMap<String, String>,
}

/// What a field takes, as it was written and as it is understood.
#[derive(Clone, Debug, PartialEq)]
pub struct NodePattern {
    /// As it was written: `heading|paragraph`.
    pub source: String,
    /// Any one of these.
    pub any_of: Vec<NodePatternAlternative>,
}

/// One kind of child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodePatternAlternative {
    /// Whatever it is.
    Any,
    /// A paragraph.
    Paragraph,
    /// A heading, of one level or of any.
    Heading(Option<u8>),
    /// A list: ordered, unordered or either.
    List(Option<bool>),
    /// A picture, or a paragraph that holds nothing else.
    Image,
    /// A quotation.
    Blockquote,
    /// A code block.
    Fence,
    /// A rule.
    ThematicBreak,
    /// A table.
    Table,
    /// A tag, of one name or of any.
    Tag(Option<String>),
}

/// One part of a heading or of a list item.
#[derive(Clone, Debug)]
pub struct PartExtractor {
    /// Name of the part.
    pub name: String,
    /// Where it is looked for.
    pub from: PartSource,
    /// May it be missing? `None` where the author did not say.
    pub optional: Option<bool>,
}

/// Where a part is looked for.
#[derive(Clone, Debug)]
pub enum PartSource {
    /// The first inline node of this kind: its text, or one of its attributes.
    Inline {
        /// `strong`, `em`, `link`, `image` or `code`.
        node: String,
        /// The attribute to take instead of the text.
        attribute: Option<String>,
    },
    /// The first capture of a pattern in what is left of the text.
    Pattern(Regex),
    /// What is left of the text.
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
    /// The pattern as it was written, or the word that stands for it.
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
    /// How each section is read.
    pub section_model: ContentModel,
    /// Sections with a meaning of their own, by canonical name.
    pub known_sections: IndexMap<String, KnownSection>,
    /// The rune that each section becomes.
    pub emit_tag: Option<String>,
    /// Its attributes: `$heading`, `$name` of an extracted part, or the text itself.
    pub emit_attributes: IndexMap<String, String>,
    /// How the heading is taken apart.
    pub heading_extract: Vec<PartExtractor>,
    /// Attributes of the one section that everything forms when there is no heading.
    pub implicit_section: Option<IndexMap<String, String>>,
}

/// A section that means something.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownSection {
    /// Other headings that mean the same, whatever their case.
    pub alias: Vec<String>,
    /// How it is read, where that differs.
    pub model: Option<ContentModel>,
}

/// Zones parted by rules.
#[derive(Clone, Debug, PartialEq)]
pub struct DelimitedModel {
    /// What parts them: `hr`.
    pub delimiter: String,
    /// The zones, in order.
    pub zones: Vec<Zone>,
    /// As many zones as are written, each read alike.
    pub dynamic: Option<ContentModel>,
}

/// One zone.
#[derive(Clone, Debug, PartialEq)]
pub struct Zone {
    /// Name of the zone.
    pub name: String,
    /// Its fields.
    pub fields: Vec<Field>,
    /// Takes everything where there is no rule.
    pub primary: bool,
}

/// A reading that only code can do.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomModel {
    /// What the code makes of the content, for the author of a page.
    pub description: String,
}

/// One of several models.
#[derive(Clone, Debug, PartialEq)]
pub struct ConditionalModel {
    /// Tried in order.
    pub branches: Vec<ModelBranch>,
    /// Where none holds.
    pub default: ContentModel,
}

/// One case of a [`ConditionalModel`].
#[derive(Clone, Debug, PartialEq)]
pub struct ModelBranch {
    /// When it holds.
    pub condition: Condition,
    /// What is then used.
    pub model: ContentModel,
}

/// When a branch holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// The attribute has one of these values.
    AttributeIn(String, Vec<String>),
    /// The attribute is written.
    AttributeExists(String),
    /// There is such a child.
    HasChild(NodePattern),
}

impl ContentModel {
    /// The word for it in the reference.
    pub fn kind(&self) -> &'static str {
        match self {
            ContentModel::Sequence(_) => "sequence",
            ContentModel::Sections(_) => "sections",
            ContentModel::Delimited(_) => "delimited",
            ContentModel::Custom(_) => "custom",
            ContentModel::When(_) => "when",
        }
    }

    /// The names under which its fields are found. Those of a custom model and of zones only code knows.
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

    /// Levels of models within models.
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

    pub(crate) fn validation_error(&self) -> Option<String> {
        (self.depth() > MODEL_DEPTH_MAX)
            .then(|| format!("content models nest deeper than {MODEL_DEPTH_MAX} levels"))
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
    /// The words that a field may take, for messages.
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
