//! The route table of a scheme: one row per template, with the resource that the template names.
//!
//! ```
//! use quad_core::{Grammar, RouteDef, RouteTable, ScopeRequirement};
//!
//! #[derive(Clone, Copy, Debug, PartialEq)]
//! enum Resource { Notes, Note }
//!
//! const READ: ScopeRequirement = ScopeRequirement(&["notes:read"]);
//! const ROUTES: RouteTable<Resource> = RouteTable {
//!     rows: &[
//!         RouteDef::json(Resource::Notes, "notes://all", "Notes", "All notes.", READ),
//!         RouteDef::json(Resource::Note, "notes://note/{id}", "Note", "One note.", READ),
//!     ],
//!     grammars: &[("id", Grammar::Integer)],
//! };
//!
//! assert_eq!(ROUTES.routes().unwrap().len(), 2);
//! assert_eq!(ROUTES.resource(1).unwrap(), Resource::Note);
//! ```

use quad_address::{Grammar, RouteSpec};

use crate::{Error, Result, Route, ScopeRequirement};

/// One row: a template, the resource that it names, and what lists say about it.
#[derive(Clone, Copy, Debug)]
pub struct RouteDef<R: Copy> {
    /// The resource that a match names.
    pub resource: R,
    /// The URI template.
    pub template: &'static str,
    /// The name in lists.
    pub name: &'static str,
    /// A short title for people.
    pub title: &'static str,
    /// A sentence that lets an agent choose.
    pub description: &'static str,
    /// The media type, when every match has the same.
    pub mime_type: Option<&'static str>,
    /// The scope that a read needs.
    pub required_scope: ScopeRequirement,
    /// Whether `resources/templates/list` shows it.
    pub advertised: bool,
    /// Whether query keys that the template does not declare are accepted.
    pub extra_query: bool,
}

impl<R: Copy> RouteDef<R> {
    /// An advertised JSON resource whose title is its name.
    pub const fn json(
        resource: R,
        template: &'static str,
        name: &'static str,
        description: &'static str,
        required_scope: ScopeRequirement,
    ) -> RouteDef<R> {
        RouteDef {
            resource,
            template,
            name,
            title: name,
            description,
            mime_type: Some("application/json"),
            required_scope,
            advertised: true,
            extra_query: false,
        }
    }

    /// Sets a title that differs from the name.
    pub const fn title(mut self, title: &'static str) -> RouteDef<R> {
        self.title = title;
        self
    }

    /// Sets the media type; `None` where it depends on the request.
    pub const fn mime_type(mut self, mime_type: Option<&'static str>) -> RouteDef<R> {
        self.mime_type = mime_type;
        self
    }

    /// Leaves the template out of `resources/templates/list`: another row shows the same resource.
    pub const fn unadvertised(mut self) -> RouteDef<R> {
        self.advertised = false;
        self
    }

    /// Accepts query keys that the template does not declare.
    pub const fn with_extra_query(mut self) -> RouteDef<R> {
        self.extra_query = true;
        self
    }
}

/// All routes of a scheme, and the grammars of their variables.
#[derive(Debug)]
pub struct RouteTable<R: Copy + 'static> {
    /// The rows, in the order of lists.
    pub rows: &'static [RouteDef<R>],
    /// The grammars of variables, by name. A grammar applies to every template with that variable.
    pub grammars: &'static [(&'static str, Grammar)],
}

impl<R: Copy + 'static> RouteTable<R> {
    /// The routes, in the order of the rows. Fails on a malformed template: to skip it would shift the
    /// indexes of later rows.
    pub fn routes(&self) -> Result<Vec<Route>> {
        self.rows.iter().map(|row| self.route(row)).collect()
    }

    fn route(&self, row: &RouteDef<R>) -> Result<Route> {
        let mut spec = RouteSpec::parse(row.template)
            .map_err(|error| Error::internal(format!("the template {}: {error}", row.template)))?;
        for (variable, grammar) in self.grammars {
            if spec.template.variables().any(|declared| declared == *variable) {
                spec = spec.with_grammar(variable, *grammar);
            }
        }
        if row.extra_query {
            spec = spec.allow_extra_query();
        }
        Ok(Route {
            spec,
            name: row.name,
            title: row.title,
            description: row.description,
            mime_type: row.mime_type,
            required_scope: row.required_scope,
            advertised: row.advertised,
        })
    }

    /// The resource that the route at this index names.
    pub fn resource(&self, route: usize) -> Result<R> {
        self.rows
            .get(route)
            .map(|row| row.resource)
            .ok_or_else(|| Error::internal(format!("no route at index {route}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: ScopeRequirement = ScopeRequirement(&["notes:read"]);

    const MALFORMED: [RouteDef<u8>; 2] = [
        RouteDef::json(1, "notes://note/{id", "Note", "One note.", READ),
        RouteDef::json(2, "notes://all", "Notes", "All notes.", READ),
    ];

    const NOTES: [RouteDef<u8>; 3] = [
        RouteDef::json(1, "notes://note/{id}", "Note", "One note.", READ),
        RouteDef::json(2, "notes://note/{id}/links", "Links", "Its links.", READ),
        RouteDef::json(3, "notes://tag/{tag}", "Tag", "Notes of a tag.", READ).unadvertised(),
    ];

    #[test]
    fn malformed_template_is_an_error() {
        let table = RouteTable { rows: &MALFORMED, grammars: &[] };
        let error = table.routes().unwrap_err();
        assert!(error.cause_chain().contains("notes://note/{id"), "{}", error.cause_chain());
    }

    #[test]
    fn grammar_applies_to_every_template_with_the_variable() {
        let table = RouteTable { rows: &NOTES, grammars: &[("id", Grammar::Integer)] };
        let mut router = quad_address::Router::new();
        for (index, route) in table.routes().unwrap().into_iter().enumerate() {
            assert_eq!(route.advertised, index != 2);
            router.add(route.spec, index).unwrap();
        }
        let (_, route) = router.route("notes://note/7/links").unwrap();
        assert_eq!(table.resource(*route).unwrap(), 2);
        assert!(router.route("notes://note/seven").is_err());
        assert!(router.route("notes://tag/seven").is_ok());
        assert!(table.resource(3).is_err());
    }
}
