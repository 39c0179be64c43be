//! The mapping of a table: the role of each column, and the notation of dates and amounts.
//!
//! A mapping is inferred once, shown to a person, corrected by [`Overrides`], stored as JSON and used for the next file
//! of the same account. It names columns as the file does, so it is valid until the bank changes its header.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::csv::Role;
use crate::csv::role::normalize_header;
use crate::date::DateOrder;
use crate::number::DecimalMark;
use crate::{Currency, ParseError};

/// The mapping of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    /// The delimiter between the fields of a record.
    pub delimiter: char,
    /// The names of all columns, to recognise the bank's format; empty if the table has no header.
    #[serde(default)]
    pub header: Vec<String>,
    /// The columns of each role: by name, or by position from one as `#3`.
    pub columns: BTreeMap<Role, Vec<String>>,
    /// The order of day, month and year.
    pub order: DateOrder,
    /// The decimal mark.
    pub decimal: DecimalMark,
    /// Whether signs are inverted: some card issuers write money out without a minus and money in with one.
    #[serde(default)]
    pub inverted: bool,
    /// The currency of rows without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<Currency>,
}

impl Mapping {
    /// The columns of a role.
    pub fn columns(&self, role: Role) -> &[String] {
        self.columns.get(&role).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Writes one setting per line, in the syntax that [`Overrides`] parses.
impl fmt::Display for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for role in Role::ALL {
            let columns = self.columns(role);
            if !columns.is_empty() {
                writeln!(f, "{}={}", role.name(), columns.join("+"))?;
            }
        }
        let order = match self.order {
            DateOrder::Dmy => "dmy",
            DateOrder::Mdy => "mdy",
            DateOrder::Ymd => "ymd",
        };
        let decimal = match self.decimal {
            DecimalMark::Point => "point",
            DecimalMark::Comma => "comma",
        };
        let sign = if self.inverted { "inverted" } else { "plain" };
        let delimiter = match self.delimiter {
            '\t' => "tab".into(),
            other => other.to_string(),
        };
        write!(f, "order={order}\ndecimal={decimal}\nsign={sign}\ndelimiter={delimiter}")?;
        match self.currency {
            Some(currency) => write!(f, "\ncurrency={currency}"),
            None => Ok(()),
        }
    }
}

/// Settings of a person for a table. They take precedence over inference and over a remembered mapping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    pub(crate) columns: BTreeMap<Role, Vec<String>>,
    pub(crate) order: Option<DateOrder>,
    pub(crate) decimal: Option<DecimalMark>,
    pub(crate) inverted: Option<bool>,
    pub(crate) delimiter: Option<char>,
    pub(crate) currency: Option<Currency>,
}

impl Overrides {
    /// Adds one setting:
    /// - `date=Buchungstag`, `description=Text+Memo`, `amount=#3`, `balance=` (no column); the roles are those of
    ///   [`Role::name`];
    /// - `order=dmy|mdy|ymd`, `decimal=point|comma`, `sign=plain|inverted`, `delimiter=;`, `delimiter=tab`;
    /// - `currency=EUR`, the currency of rows without one, or `currency=Währung`, the column with the currency.
    pub fn set(&mut self, setting: &str) -> Result<(), ParseError> {
        let invalid = |reason: &str| ParseError::BadOverride {
            text: crate::diagnostic::quote(setting),
            reason: reason.into(),
        };
        let (key, value) = setting.split_once('=').ok_or_else(|| invalid("it has no equals sign"))?;
        let (key, value) = (key.trim(), value.trim());
        match key {
            "order" => {
                self.order = Some(match value {
                    "dmy" => DateOrder::Dmy,
                    "mdy" => DateOrder::Mdy,
                    "ymd" => DateOrder::Ymd,
                    _ => return Err(invalid("an order of dates is dmy, mdy or ymd")),
                });
            }
            "decimal" => {
                self.decimal = Some(match value {
                    "point" | "." => DecimalMark::Point,
                    "comma" | "," => DecimalMark::Comma,
                    _ => return Err(invalid("a decimal mark is point or comma")),
                });
            }
            "sign" => {
                self.inverted = Some(match value {
                    "plain" => false,
                    "inverted" => true,
                    _ => return Err(invalid("a sign is plain or inverted")),
                });
            }
            "delimiter" => {
                self.delimiter = Some(match value {
                    "tab" => '\t',
                    ";" | "," | "|" => value.chars().next().unwrap_or(';'),
                    _ => return Err(invalid("a delimiter is one of ; , | or tab")),
                });
            }
            _ => {
                let Some(role) = Role::parse(key) else {
                    let roles: Vec<&str> = Role::ALL.iter().map(|role| role.name()).collect();
                    return Err(invalid(&format!(
                        "there is no role {key}; the roles are {}",
                        roles.join(", ")
                    )));
                };
                match Currency::parse(value) {
                    Ok(currency) if role == Role::Currency => self.currency = Some(currency),
                    _ if value.is_empty() => drop(self.columns.insert(role, Vec::new())),
                    _ => drop(self.columns.insert(role, vec![value.into()])),
                }
            }
        }
        Ok(())
    }

    /// All settings of a list.
    pub fn parse<'a>(settings: impl IntoIterator<Item = &'a str>) -> Result<Overrides, ParseError> {
        let mut overrides = Overrides::default();
        settings.into_iter().try_for_each(|setting| overrides.set(setting))?;
        Ok(overrides)
    }
}

/// The names of a table's columns, and the lookup of a column by text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Header {
    pub names: Vec<String>,
    /// Whether the names are the file's own, not positions.
    pub has_names: bool,
}

impl Header {
    /// The reference to a column in a mapping: its name, or its position if it has none.
    pub fn reference(&self, index: usize) -> String {
        match self.names.get(index) {
            Some(name)
                if self.has_names
                    && !name.is_empty()
                    && self.names.iter().filter(|other| *other == name).count() == 1 =>
            {
                name.clone()
            }
            _ => format!("#{}", index + 1),
        }
    }

    /// The index of a column by its name (exact, or ignoring case, accents and punctuation) or by `#3`.
    pub fn find(&self, reference: &str) -> Option<usize> {
        if let Some(number) = reference.strip_prefix('#') {
            let index = number.parse::<usize>().ok()?.checked_sub(1)?;
            return (index < self.names.len()).then_some(index);
        }
        if !self.has_names {
            return None;
        }
        let normalized = normalize_header(reference);
        let by_normalized_name = || {
            self.names.iter().position(|name| !normalized.is_empty() && normalize_header(name) == normalized)
        };
        self.names.iter().position(|name| name == reference).or_else(by_normalized_name)
    }

    /// The indexes of an override's columns: one name, or several joined by `+`.
    pub fn find_all(&self, references: &[String]) -> Result<Vec<usize>, ParseError> {
        let mut places = Vec::new();
        for reference in references {
            // A name may contain a plus itself.
            match self.find(reference) {
                Some(index) => places.push(index),
                None => {
                    for part in reference.split('+') {
                        let index = self.find(part.trim()).ok_or_else(|| ParseError::NoSuchColumn {
                            column: crate::diagnostic::quote(part.trim()),
                            columns: self.column_list(),
                        })?;
                        places.push(index);
                    }
                }
            }
        }
        Ok(places)
    }

    /// All columns, for a message.
    pub fn column_list(&self) -> String {
        const MAX_SHOWN: usize = 30;
        let names: Vec<String> =
            (0..self.names.len().min(MAX_SHOWN)).map(|index| self.reference(index)).collect();
        let more = if self.names.len() > MAX_SHOWN { ", …" } else { "" };
        format!("{}{more}", names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(names: &[&str]) -> Header {
        Header { names: names.iter().map(|name| name.to_string()).collect(), has_names: true }
    }

    #[test]
    fn finds_columns_by_name_and_index() {
        let header = header(&["Datum", "Betrag (EUR)", "Text", "Text", "a+b"]);
        assert_eq!(header.find("datum"), Some(0));
        assert_eq!(header.find("Betrag"), Some(1));
        assert_eq!(header.find("#3"), Some(2));
        assert_eq!(header.find("#0"), None);
        assert_eq!(header.find("#6"), None);
        assert_eq!(header.find(""), None);
        assert_eq!(header.reference(2), "#3");
        assert_eq!(header.reference(0), "Datum");
        assert_eq!(header.find_all(&["a+b".into()]).unwrap(), [4]);
        assert_eq!(header.find_all(&["Datum + #3".into()]).unwrap(), [0, 2]);
        let error = header.find_all(&["Sum".into()]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the table has no column 'Sum'; its columns are Datum, Betrag (EUR), #3, #4, a+b"
        );
    }

    #[test]
    fn invalid_overrides_are_rejected() {
        let mut overrides = Overrides::default();
        for good in [
            "date=Tag",
            "order=mdy",
            "decimal=comma",
            "sign=inverted",
            "delimiter=tab",
            "currency=EUR",
            "balance=",
        ] {
            overrides.set(good).unwrap();
        }
        assert_eq!(overrides.currency, Some(Currency::EUR));
        assert_eq!(overrides.columns.get(&Role::Balance), Some(&Vec::new()));
        for bad in ["date", "order=xyz", "decimal=;", "sign=no", "delimiter=xx", "colour=red"] {
            assert!(matches!(overrides.set(bad), Err(ParseError::BadOverride { .. })), "{bad}");
        }
    }

    #[test]
    fn mapping_round_trips_as_json_and_as_overrides() {
        let mapping = Mapping {
            delimiter: ';',
            header: vec!["Tag".into(), "Betrag".into()],
            columns: BTreeMap::from([
                (Role::Date, vec!["Tag".into()]),
                (Role::Amount, vec!["Betrag".into()]),
            ]),
            order: DateOrder::Dmy,
            decimal: DecimalMark::Comma,
            inverted: true,
            currency: Some(Currency::EUR),
        };
        let json = serde_json::to_string(&mapping).unwrap();
        assert_eq!(serde_json::from_str::<Mapping>(&json).unwrap(), mapping);
        let printed = mapping.to_string();
        let overrides = Overrides::parse(printed.lines()).unwrap();
        assert_eq!(overrides.columns, mapping.columns);
        assert_eq!((overrides.order, overrides.inverted), (Some(DateOrder::Dmy), Some(true)));
    }
}
