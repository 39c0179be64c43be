//! A site of the project with its runes, and the selection of a site.

use std::fmt;
use std::sync::Arc;

use quad_markdoc::Options;
use quad_runes::catalogue::{Catalogue, MergeProblem, Rune, UnknownRune};
use quad_runes::choices::choices_hint;

use super::config::SiteConfig;

/// A site.
#[derive(Clone, Debug)]
pub struct Site {
    /// Its name; `main` if the configuration gives none.
    pub name: String,
    /// Its configuration.
    pub config: SiteConfig,
    /// Its runes.
    pub catalogue: Arc<Catalogue>,
    /// Problems in its rules or packages.
    pub problems: Vec<MergeProblem>,
    /// Plugins and local runes that are code: name and reason.
    pub opaque: Vec<(String, String)>,
}

impl Site {
    /// How the pages of the site are parsed.
    pub fn parse_options(&self) -> Options {
        Options { tags: !self.config.is_plain_markdown, ..Options::default() }
    }

    /// The rune with a name or an alias, or the error and a hint.
    pub fn rune(&self, name: &str) -> Result<&Rune, (UnknownRune, String)> {
        self.catalogue.requested_rune(name).map_err(|unknown| {
            let mut hint = unknown.hint();
            if unknown.available_in.is_none() && !self.opaque.is_empty() {
                let opaque: Vec<String> =
                    self.opaque.iter().map(|(name, reason)| format!("{name} ({reason})")).collect();
                hint = format!("{hint}; it may be one of {}", opaque.join(", "));
            }
            (unknown, hint)
        })
    }
}

/// Why no site is selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SiteError {
    /// The project has no site.
    Missing,
    /// The project has several sites and the caller named none.
    Ambiguous {
        /// Their names.
        sites: Vec<String>,
    },
    /// The project has no site with this name.
    Unknown {
        /// The requested name.
        name: String,
        /// The existing names.
        sites: Vec<String>,
    },
}

impl fmt::Display for SiteError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SiteError::Missing => out.write_str("the project has no site"),
            SiteError::Ambiguous { sites } => {
                write!(out, "the project has several sites: {}", sites.join(", "))
            }
            SiteError::Unknown { name, .. } => write!(out, "the project has no site called {name}"),
        }
    }
}

impl std::error::Error for SiteError {}

impl SiteError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            SiteError::Missing => "declare a `site` or `sites` in refrakt.config.json".into(),
            SiteError::Ambiguous { sites } => {
                let choices: Vec<String> = sites.iter().map(|site| format!("?site={site}")).collect();
                format!("select one: {}", choices.join(" or "))
            }
            SiteError::Unknown { name, sites } => choices_hint(name, sites.iter().map(String::as_str)),
        }
    }
}

/// The site with a name; if none has it, the only one with this name in another case.
fn find_site<'a>(sites: &'a [Site], name: &str) -> Option<&'a Site> {
    let exact = sites.iter().find(|site| site.name == name);
    exact.or_else(|| {
        let mut similar = sites.iter().filter(|site| site.name.eq_ignore_ascii_case(name));
        similar.next().filter(|_| similar.next().is_none())
    })
}

/// The site that the caller selects: by name, or the only one.
pub(crate) fn select_site<'a>(sites: &'a [Site], name: Option<&str>) -> Result<&'a Site, SiteError> {
    let names = || sites.iter().map(|site| site.name.clone()).collect::<Vec<_>>();
    match (name, sites) {
        (_, []) => Err(SiteError::Missing),
        (None, [only]) => Ok(only),
        (None, _) => Err(SiteError::Ambiguous { sites: names() }),
        (Some(name), _) => {
            find_site(sites, name).ok_or_else(|| SiteError::Unknown { name: name.to_owned(), sites: names() })
        }
    }
}
