//! Parses the parts of an engine configuration that have a short and a long form.

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor, value};

use super::engine_config::{BlockField, Layout, Style, StyleTransform};

/// Accepts a bare string or a table.
macro_rules! text_or_table {
    ($type:ty, $expecting:literal, $from_text:expr, $table:ty, $from_table:expr) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                struct Either;
                impl<'de> Visitor<'de> for Either {
                    type Value = $type;

                    fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        out.write_str($expecting)
                    }

                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$type, E> {
                        Ok($from_text(text.to_owned()))
                    }

                    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<$type, A::Error> {
                        <$table>::deserialize(value::MapAccessDeserializer::new(map)).map($from_table)
                    }
                }
                deserializer.deserialize_any(Either)
            }
        }
    };
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct StyleToml {
    prop: String,
    template: Option<String>,
    transform: Option<StyleTransform>,
}

text_or_table!(
    Style,
    "a property, or a table with `prop`",
    |prop| Style { prop, template: None, transform: None, bare: true },
    StyleToml,
    |table: StyleToml| Style {
        prop: table.prop,
        template: table.template,
        transform: table.transform,
        bare: false
    }
);

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct BlockFieldToml {
    field: String,
    align: Option<String>,
}

text_or_table!(
    BlockField,
    "the name of a meta-field, or a table with `field`",
    |field| BlockField { field, align: None },
    BlockFieldToml,
    |table: BlockFieldToml| BlockField { field: table.field, align: table.align }
);

impl<'de> Deserialize<'de> for Layout {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Layout, D::Error> {
        struct LayoutVisitor;
        impl<'de> Visitor<'de> for LayoutVisitor {
            type Value = Layout;

            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("a table with `root` and containers")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Layout, A::Error> {
                let mut layout = Layout::default();
                while let Some(name) = map.next_key::<String>()? {
                    if name == "root" {
                        layout.root = Some(map.next_value()?);
                    } else {
                        layout.containers.insert(name, map.next_value()?);
                    }
                }
                Ok(layout)
            }
        }
        deserializer.deserialize_map(LayoutVisitor)
    }
}
