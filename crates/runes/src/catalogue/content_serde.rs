//! Parses content models from TOML: a field, a list of fields, or a table with a `kind`.

use indexmap::IndexMap;
use serde::Deserialize;
use serde::de::{self, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor, value};

use super::content_model::{
    Condition, ConditionalModel, ContentModel, CustomModel, DelimitedModel, Field, KnownSection, ModelBranch,
    NodePattern, NodePatternAlternative, PartExtractor, PartSource, SectionsModel, Zone,
};
use crate::js_regex::JsRegex;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FieldToml {
    field: String,
    template: Option<String>,
    description: Option<String>,
    #[serde(default)]
    item_model: Vec<PartExtractor>,
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
                let table = FieldToml::deserialize(value::MapAccessDeserializer::new(map))?;
                let field = Field::parse(&table.field).map_err(de::Error::custom)?;
                let part_names = table.item_model.iter().map(|part| part.name.as_str());
                check_variables(&table.emit_attributes, part_names).map_err(de::Error::custom)?;
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

/// Every `$name` in the emitted attributes must name an extracted part.
fn check_variables<'a>(
    attributes: &IndexMap<String, String>,
    known_names: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), String> {
    for (attribute, text) in attributes {
        let Some(variable) = text.strip_prefix('$') else { continue };
        if !known_names.clone().any(|name| name == variable) {
            let names: Vec<String> = known_names.map(|name| format!("${name}")).collect();
            return Err(format!("`{attribute}` uses `{text}`; available are {}", names.join(", ")));
        }
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PartExtractorToml {
    name: String,
    #[serde(rename = "match")]
    node: Option<String>,
    extract: Option<String>,
    pattern: Option<String>,
    optional: Option<bool>,
}

impl<'de> Deserialize<'de> for PartExtractor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PartExtractor, D::Error> {
        let table = PartExtractorToml::deserialize(deserializer)?;
        let from = match (table.node, table.pattern) {
            (None, Some(pattern)) if pattern == "remainder" => PartSource::Remainder,
            (None, Some(pattern)) => PartSource::Pattern(
                JsRegex::new(&pattern).map_err(|error| de::Error::custom(format!("bad pattern: {error}")))?,
            ),
            (Some(node), None) if ["strong", "em", "link", "image", "code"].contains(&node.as_str()) => {
                PartSource::Inline { node, attribute: table.extract }
            }
            (Some(node), None) => {
                let message = format!("`match` is `{node}`; known are strong, em, link, image, code");
                return Err(de::Error::custom(message));
            }
            _ => return Err(de::Error::custom("a part needs either `match` or `pattern`")),
        };
        Ok(PartExtractor { name: table.name, from, optional: table.optional })
    }
}

impl<'de> Deserialize<'de> for KnownSection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<KnownSection, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        struct KnownSectionToml {
            #[serde(default)]
            alias: Vec<String>,
            model: Option<ContentModel>,
        }
        struct KnownSectionVisitor;
        impl<'de> Visitor<'de> for KnownSectionVisitor {
            type Value = KnownSection;

            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("a list of other headings, or a table with `alias` and `model`")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<KnownSection, A::Error> {
                let alias = Vec::deserialize(value::SeqAccessDeserializer::new(seq))?;
                Ok(KnownSection { alias, model: None })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<KnownSection, A::Error> {
                let table = KnownSectionToml::deserialize(value::MapAccessDeserializer::new(map))?;
                Ok(KnownSection { alias: table.alias, model: table.model })
            }
        }
        deserializer.deserialize_any(KnownSectionVisitor)
    }
}

/// All keys of all models with a `kind`. [`ModelToml::model`] rejects keys that do not belong to the kind.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ModelToml {
    kind: String,
    fields: Option<Vec<Field>>,
    section_heading: Option<String>,
    section_model: Option<ContentModel>,
    known_sections: Option<IndexMap<String, KnownSection>>,
    emit_tag: Option<String>,
    emit_attributes: Option<IndexMap<String, String>>,
    heading_extract: Option<Vec<PartExtractor>>,
    implicit_section: Option<IndexMap<String, String>>,
    delimiter: Option<String>,
    zones: Option<Vec<ZoneToml>>,
    #[serde(default)]
    dynamic_zones: bool,
    zone_model: Option<ContentModel>,
    description: Option<String>,
    when: Option<Vec<BranchToml>>,
    default: Option<ContentModel>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ZoneToml {
    name: String,
    fields: Vec<Field>,
    #[serde(default)]
    primary: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct BranchToml {
    attribute: Option<String>,
    #[serde(rename = "in")]
    one_of: Option<Vec<String>>,
    has_child: Option<String>,
    model: ContentModel,
}

impl ModelToml {
    fn into_model(self) -> Result<ContentModel, String> {
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
        if let Some(unexpected) = self.written_keys().into_iter().find(|key| !allowed.contains(key)) {
            return Err(format!("`{unexpected}` does not belong to a content model of kind {kind}"));
        }
        let missing_key = |key: &str| format!("a content model of kind {kind} needs `{key}`");
        Ok(match self.kind.as_str() {
            "sequence" => ContentModel::Sequence(self.fields.ok_or_else(|| missing_key("fields"))?),
            "sections" => {
                let emit_attributes = self.emit_attributes.unwrap_or_default();
                let heading_extract = self.heading_extract.unwrap_or_default();
                let parts = heading_extract.iter().map(|part| part.name.as_str());
                check_variables(&emit_attributes, parts.chain(["heading"]))?;
                let section_heading = self.section_heading.unwrap_or_else(|| "heading".into());
                match NodePattern::parse(&section_heading)?.any_of.as_slice() {
                    [NodePatternAlternative::Heading(_)] => {}
                    _ => return Err("`section-heading` is `heading` or `heading:N`".into()),
                }
                ContentModel::Sections(Box::new(SectionsModel {
                    section_heading,
                    fields: self.fields.unwrap_or_default(),
                    section_model: self.section_model.ok_or_else(|| missing_key("section-model"))?,
                    known_sections: self.known_sections.unwrap_or_default(),
                    emit_tag: self.emit_tag,
                    emit_attributes,
                    heading_extract,
                    implicit_section: self.implicit_section,
                }))
            }
            "delimited" => {
                let dynamic = match (self.dynamic_zones, self.zone_model) {
                    (true, model) => Some(model.ok_or_else(|| missing_key("zone-model"))?),
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
                    return Err(missing_key("zones"));
                }
                let delimiter = self.delimiter.unwrap_or_else(|| "hr".into());
                ContentModel::Delimited(Box::new(DelimitedModel { delimiter, zones, dynamic }))
            }
            "custom" => ContentModel::Custom(CustomModel {
                description: self.description.ok_or_else(|| missing_key("description"))?,
            }),
            _ => {
                let branches = self.when.unwrap_or_default().into_iter().map(BranchToml::into_branch);
                ContentModel::When(Box::new(ConditionalModel {
                    branches: branches.collect::<Result<_, _>>()?,
                    default: self.default.ok_or_else(|| missing_key("default"))?,
                }))
            }
        })
    }

    /// The keys that are present, without `kind`.
    fn written_keys(&self) -> Vec<&'static str> {
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
        .filter_map(|(key, is_written)| is_written.then_some(key))
        .collect()
    }
}

impl BranchToml {
    fn into_branch(self) -> Result<ModelBranch, String> {
        let condition = match (self.attribute, self.one_of, self.has_child) {
            (Some(attribute), Some(values), None) => Condition::AttributeIn(attribute, values),
            (Some(attribute), None, None) => Condition::AttributeExists(attribute),
            (None, None, Some(child)) => Condition::HasChild(NodePattern::parse(&child)?),
            _ => return Err("a branch needs `attribute` (with or without `in`) or `has-child`".into()),
        };
        Ok(ModelBranch { condition, model: self.model })
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
                let table = ModelToml::deserialize(value::MapAccessDeserializer::new(map))?;
                table.into_model().map_err(de::Error::custom)
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
    fn string_and_list_parse_as_sequences() {
        assert_eq!(model("content = 'body: any*'"), model("content = ['body: any*']"));
        assert_eq!(model("content = []"), Ok(ContentModel::Sequence(Vec::new())));
    }

    #[test]
    fn content_model_errors_name_the_cause() {
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
            "available are $heading",
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
