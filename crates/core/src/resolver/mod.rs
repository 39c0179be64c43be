//! Every operation on resources, tools and prompts, for all transports, tools and commands.
//!
//! A read goes: address → scope → cache → scheme → serialize → audit. The rules of that path are written here
//! once:
//! - The scope that a call needs is known from the shape of its address, before any data is read.
//! - Every call leaves exactly one audit event.
//! - No answer is older than its own audit event.
//!
//! One file per operation. The file `audit.rs` has the loop that they share.

mod audit;
mod call;
mod complete;
mod list;
mod prompt;
mod read;
mod testing;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use quad_address::Router;

pub use self::complete::CompletionPage;
pub use self::list::ResourcePage;
pub use self::read::ReadAnswer;
use crate::cache::{Cache, CacheStats};
use crate::prompt::Prompt;
use crate::route_cache::RouteCache;
use crate::{
    AuditLog, ChangeFeed, Error, Kind, Principal, Result, Route, Scheme, ScopeRequirement, Tool, closest,
    limits, resource_tools,
};

/// The mounted schemes, with the router, the cache and the audit log that they share.
pub struct Resolver {
    schemes: Vec<MountedScheme>,
    router: Router<RouteRef>,
    route_cache: RouteCache,
    tools: HashMap<&'static str, ToolOwner>,
    /// The published name of each tool that also has a name with dots.
    dotted_names: HashMap<&'static str, &'static str>,
    builtin_tools: Vec<RegisteredTool>,
    cache: Cache,
    audit_log: Arc<dyn AuditLog>,
    change_feed: Arc<dyn ChangeFeed>,
}

struct MountedScheme {
    scheme: Arc<dyn Scheme>,
    routes: Vec<Route>,
    tools: Vec<RegisteredTool>,
}

/// A tool and the validator of its arguments, which is compiled at the first call: most tools are never
/// called.
struct RegisteredTool {
    tool: Arc<Tool>,
    /// Its index in its owner's list.
    index: usize,
    validator: OnceLock<Result<jsonschema::Validator, String>>,
}

impl RegisteredTool {
    fn new((index, tool): (usize, Arc<Tool>)) -> RegisteredTool {
        RegisteredTool { tool, index, validator: OnceLock::new() }
    }

    fn validator(&self) -> Result<&jsonschema::Validator> {
        let compile =
            || jsonschema::validator_for(&self.tool.input_schema).map_err(|error| error.to_string());
        self.validator
            .get_or_init(compile)
            .as_ref()
            .map_err(|error| Error::internal(format!("input schema of {}: {error}", self.tool.name)))
    }
}

#[derive(Clone, Copy, Debug)]
struct RouteRef {
    scheme_index: usize,
    route_index: usize,
}

#[derive(Clone, Copy, Debug)]
enum ToolOwner {
    /// A scheme's tool, by its index in [`Scheme::tools`].
    Scheme { scheme_index: usize, tool_index: usize },
    /// A resource tool, by its index in [`resource_tools::tools`].
    Builtin(usize),
}

/// The schemes that an endpoint serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// Every scheme of which the caller has a scope.
    #[default]
    All,
    /// One scheme, by its index.
    Only(usize),
}

impl Resolver {
    /// Mounts schemes, in the order in which lists show them. Fails if two tools have one name or a template
    /// is malformed: programming errors, found at start.
    pub fn new(
        schemes: Vec<Arc<dyn Scheme>>,
        audit_log: Arc<dyn AuditLog>,
        change_feed: Arc<dyn ChangeFeed>,
    ) -> Result<Resolver> {
        let mut router = Router::new();
        let mut tools = HashMap::new();
        let mut register = |name: &'static str, owner| match tools.insert(name, owner) {
            None => Ok(()),
            Some(_) => Err(Error::internal(format!("two tools are named {name}"))),
        };
        let mut mounted = Vec::with_capacity(schemes.len());
        for (scheme_index, scheme) in schemes.into_iter().enumerate() {
            let routes = scheme.routes()?;
            for (route_index, declared) in routes.iter().enumerate() {
                router
                    .add(declared.spec.clone(), RouteRef { scheme_index, route_index })
                    .map_err(|error| Error::internal(error.to_string()))?;
            }
            let registered: Vec<RegisteredTool> =
                scheme.tools().into_iter().enumerate().map(RegisteredTool::new).collect();
            for (tool_index, entry) in registered.iter().enumerate() {
                register(entry.tool.name, ToolOwner::Scheme { scheme_index, tool_index })?;
            }
            mounted.push(MountedScheme { scheme, routes, tools: registered });
        }
        let builtin_tools: Vec<RegisteredTool> =
            resource_tools::tools().into_iter().map(Arc::new).enumerate().map(RegisteredTool::new).collect();
        for (index, entry) in builtin_tools.iter().enumerate() {
            register(entry.tool.name, ToolOwner::Builtin(index))?;
        }
        let dotted_names = mounted
            .iter()
            .flat_map(|scheme| &scheme.tools)
            .filter_map(|entry| Some((entry.tool.dotted_name?, entry.tool.name)))
            .collect();
        Ok(Resolver {
            schemes: mounted,
            router,
            route_cache: RouteCache::default(),
            tools,
            dotted_names,
            builtin_tools,
            cache: Cache::new(limits::CACHE_BYTES),
            audit_log,
            change_feed,
        })
    }

    /// The view of one scheme, by name.
    pub fn view_for_scheme(&self, scheme: &str) -> Result<View> {
        let names = || self.schemes.iter().map(|mounted| mounted.scheme.name());
        names().position(|name| name == scheme).map(View::Only).ok_or_else(|| {
            let all = names().collect::<Vec<_>>().join(", ");
            let hint = match closest(scheme, names()) {
                Some(suggestion) => format!("Did you mean {suggestion}? The schemes are {all}"),
                None => format!("Use one of the schemes {all}"),
            };
            Error::new(Kind::NotFound, "NOT_FOUND", "Unknown scheme").hint(hint)
        })
    }

    /// The names of all schemes.
    pub fn scheme_names(&self) -> Vec<&'static str> {
        self.schemes.iter().map(|mounted| mounted.scheme.name()).collect()
    }

    /// The scheme of an address, if it is a mounted one.
    pub fn scheme_of_uri(&self, uri: &str) -> Option<&'static str> {
        let (name, _) = uri.split_once("://")?;
        self.schemes.iter().map(|mounted| mounted.scheme.name()).find(|scheme| *scheme == name)
    }

    /// The scheme of a tool, by either of its names; `None` for a resource tool and an unknown one.
    pub fn scheme_of_tool(&self, name: &str) -> Option<&'static str> {
        let name = self.dotted_names.get(name).copied().unwrap_or(name);
        match self.tools.get(name)? {
            ToolOwner::Scheme { scheme_index, .. } => Some(self.schemes[*scheme_index].scheme.name()),
            ToolOwner::Builtin(_) => None,
        }
    }

    /// Every scope of every scheme.
    pub fn all_scopes(&self) -> Vec<&'static str> {
        self.schemes.iter().flat_map(|mounted| mounted.scheme.scopes().iter().copied()).collect()
    }

    /// What an agent needs to know to start, for the MCP `instructions` field.
    pub fn instructions(&self, view: View) -> String {
        let texts: Vec<&str> =
            self.schemes_in_view(view).iter().map(|mounted| mounted.scheme.instructions()).collect();
        texts.join("\n\n")
    }

    /// The advertised templates of a view. The same for every caller, whatever its scopes.
    pub fn templates(&self, view: View) -> impl Iterator<Item = &Route> {
        self.schemes_in_view(view)
            .iter()
            .flat_map(|mounted| &mounted.routes)
            .filter(|route| route.advertised && route.spec.template.variables().next().is_some())
    }

    /// The tools that the caller may call; only the core profile unless `include_all`.
    pub fn tools<'a>(
        &'a self,
        caller: &'a Principal,
        view: View,
        include_all: bool,
    ) -> impl Iterator<Item = &'a Tool> {
        let builtin = self.builtin_tools.iter().map(|entry| entry.tool.as_ref());
        let scheme_tools = self
            .schemes_in_view(view)
            .iter()
            .flat_map(|mounted| &mounted.tools)
            .map(|entry| entry.tool.as_ref());
        scheme_tools.chain(builtin).filter(move |tool| {
            (include_all || tool.core) && tool.required_scope.is_satisfied_by(&caller.scopes)
        })
    }

    /// The tools that have a name with dots: the published name and that name.
    pub fn dotted_tool_names(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.dotted_names.iter().map(|(dotted, name)| (*name, *dotted))
    }

    /// The prompts that the caller may use.
    pub fn prompts<'a>(
        &'a self,
        caller: &'a Principal,
        view: View,
    ) -> impl Iterator<Item = &'static Prompt> + 'a {
        self.schemes_in_view(view)
            .iter()
            .flat_map(|mounted| mounted.scheme.prompts())
            .filter(|prompt| prompt.required_scope.is_satisfied_by(&caller.scopes))
    }

    /// Hits, misses and size of the cache.
    pub fn cache_stats(&self) -> CacheStats {
        self.cache.stats()
    }

    /// The feed of committed changes.
    pub fn change_feed(&self) -> &dyn ChangeFeed {
        self.change_feed.as_ref()
    }

    /// Whether an endpoint serves a scheme's addresses and tools. A global scheme is served everywhere.
    fn view_includes(&self, view: View, scheme_index: usize) -> bool {
        view == View::All || view == View::Only(scheme_index) || self.schemes[scheme_index].scheme.is_global()
    }

    /// The schemes that an endpoint lists.
    fn schemes_in_view(&self, view: View) -> &[MountedScheme] {
        match view {
            View::All => &self.schemes,
            View::Only(index) => self.schemes.get(index..=index).unwrap_or_default(),
        }
    }
}

fn require_scope(requirement: ScopeRequirement, caller: &Principal) -> Result<()> {
    if requirement.is_satisfied_by(&caller.scopes) { Ok(()) } else { Err(Error::scope_missing(requirement)) }
}
