//! Enums whose variants are strings in JSON and in the database.

/// Declares such an enum: `Name, "name for messages" { Variant = "string", … }`.
macro_rules! string_enum {
    ($(#[$doc:meta])* $name:ident, $what:literal { $($variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs)]
        pub enum $name { $($variant),+ }

        impl $name {
            /// All strings, in the order of declaration.
            pub const NAMES: &'static [&'static str] = &[$($word),+];

            /// The string.
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }

            /// Parses a string exactly.
            pub fn parse(text: &str) -> Option<$name> {
                match text { $($word => Some($name::$variant),)+ _ => None }
            }

            /// Parses an argument; the error lists the allowed strings.
            #[allow(dead_code)]
            pub(crate) fn parse_arg(field: &str, text: &str) -> quad_core::Result<$name> {
                $name::parse(text).ok_or_else(|| crate::errors::unknown($what, field, text, Self::NAMES))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl crate::field::Field for $name {
            fn bind(&self, cells: &mut Vec<quad_store::Value>) {
                cells.push(self.as_str().into());
            }

            fn from_row(row: &quad_store::Row, at: &mut usize) -> quad_core::Result<$name> {
                let text = row.text(crate::field::next_column(at))?;
                $name::parse(text).ok_or_else(|| {
                    quad_core::Error::internal(format!("the stored {} {text} is unknown", $what))
                })
            }

            fn to_json(&self) -> serde_json::Value {
                self.as_str().into()
            }

            fn from_json(field: &str, value: &serde_json::Value) -> quad_core::Result<$name> {
                let text = value.as_str().ok_or_else(|| crate::errors::invalid(field, "must be a string"))?;
                $name::parse_arg(field, text)
            }
        }
    };
}
pub(crate) use string_enum;
