//! The content model: how a rune reads the Markdown inside it.
//!
//! Most runes are a sequence of fields, written `"name: what"` with a mark: `?` may be missing, `*` any number, `+` at
//! least one, `!` must be there (the same as no mark, and said so in the reference). `what` is one or more of the words
//! of [`Match`], parted by `|`. The other models are tables with a `kind`.

use indexmap::IndexMap;
use regex::Regex;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor, value};
use serde::{Deserialize, de::IntoDeserializer};

use crate::limits::MODEL_DEPTH_MAX;

/// How the children of a rune become named fields.
#[derive(Clone, Debug, PartialEq)]
pub enum ContentModel {
    /// Fields one after another.
    Sequence(Vec<Field>),
    /// A preamble, then one section for each heading.
    Sections(Box<Sections>),
    /// Zones parted by rules.
    Delimited(Box<Delimited>),
    /// A reading that only code can do.
    Custom(Custom),
    /// One of several models, by what is written.
    When(Box<When>),
}

/// One field of a sequence.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Name under which the rune finds what was matched.
    pub name: String,
    /// What it takes.
    pub matches: Match,
    /// May it be missing? `None` where the author did not say, which means no.
    pub optional: Option<bool>,
    /// Does it take every match in a row?
    pub greedy: bool,
    /// What an editor inserts for it.
    pub template: Option<String>,
    /// One line for the author of a page.
    pub description: Option<String>,
    /// How each item of a list is taken apart.
    pub item_model: Vec<Extract>,
    /// The rune that each item becomes.
    pub emit_tag: Option<String>,
    /// Its attributes: `$name` of an extracted part, or the text itself.
    pub emit_attributes: IndexMap<String, String>,
}

/// What a field takes, as it was written and as it is understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// As it was written: `heading|paragraph`.
    pub source: String,
    /// Any one of these.
    pub any_of: Vec<MatchOne>,
}

/// One kind of child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatchOne {
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
    Rule,
    /// A table.
    Table,
    /// A tag, of one name or of any.
    Tag(Option<String>),
}

/// One part of a heading or of a list item.
#[derive(Clone, Debug)]
pub struct Extract {
    /// Name of the part.
    pub name: String,
    /// Where it is looked for.
    pub from: ExtractFrom,
    /// May it be missing? `None` where the author did not say.
    pub optional: Option<bool>,
}

/// Where a part is looked for.
#[derive(Clone, Debug)]
pub enum ExtractFrom {
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

impl PartialEq for Extract {
    fn eq(&self, other: &Extract) -> bool {
        self.name == other.name && self.optional == other.optional && self.source() == other.source()
    }
}

impl Extract {
    /// The pattern as it was written, or the word that stands for it.
    pub fn source(&self) -> &str {
        match &self.from {
            ExtractFrom::Inline { node, .. } => node,
            ExtractFrom::Pattern(regex) => regex.as_str(),
            ExtractFrom::Remainder => "remainder",
        }
    }
}

/// A preamble, then one section for each heading.
#[derive(Clone, Debug, PartialEq)]
pub struct Sections {
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
    pub heading_extract: Vec<Extract>,
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
pub struct Delimited {
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
pub struct Custom {
    /// What the code makes of the content, for the author of a page.
    pub description: String,
}

/// One of several models.
#[derive(Clone, Debug, PartialEq)]
pub struct When {
    /// Tried in order.
    pub branches: Vec<Branch>,
    /// Where none holds.
    pub default: ContentModel,
}

/// One case of a [`When`].
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
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
    HasChild(Match),
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

    /// Levels of models within models.
    pub(crate) fn depth(&self) -> usize {
        1 + match self {
            ContentModel::Sequence(_) | ContentModel::Custom(_) => 0,
            ContentModel::Sections(sections) => {
                let known = sections.known_sections.values().filter_map(|known| known.model.as_ref());
                known.chain([&sections.section_model]).map(ContentModel::depth).max().unwrap_or(0)
            }
            ContentModel::Delimited(delimited) => delimited.dynamic.as_ref().map_or(0, ContentModel::depth),
            ContentModel::When(when) => {
                let branches = when.branches.iter().map(|branch| &branch.model);
                branches.chain([&when.default]).map(ContentModel::depth).max().unwrap_or(0)
            }
        }
    }

    pub(crate) fn mistake(&self) -> Option<String> {
        (self.depth() > MODEL_DEPTH_MAX)
            .then(|| format!("content models nest deeper than {MODEL_DEPTH_MAX} levels"))
    }
}

impl Field {
    fn parse(text: &str) -> Result<Field, String> {
        let shape = || format!("`{text}` is not a field; write \"name: what\", such as \"body: any*\"");
        let (name, rest) = text.split_once(": ").ok_or_else(shape)?;
        let (what, optional, greedy) = match rest.trim_end().chars().last().ok_or_else(shape)? {
            '?' => (&rest[..rest.len() - 1], Some(true), false),
            '*' => (&rest[..rest.len() - 1], Some(true), true),
            '+' => (&rest[..rest.len() - 1], None, true),
            '!' => (&rest[..rest.len() - 1], Some(false), false),
            _ => (rest, None, false),
        };
        if name.trim().is_empty() {
            return Err(shape());
        }
        Ok(Field {
            name: name.trim().into(),
            matches: Match::parse(what.trim())?,
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

impl Match {
    /// The words that a field may take, for messages.
    const WORDS: &'static str = "any, paragraph, heading, heading:N, list, list:ordered, list:unordered, image, blockquote, \
                                 fence, hr, table, tag, tag:NAME";

    pub(crate) fn parse(source: &str) -> Result<Match, String> {
        let any_of = source.split('|').map(MatchOne::parse).collect::<Result<_, _>>()?;
        Ok(Match { source: source.into(), any_of })
    }
}

impl MatchOne {
    fn parse(word: &str) -> Result<MatchOne, String> {
        let (kind, detail) = match word.trim().split_once(':') {
            Some((kind, detail)) => (kind, Some(detail)),
            None => (word.trim(), None),
        };
        Ok(match (kind, detail) {
            ("any", None) => MatchOne::Any,
            ("paragraph", None) => MatchOne::Paragraph,
            ("heading", None) => MatchOne::Heading(None),
            ("heading", Some(level)) if matches!(level, "1" | "2" | "3" | "4" | "5" | "6") => {
                MatchOne::Heading(level.parse().ok())
            }
            ("list", None) => MatchOne::List(None),
            ("list", Some("ordered")) => MatchOne::List(Some(true)),
            ("list", Some("unordered")) => MatchOne::List(Some(false)),
            ("image", None) => MatchOne::Image,
            ("blockquote", None) => MatchOne::Blockquote,
            ("fence", None) => MatchOne::Fence,
            ("hr", None) => MatchOne::Rule,
            ("table", None) => MatchOne::Table,
            ("tag", None) => MatchOne::Tag(None),
            ("tag", Some(name)) if !name.is_empty() => MatchOne::Tag(Some(name.into())),
            _ => return Err(format!("nothing matches `{word}`; known are {}", Match::WORDS)),
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FieldTable {
    field: String,
    template: Option<String>,
    description: Option<String>,
    #[serde(default)]
    item_model: Vec<Extract>,
    emit_tag: Option<String>,
    #[serde(default)]
    emit_attributes: IndexMap<String, String>,
}

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Field, D::Error> {
        struct FieldVisitor;
        impl<'de> Visitor<'de> for FieldVisitor {
            type Value = Field;

            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("a field: \"name: what\", or a table with `field`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Field, E> {
                Field::parse(text).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Field, A::Error> {
                let table = FieldTable::deserialize(value::MapAccessDeserializer::new(map))?;
                let field = Field::parse(&table.field).map_err(de::Error::custom)?;
                let known = table.item_model.iter().map(|part| part.name.as_str());
                known_variables(&table.emit_attributes, known).map_err(de::Error::custom)?;
                Ok(Field {
                    template: table.template,
                    description: table.description,
                    item_model: table.item_model,
                    emit_tag: table.emit_tag,
                    emit_attributes: table.emit_attributes,
                    ..field
                })
            }
        }
        deserializer.deserialize_any(FieldVisitor)
    }
}

/// Every `$name` of the emitted attributes must be something that was extracted.
fn known_variables<'a>(
    attributes: &IndexMap<String, String>,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), String> {
    for (attribute, text) in attributes {
        let Some(variable) = text.strip_prefix('$') else { continue };
        if !known.clone().any(|name| name == variable) {
            let names: Vec<String> = known.map(|name| format!("${name}")).collect();
            return Err(format!("`{attribute}` asks for `{text}`; known here are: {}", names.join(", ")));
        }
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ExtractTable {
    name: String,
    #[serde(rename = "match")]
    node: Option<String>,
    extract: Option<String>,
    pattern: Option<String>,
    optional: Option<bool>,
}

impl<'de> Deserialize<'de> for Extract {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Extract, D::Error> {
        let table = ExtractTable::deserialize(deserializer)?;
        let from = match (table.node, table.pattern) {
            (None, Some(pattern)) if pattern == "remainder" => ExtractFrom::Remainder,
            (None, Some(pattern)) => ExtractFrom::Pattern(
                Regex::new(&pattern).map_err(|error| de::Error::custom(format!("bad pattern: {error}")))?,
            ),
            (Some(node), None) if ["strong", "em", "link", "image", "code"].contains(&node.as_str()) => {
                ExtractFrom::Inline { node, attribute: table.extract }
            }
            (Some(node), None) => {
                let message = format!("`match` is `{node}`; known are strong, em, link, image, code");
                return Err(de::Error::custom(message));
            }
            _ => return Err(de::Error::custom("a part needs either `match` or `pattern`")),
        };
        Ok(Extract { name: table.name, from, optional: table.optional })
    }
}

impl<'de> Deserialize<'de> for KnownSection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<KnownSection, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        struct Table {
            #[serde(default)]
            alias: Vec<String>,
            model: Option<ContentModel>,
        }
        struct KnownVisitor;
        impl<'de> Visitor<'de> for KnownVisitor {
            type Value = KnownSection;

            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("a list of other headings, or a table with `alias` and `model`")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<KnownSection, A::Error> {
                let alias = Vec::deserialize(value::SeqAccessDeserializer::new(seq))?;
                Ok(KnownSection { alias, model: None })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<KnownSection, A::Error> {
                let table = Table::deserialize(value::MapAccessDeserializer::new(map))?;
                Ok(KnownSection { alias: table.alias, model: table.model })
            }
        }
        deserializer.deserialize_any(KnownVisitor)
    }
}

/// Every key of every model with a `kind`; which of them belong is settled in [`ModelTable::model`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ModelTable {
    kind: String,
    fields: Option<Vec<Field>>,
    section_heading: Option<String>,
    section_model: Option<ContentModel>,
    known_sections: Option<IndexMap<String, KnownSection>>,
    emit_tag: Option<String>,
    emit_attributes: Option<IndexMap<String, String>>,
    heading_extract: Option<Vec<Extract>>,
    implicit_section: Option<IndexMap<String, String>>,
    delimiter: Option<String>,
    zones: Option<Vec<ZoneTable>>,
    #[serde(default)]
    dynamic_zones: bool,
    zone_model: Option<ContentModel>,
    description: Option<String>,
    when: Option<Vec<BranchTable>>,
    default: Option<ContentModel>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ZoneTable {
    name: String,
    fields: Vec<Field>,
    #[serde(default)]
    primary: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct BranchTable {
    attribute: Option<String>,
    #[serde(rename = "in")]
    one_of: Option<Vec<String>>,
    has_child: Option<String>,
    model: ContentModel,
}

impl ModelTable {
    fn model(self) -> Result<ContentModel, String> {
        let kind = self.kind.clone();
        let allowed: &[&str] = match kind.as_str() {
            "sequence" => &["fields"],
            "sections" => &[
                "fields",
                "section-heading",
                "section-model",
                "known-sections",
                "emit-tag",
                "emit-attributes",
                "heading-extract",
                "implicit-section",
            ],
            "delimited" => &["delimiter", "zones", "dynamic-zones", "zone-model"],
            "custom" => &["description"],
            "when" => &["when", "default"],
            _ => {
                return Err(format!(
                    "`{kind}` is no content model; known are sequence, sections, delimited, custom, when"
                ));
            }
        };
        if let Some(stray) = self.written().into_iter().find(|key| !allowed.contains(key)) {
            return Err(format!("`{stray}` does not belong to a content model of kind {kind}"));
        }
        let needs = |key: &str| format!("a content model of kind {kind} needs `{key}`");
        Ok(match self.kind.as_str() {
            "sequence" => ContentModel::Sequence(self.fields.ok_or_else(|| needs("fields"))?),
            "sections" => {
                let emit_attributes = self.emit_attributes.unwrap_or_default();
                let heading_extract = self.heading_extract.unwrap_or_default();
                let parts = heading_extract.iter().map(|part| part.name.as_str());
                known_variables(&emit_attributes, parts.chain(["heading"]))?;
                let section_heading = self.section_heading.unwrap_or_else(|| "heading".into());
                match Match::parse(&section_heading)?.any_of.as_slice() {
                    [MatchOne::Heading(_)] => {}
                    _ => return Err("`section-heading` is `heading` or `heading:N`".into()),
                }
                ContentModel::Sections(Box::new(Sections {
                    section_heading,
                    fields: self.fields.unwrap_or_default(),
                    section_model: self.section_model.ok_or_else(|| needs("section-model"))?,
                    known_sections: self.known_sections.unwrap_or_default(),
                    emit_tag: self.emit_tag,
                    emit_attributes,
                    heading_extract,
                    implicit_section: self.implicit_section,
                }))
            }
            "delimited" => {
                let dynamic = match (self.dynamic_zones, self.zone_model) {
                    (true, model) => Some(model.ok_or_else(|| needs("zone-model"))?),
                    (false, None) => None,
                    (false, Some(_)) => return Err("`zone-model` goes with `dynamic-zones = true`".into()),
                };
                let zones: Vec<Zone> = self
                    .zones
                    .unwrap_or_default()
                    .into_iter()
                    .map(|zone| Zone { name: zone.name, fields: zone.fields, primary: zone.primary })
                    .collect();
                if dynamic.is_none() && zones.is_empty() {
                    return Err(needs("zones"));
                }
                let delimiter = self.delimiter.unwrap_or_else(|| "hr".into());
                ContentModel::Delimited(Box::new(Delimited { delimiter, zones, dynamic }))
            }
            "custom" => ContentModel::Custom(Custom {
                description: self.description.ok_or_else(|| needs("description"))?,
            }),
            _ => {
                let branches = self.when.unwrap_or_default().into_iter().map(BranchTable::branch);
                ContentModel::When(Box::new(When {
                    branches: branches.collect::<Result<_, _>>()?,
                    default: self.default.ok_or_else(|| needs("default"))?,
                }))
            }
        })
    }

    /// The keys that were written, `kind` aside.
    fn written(&self) -> Vec<&'static str> {
        [
            ("fields", self.fields.is_some()),
            ("section-heading", self.section_heading.is_some()),
            ("section-model", self.section_model.is_some()),
            ("known-sections", self.known_sections.is_some()),
            ("emit-tag", self.emit_tag.is_some()),
            ("emit-attributes", self.emit_attributes.is_some()),
            ("heading-extract", self.heading_extract.is_some()),
            ("implicit-section", self.implicit_section.is_some()),
            ("delimiter", self.delimiter.is_some()),
            ("zones", self.zones.is_some()),
            ("dynamic-zones", self.dynamic_zones),
            ("zone-model", self.zone_model.is_some()),
            ("description", self.description.is_some()),
            ("when", self.when.is_some()),
            ("default", self.default.is_some()),
        ]
        .into_iter()
        .filter_map(|(key, is)| is.then_some(key))
        .collect()
    }
}

impl BranchTable {
    fn branch(self) -> Result<Branch, String> {
        let condition = match (self.attribute, self.one_of, self.has_child) {
            (Some(attribute), Some(values), None) => Condition::AttributeIn(attribute, values),
            (Some(attribute), None, None) => Condition::AttributeExists(attribute),
            (None, None, Some(child)) => Condition::HasChild(Match::parse(&child)?),
            _ => return Err("a branch needs `attribute` (with or without `in`) or `has-child`".into()),
        };
        Ok(Branch { condition, model: self.model })
    }
}

impl<'de> Deserialize<'de> for ContentModel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ContentModel, D::Error> {
        struct ModelVisitor;
        impl<'de> Visitor<'de> for ModelVisitor {
            type Value = ContentModel;

            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("a content model: one field, a list of fields, or a table with `kind`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ContentModel, E> {
                let field = Field::deserialize(text.into_deserializer())?;
                Ok(ContentModel::Sequence(vec![field]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<ContentModel, A::Error> {
                Vec::deserialize(value::SeqAccessDeserializer::new(seq)).map(ContentModel::Sequence)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ContentModel, A::Error> {
                let table = ModelTable::deserialize(value::MapAccessDeserializer::new(map))?;
                table.model().map_err(de::Error::custom)
            }
        }
        deserializer.deserialize_any(ModelVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct File {
        content: ContentModel,
    }

    fn model(text: &str) -> Result<ContentModel, String> {
        toml::from_str::<File>(text).map(|file| file.content).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn a_mark_says_how_often() {
        let check = |text: &str, optional: Option<bool>, greedy: bool| {
            let field = Field::parse(text).unwrap();
            assert_eq!(
                (field.name.as_str(), field.optional, field.greedy),
                ("a", optional, greedy),
                "{text}"
            );
            assert_eq!(field.matches.source, "heading:2|list:ordered", "{text}");
        };
        check("a: heading:2|list:ordered", None, false);
        check("a: heading:2|list:ordered!", Some(false), false);
        check("a: heading:2|list:ordered?", Some(true), false);
        check("a: heading:2|list:ordered*", Some(true), true);
        check("a: heading:2|list:ordered+", None, true);
    }

    #[test]
    fn a_string_and_a_list_are_sequences() {
        assert_eq!(model("content = 'body: any*'"), model("content = ['body: any*']"));
        assert_eq!(model("content = []"), Ok(ContentModel::Sequence(Vec::new())));
    }

    #[test]
    fn mistakes_are_named() {
        let check = |text: &str, expect: &str| {
            let message = model(text).unwrap_err();
            assert!(message.contains(expect), "{text}: {message}");
        };
        check("content = 'body'", "is not a field");
        check("content = 'body: words'", "nothing matches `words`");
        check("content = 'body: heading:7'", "nothing matches `heading:7`");
        check("content = { kind = 'list' }", "is no content model");
        check("content = { kind = 'sections' }", "needs `section-model`");
        check("content = { kind = 'sections', section-model = [], zones = [] }", "`zones` does not belong");
        check("content = { kind = 'delimited' }", "needs `zones`");
        check("content = { kind = 'when' }", "needs `default`");
        check("content = { kind = 'custom', x = 1 }", "unknown field `x`");
        check(
            "content = { kind = 'sections', section-model = [], emit-attributes = { a = '$nope' } }",
            "known here are: $heading",
        );
        check(
            "content = [{ field = 'a: list', item-model = [{ name = 'x', pattern = '(' }] }]",
            "bad pattern",
        );
        check(
            "content = [{ field = 'a: list', item-model = [{ name = 'x' }] }]",
            "either `match` or `pattern`",
        );
    }
}
