//! The path of a call: address → authorize → cache → scheme → seal → audit.
//!
//! Every transport, tool and command goes through here, so each rule stands in one place: the scope is decided from the
//! address's shape before any look at the data, every call leaves exactly one audit event, and nothing is answered that
//! is older than its own event.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use quad_address::Router;
use serde_json::{Map, Value};

use crate::audit_log::ReadSets;
use crate::cache::{Cache, CacheKeyRef};
use crate::event::truncate_for_audit;
use crate::optimistic_retry::OptimisticRetry;
use crate::prompt::{Message, Prompt};
use crate::route_cache::{RouteCache, RoutedUri};
use crate::scheme::{CompletionQuery, CompletionTarget, RequestTarget, ResourceEntry};
use crate::tool::{AuditStatus, Progress, ToolCall, validate_arguments};
use crate::{
    Address, AuditLog, ChangeFeed, Error, EventDraft, Kind, Principal, ReadSet, Receipt, Result, Route,
    Scheme, ScopeRequirement, SerializedRead, Timestamp, Tool, ToolOutput, canonical, closest, cursor,
    limits, resource_tools,
};

/// The list that page cursors of `resources/list` belong to: each tenant has its own.
fn list_cursor_scope(caller: &Principal) -> String {
    format!("resources of {}", caller.tenant)
}

/// All schemes behind one door.
pub struct Resolver {
    schemes: Vec<MountedScheme>,
    router: Router<RouteRef>,
    route_cache: RouteCache,
    tools: HashMap<&'static str, ToolOwner>,
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

/// A tool, and what checks its arguments: made when it is called first, since few of all tools are.
struct RegisteredTool {
    tool: Arc<Tool>,
    /// Its index in the list of its owner.
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
            .map_err(|error| Error::internal(format!("the schema of {}: {error}", self.tool.name)))
    }
}

#[derive(Clone, Copy, Debug)]
struct RouteRef {
    scheme_index: usize,
    route_index: usize,
}

#[derive(Clone, Copy, Debug)]
enum ToolOwner {
    /// Tool number so-and-so of a scheme.
    Scheme { scheme_index: usize, tool_index: usize },
    /// One of the resolver's own: resources for clients that read none.
    Builtin(usize),
}

/// Which schemes an endpoint shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// Every scheme of which the caller has a scope.
    #[default]
    All,
    /// One scheme, by its place.
    Only(usize),
}

/// What a read gives.
#[derive(Debug)]
pub struct ReadAnswer {
    /// The contents.
    pub read: Arc<SerializedRead>,
    /// The proof that the read was written down.
    pub receipt: Receipt,
}

/// A page of `resources/list`.
#[derive(Debug)]
pub struct ResourcePage {
    /// The entries.
    pub entries: Vec<ResourceEntry>,
    /// Where the next page starts.
    pub next_cursor: Option<String>,
}

/// The values that complete a variable.
#[derive(Debug)]
pub struct CompletionPage {
    /// At most [`limits::COMPLETION_VALUES`].
    pub values: Vec<String>,
    /// How many there are in all.
    pub total: usize,
}

impl Resolver {
    /// Mounts schemes, in the order in which lists show them. Fails when two schemes claim the same tool or when a
    /// template is malformed: a programming error, found at start.
    pub fn new(
        schemes: Vec<Arc<dyn Scheme>>,
        audit_log: Arc<dyn AuditLog>,
        change_feed: Arc<dyn ChangeFeed>,
    ) -> Result<Resolver> {
        let mut router = Router::new();
        let mut tools = HashMap::new();
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
                let owner = ToolOwner::Scheme { scheme_index, tool_index };
                if tools.insert(entry.tool.name, owner).is_some() {
                    return Err(Error::internal(format!("two tools are named {}", entry.tool.name)));
                }
            }
            mounted.push(MountedScheme { scheme, routes, tools: registered });
        }
        let builtin_tools: Vec<RegisteredTool> =
            resource_tools::tools().into_iter().map(Arc::new).enumerate().map(RegisteredTool::new).collect();
        for (index, entry) in builtin_tools.iter().enumerate() {
            tools.insert(entry.tool.name, ToolOwner::Builtin(index));
        }
        Ok(Resolver {
            schemes: mounted,
            router,
            route_cache: RouteCache::default(),
            tools,
            builtin_tools,
            cache: Cache::new(limits::CACHE_BYTES),
            audit_log,
            change_feed,
        })
    }

    /// Whether every tool's schema is one: a programming error, which a tool would otherwise show when it is called.
    pub fn check_schemas(&self) -> Result<()> {
        let mut all = self.schemes.iter().flat_map(|mounted| &mounted.tools).chain(&self.builtin_tools);
        all.try_for_each(|entry| entry.validator().map(|_| ()))
    }

    /// The same with a cache of another size.
    pub fn with_cache_bytes(mut self, bytes_max: usize) -> Resolver {
        self.cache = Cache::new(bytes_max);
        self
    }

    /// The view of one scheme, by name.
    pub fn view_for_scheme(&self, scheme: &str) -> Result<View> {
        let names = || self.schemes.iter().map(|mounted| mounted.scheme.name());
        names().position(|name| name == scheme).map(View::Only).ok_or_else(|| {
            let suggestion =
                closest(scheme, names()).map(|name| format!(", perhaps {name}")).unwrap_or_default();
            Error::new(Kind::NotFound, "NOT_FOUND", "There is no such scheme")
                .hint(format!("The schemes are {}{suggestion}", names().collect::<Vec<_>>().join(", ")))
        })
    }

    /// The names of all schemes.
    pub fn scheme_names(&self) -> Vec<&'static str> {
        self.schemes.iter().map(|mounted| mounted.scheme.name()).collect()
    }

    /// Every scope that any scheme knows.
    pub fn all_scopes(&self) -> Vec<&'static str> {
        self.schemes.iter().flat_map(|mounted| mounted.scheme.scopes().iter().copied()).collect()
    }

    /// What an agent should know to start.
    pub fn instructions(&self, view: View) -> String {
        let texts: Vec<&str> =
            self.schemes_in_view(view).map(|(_, mounted)| mounted.scheme.instructions()).collect();
        texts.join("\n\n")
    }

    /// The templates of a view. The same for everyone, whatever they may read.
    pub fn templates(&self, view: View) -> impl Iterator<Item = &Route> {
        self.schemes_in_view(view)
            .flat_map(|(_, mounted)| &mounted.routes)
            .filter(|route| route.advertised && route.spec.template.variables().next().is_some())
    }

    /// The tools that the caller may call; the core profile unless `all`.
    pub fn tools<'a>(
        &'a self,
        caller: &'a Principal,
        view: View,
        include_all: bool,
    ) -> impl Iterator<Item = &'a Tool> {
        let builtin = self.builtin_tools.iter().map(|entry| entry.tool.as_ref());
        let scheme_tools = self
            .schemes_in_view(view)
            .flat_map(|(_, mounted)| &mounted.tools)
            .map(|entry| entry.tool.as_ref());
        scheme_tools.chain(builtin).filter(move |tool| {
            (include_all || tool.core) && tool.required_scope.is_satisfied_by(&caller.scopes)
        })
    }

    /// The prompts that the caller may use.
    pub fn prompts<'a>(
        &'a self,
        caller: &'a Principal,
        view: View,
    ) -> impl Iterator<Item = &'static Prompt> + 'a {
        self.schemes_in_view(view)
            .flat_map(|(_, mounted)| mounted.scheme.prompts())
            .filter(|prompt| prompt.required_scope.is_satisfied_by(&caller.scopes))
    }

    /// How the cache does.
    pub fn cache_stats(&self) -> crate::cache::CacheStats {
        self.cache.stats()
    }

    /// Where changes are announced.
    pub fn change_feed(&self) -> &dyn ChangeFeed {
        self.change_feed.as_ref()
    }

    /// Writes down something that needs no more than that: a listing of tools, an opened subscription.
    pub async fn record_success(&self, caller: &Principal, event: EventDraft) -> Result<Receipt> {
        self.append_event(caller, event.succeeded()).await
    }

    /// Reads an address.
    pub async fn read(&self, caller: &Principal, view: View, uri: &str) -> Result<ReadAnswer> {
        self.read_with_event(caller, view, uri, &|audit_uri| {
            EventDraft::call(caller, "resources/read").input("uri", audit_uri)
        })
        .await
    }

    /// Reads an address on behalf of an event that names it: a `resources/read`, or a tool that does the same. The event is made
    /// when it is written, since nearly every read is computed and written once.
    pub(crate) async fn read_with_event(
        &self,
        caller: &Principal,
        view: View,
        uri: &str,
        make_event: &(dyn Fn(Arc<str>) -> EventDraft + Sync),
    ) -> Result<ReadAnswer> {
        match self.try_read(caller, view, uri, make_event).await {
            Err(error) => {
                let error = self.map_scheme_error(caller, view, RequestTarget::Address(uri), error);
                Err(Box::pin(self.record_refusal(caller, make_event(truncate_for_audit(uri)), error)).await)
            }
            answer => answer,
        }
    }

    async fn try_read(
        &self,
        caller: &Principal,
        view: View,
        uri: &str,
        make_event: &(dyn Fn(Arc<str>) -> EventDraft + Sync),
    ) -> Result<ReadAnswer> {
        let routed = self.route_and_check_scope(caller, view, uri)?;
        let scheme = &self.schemes[routed.scheme_index].scheme;
        let caller_part = scheme.cache_key_part(caller, &routed.address);
        let key = CacheKeyRef {
            tenant: &caller.tenant,
            canonical: routed.address.canonical(),
            caller_part: &caller_part,
        };
        let mut retry = self.new_retry(caller);
        loop {
            retry.next_attempt().await.map_err(|error| error.with_uri(uri))?;
            let cached = if retry.is_first() { self.cache.get(key, Timestamp::now()) } else { None };
            let read = match cached {
                Some(read) => read,
                None => {
                    let output = scheme.read(caller, routed.route_index, &routed.address).await;
                    let read = output.map_err(|error| with_uri_if_missing(error, uri))?.serialize()?;
                    self.cache.put(key.to_key(), &read, Timestamp::now());
                    read
                }
            };
            let mut event = make_event(routed.audit_uri.clone())
                .succeeded()
                .output("content_hash", read.content_hash.clone());
            if let Some(version) = read.read_set.version {
                event = event.output("version", version.0);
            }
            let read_sets = ReadSets::from_iter([read.read_set.clone()]);
            if let Some(receipt) = retry.commit(event, read_sets, read.side_effect.clone()).await? {
                return Ok(ReadAnswer { read, receipt });
            }
            self.cache.remove(key);
        }
    }

    /// What an address rests on now, for a subscription. Discloses nothing, so it is not a read and leaves no event.
    pub async fn read_set_of(&self, caller: &Principal, view: View, uri: &str) -> Result<Arc<ReadSet>> {
        let routed = self.route_and_check_scope(caller, view, uri)?;
        let scheme = &self.schemes[routed.scheme_index].scheme;
        let output = scheme.read(caller, routed.route_index, &routed.address).await?;
        Ok(Arc::new(output.read_set))
    }

    /// What a URI names, whoever asks and whether or not it is there.
    pub fn parse_uri(&self, uri: &str) -> Result<Address> {
        let (address, _) = self.router.route(uri).map_err(|error| Error::from(error).with_uri(uri))?;
        Ok(address)
    }

    /// Whether the caller could read an address of any scheme now, and what that rests on: the checks and refusals of a read in
    /// the same order. For schemes that are about other addresses. It discloses nothing by itself and leaves no event; the call
    /// that asks leaves its own.
    pub async fn check_readable(&self, caller: &Principal, uri: &str) -> Result<(Address, ReadSet)> {
        let routed = self.route_and_check_scope(caller, View::All, uri)?;
        let scheme = &self.schemes[routed.scheme_index].scheme;
        let result = scheme.check_readable(caller, routed.route_index, &routed.address).await;
        Ok((routed.address.clone(), result.map_err(|error| with_uri_if_missing(error, uri))?))
    }

    /// Finds the address and checks the scope that its shape needs.
    fn route_and_check_scope(&self, caller: &Principal, view: View, uri: &str) -> Result<Arc<RoutedUri>> {
        let route = || {
            let result = self.router.route(uri);
            result.map(|(address, route_ref)| {
                RoutedUri::new(uri, address, route_ref.scheme_index, route_ref.route_index)
            })
        };
        let routed = self
            .route_cache
            .get_or_try_insert(uri, route)
            .map_err(|error| Error::from(error).with_uri(uri))?;
        if !self.view_includes(view, routed.scheme_index) {
            return Err(Error::new(
                Kind::BadInput,
                "INVALID_URI",
                "This endpoint does not serve that scheme",
            )
            .hint("Use the endpoint of all schemes, /mcp")
            .with_uri(uri));
        }
        let requirement = self.schemes[routed.scheme_index].routes[routed.route_index].required_scope;
        require_scope(requirement, caller).map_err(|error| error.with_uri(uri))?;
        Ok(routed)
    }

    /// Whether an endpoint answers for a scheme.
    fn view_includes(&self, view: View, scheme_index: usize) -> bool {
        view == View::All || view == View::Only(scheme_index) || self.schemes[scheme_index].scheme.is_global()
    }

    /// Lists what the caller can read.
    pub async fn list(&self, caller: &Principal, view: View, cursor: Option<&str>) -> Result<ResourcePage> {
        self.list_with_event(caller, view, cursor, EventDraft::call(caller, "resources/list")).await
    }

    pub(crate) async fn list_with_event(
        &self,
        caller: &Principal,
        view: View,
        cursor: Option<&str>,
        event: EventDraft,
    ) -> Result<ResourcePage> {
        match self.try_list(caller, view, cursor, &event).await {
            Err(error) => {
                let error = self.map_scheme_error(caller, view, RequestTarget::Other, error);
                Err(self.record_refusal(caller, event, error).await)
            }
            page => page,
        }
    }

    async fn try_list(
        &self,
        caller: &Principal,
        view: View,
        cursor: Option<&str>,
        event: &EventDraft,
    ) -> Result<ResourcePage> {
        let start = match cursor {
            None => None,
            Some(cursor) => {
                let key = cursor::decode(&list_cursor_scope(caller), cursor)?;
                let (name, after) = key.split_once('\n').unwrap_or((&key, ""));
                Some((name.to_owned(), after.to_owned()))
            }
        };
        let mut retry = self.new_retry(caller);
        loop {
            retry.next_attempt().await?;
            let (page, read_sets) = self.list_page(caller, view, start.as_ref()).await?;
            let event = event.clone().succeeded().output("count", page.entries.len());
            if retry.commit(event, read_sets.into(), None).await?.is_some() {
                return Ok(page);
            }
        }
    }

    /// One page over the schemes of a view, from `start` on.
    async fn list_page(
        &self,
        caller: &Principal,
        view: View,
        start: Option<&(String, String)>,
    ) -> Result<(ResourcePage, Vec<Arc<ReadSet>>)> {
        let mut entries = Vec::new();
        let mut read_sets = Vec::new();
        let mut start_found = start.is_none();
        for (_, mounted) in self.schemes_in_view(view) {
            let name = mounted.scheme.name();
            let mut after = None;
            if let Some((scheme, key)) = start
                && !start_found
            {
                if scheme != name {
                    continue;
                }
                start_found = true;
                after = (!key.is_empty()).then_some(key.as_str());
            }
            let limit = limits::LIST_PAGE_ENTRIES - entries.len();
            if limit == 0 {
                // The page is full exactly at the end of the scheme before; the next page begins with this one.
                let next_cursor = Some(cursor::encode(&list_cursor_scope(caller), &format!("{name}\n")));
                return Ok((ResourcePage { entries, next_cursor }, read_sets));
            }
            let scheme_page = mounted.scheme.list(caller, after, limit).await?;
            entries.extend(scheme_page.entries);
            read_sets.push(Arc::new(scheme_page.read_set));
            if let Some(next) = scheme_page.next {
                let next_cursor =
                    Some(cursor::encode(&list_cursor_scope(caller), &format!("{name}\n{next}")));
                return Ok((ResourcePage { entries, next_cursor }, read_sets));
            }
        }
        Ok((ResourcePage { entries, next_cursor: None }, read_sets))
    }

    /// Completes a variable of a template or an argument of a prompt.
    pub async fn complete(
        &self,
        caller: &Principal,
        view: View,
        query: CompletionQuery<'_>,
    ) -> Result<CompletionPage> {
        let event = EventDraft::call(caller, "completion/complete")
            .input("argument", truncate_for_audit(query.variable));
        self.complete_with_event(caller, view, query, event).await
    }

    pub(crate) async fn complete_with_event(
        &self,
        caller: &Principal,
        view: View,
        query: CompletionQuery<'_>,
        event: EventDraft,
    ) -> Result<CompletionPage> {
        match self.try_complete(caller, view, query, &event).await {
            Err(error) => Err(self.record_refusal(caller, event, error).await),
            completed => completed,
        }
    }

    async fn try_complete(
        &self,
        caller: &Principal,
        view: View,
        query: CompletionQuery<'_>,
        event: &EventDraft,
    ) -> Result<CompletionPage> {
        let mounted = self.completion_scheme(caller, view, query)?;
        let mut retry = self.new_retry(caller);
        loop {
            retry.next_attempt().await?;
            let completion = mounted.scheme.complete(caller, query).await?;
            let event = event.clone().succeeded().output("count", completion.values.len());
            let read_sets = ReadSets::from_iter([Arc::new(completion.read_set)]);
            if retry.commit(event, read_sets, None).await?.is_some() {
                let mut values = completion.values;
                let total = completion.total.max(values.len());
                values.truncate(limits::COMPLETION_VALUES);
                return Ok(CompletionPage { values, total });
            }
        }
    }

    /// The scheme that answers a completion, after the checks that need no data.
    fn completion_scheme(
        &self,
        caller: &Principal,
        view: View,
        query: CompletionQuery<'_>,
    ) -> Result<&MountedScheme> {
        let not_found = |item: &str| Error::bad_input(format!("There is no such {item}"));
        match query.target {
            CompletionTarget::Template(template) => {
                let (_, matched, route_ref) = self
                    .router
                    .find_template(template)
                    .filter(|(_, _, route_ref)| self.view_includes(view, route_ref.scheme_index))
                    .ok_or_else(|| {
                        not_found("template").hint("resources/templates/list has the templates")
                    })?;
                let mounted = &self.schemes[route_ref.scheme_index];
                require_scope(mounted.routes[route_ref.route_index].required_scope, caller)?;
                if !matched.variables().any(|variable| variable == query.variable) {
                    let names = matched.variables().collect::<Vec<_>>().join(", ");
                    return Err(not_found("variable in this template").hint(format!("It has {names}")));
                }
                Ok(mounted)
            }
            CompletionTarget::Prompt(name) => {
                let (mounted, prompt) = self.find_prompt(view, name)?;
                require_scope(prompt.required_scope, caller)?;
                if !prompt.arguments.iter().any(|argument| argument.name == query.variable) {
                    return Err(not_found("argument of this prompt"));
                }
                Ok(mounted)
            }
        }
    }

    /// Calls a tool. An unknown name is [`Kind::BadInput`] with the code `UNKNOWN_TOOL`; every other failure is the
    /// tool's own result.
    pub async fn call_tool(
        &self,
        caller: &Principal,
        view: View,
        name: &str,
        arguments: Map<String, Value>,
        progress: &dyn Progress,
    ) -> Result<ToolOutput> {
        let arguments = Value::Object(arguments);
        let event = EventDraft::call(caller, "tools/call")
            .input("tool", truncate_for_audit(name))
            .input("args_hash", canonical::sha256_hex_of(&arguments));
        match self.try_call_tool(caller, view, name, arguments, &event, progress).await {
            // The resource tools have written their own refusal.
            Err(ToolCallError::Recorded(error)) => Err(error),
            Err(ToolCallError::Unrecorded(error)) => {
                let error = self.map_scheme_error(caller, view, RequestTarget::Tool(name), error);
                Err(self.record_refusal(caller, event, error).await)
            }
            Ok(output) => Ok(output),
        }
    }

    async fn try_call_tool(
        &self,
        caller: &Principal,
        view: View,
        name: &str,
        arguments: Value,
        event: &EventDraft,
        progress: &dyn Progress,
    ) -> Result<ToolOutput, ToolCallError> {
        let (mounted, entry) = self.find_tool(view, name)?;
        require_scope(entry.tool.required_scope, caller)?;
        validate_arguments(entry.validator()?, &arguments)?;
        let Value::Object(arguments) = arguments else {
            return Err(Error::bad_input("The arguments must be an object").into());
        };
        let Some(mounted) = mounted else {
            let output = resource_tools::call(self, caller, view, name, &arguments, event.clone()).await;
            return output.map_err(ToolCallError::Recorded);
        };
        let mut retry = self.new_retry(caller);
        loop {
            retry.next_attempt().await?;
            let call = ToolCall {
                caller,
                tool: &entry.tool,
                index: entry.index,
                arguments: arguments.clone(),
                event: event.clone(),
                progress,
            };
            let result = mounted.scheme.call_tool(call).await?;
            match result.audit {
                AuditStatus::Committed(_) => return Ok(result.output),
                AuditStatus::Pending(read_set) => {
                    let read_sets = ReadSets::from_iter([Arc::new(read_set)]);
                    if retry.commit(event.clone().succeeded(), read_sets, None).await?.is_some() {
                        return Ok(result.output);
                    }
                }
            }
        }
    }

    /// What a client must be able to do for that tool to work. Nothing for a tool that does not exist: calling it says so.
    pub fn client_capabilities(&self, view: View, tool: &str) -> &'static [&'static str] {
        match self.find_tool(view, tool) {
            Ok((Some(mounted), _)) => mounted.scheme.client_capabilities(tool),
            _ => &[],
        }
    }

    fn find_tool(&self, view: View, name: &str) -> Result<(Option<&MountedScheme>, &RegisteredTool)> {
        match self.tools.get(name) {
            Some(ToolOwner::Builtin(index)) => Ok((None, &self.builtin_tools[*index])),
            Some(ToolOwner::Scheme { scheme_index, tool_index })
                if self.view_includes(view, *scheme_index) =>
            {
                let mounted = &self.schemes[*scheme_index];
                Ok((Some(mounted), &mounted.tools[*tool_index]))
            }
            _ => {
                let unknown = Error::new(
                    Kind::BadInput,
                    "UNKNOWN_TOOL",
                    format!("Unknown tool: {}", truncate_for_audit(name)),
                );
                Err(match closest(name, self.tools.keys().copied()) {
                    Some(suggestion) => unknown.hint(format!("The nearest is {suggestion}")),
                    None => unknown.hint("tools/list has the tools"),
                })
            }
        }
    }

    /// The messages of a prompt.
    pub async fn get_prompt(
        &self,
        caller: &Principal,
        view: View,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<(&'static Prompt, Vec<Message>)> {
        let event = EventDraft::call(caller, "prompts/get").input("prompt", truncate_for_audit(name));
        match self.try_get_prompt(caller, view, name, arguments, &event).await {
            Err(error) => {
                let error = self.map_scheme_error(caller, view, RequestTarget::Prompt(name), error);
                Err(self.record_refusal(caller, event, error).await)
            }
            messages => messages,
        }
    }

    async fn try_get_prompt(
        &self,
        caller: &Principal,
        view: View,
        name: &str,
        arguments: &Map<String, Value>,
        event: &EventDraft,
    ) -> Result<(&'static Prompt, Vec<Message>)> {
        let (mounted, prompt) = self.find_prompt(view, name)?;
        require_scope(prompt.required_scope, caller)?;
        for argument in prompt.arguments.iter().filter(|argument| argument.required) {
            if !arguments.get(argument.name).is_some_and(Value::is_string) {
                return Err(Error::bad_input(format!("The prompt needs the argument {}", argument.name))
                    .hint(argument.description)
                    .with_detail("missing", argument.name));
            }
        }
        let mut retry = self.new_retry(caller);
        loop {
            retry.next_attempt().await?;
            let (messages, read_set) = mounted.scheme.get_prompt(caller, prompt, arguments).await?;
            let read_sets = ReadSets::from_iter([Arc::new(read_set)]);
            if retry.commit(event.clone().succeeded(), read_sets, None).await?.is_some() {
                return Ok((prompt, messages));
            }
        }
    }

    fn find_prompt(&self, view: View, name: &str) -> Result<(&MountedScheme, &'static Prompt)> {
        let all = || {
            self.schemes_in_view(view)
                .flat_map(|(_, m)| m.scheme.prompts().iter().map(move |prompt| (m, prompt)))
        };
        all().find(|(_, prompt)| prompt.name == name).ok_or_else(|| {
            let unknown = Error::new(
                Kind::BadInput,
                "UNKNOWN_PROMPT",
                format!("Unknown prompt: {}", truncate_for_audit(name)),
            );
            match closest(name, all().map(|(_, prompt)| prompt.name)) {
                Some(suggestion) => unknown.hint(format!("The nearest is {suggestion}")),
                None => unknown.hint("prompts/list has the prompts"),
            }
        })
    }

    fn schemes_in_view(&self, view: View) -> impl Iterator<Item = (usize, &MountedScheme)> {
        self.schemes
            .iter()
            .enumerate()
            .filter(move |(index, _)| view == View::All || view == View::Only(*index))
    }

    fn new_retry<'c>(&'c self, caller: &'c Principal) -> OptimisticRetry<'c> {
        OptimisticRetry::new(self.audit_log.as_ref(), caller)
    }

    /// Makes an event durable that rests on nothing but the caller's credential.
    async fn append_event(&self, caller: &Principal, event: EventDraft) -> Result<Receipt> {
        let receipt = self.new_retry(caller).commit(event, ReadSets::new(), None).await?;
        receipt.ok_or_else(|| Error::internal("an event that rests on nothing was stale"))
    }

    /// A refusal in the words of the scheme that it is about: the one whose address, tool or prompt was asked for, or the only
    /// one of the endpoint.
    fn map_scheme_error(
        &self,
        caller: &Principal,
        view: View,
        target: RequestTarget<'_>,
        error: Error,
    ) -> Error {
        if error.kind() == Kind::Credential || !error.needs_audit_event() {
            return error;
        }
        let index_of = |name: &str| self.schemes.iter().position(|mounted| mounted.scheme.name() == name);
        let target_scheme = match (target, view) {
            (RequestTarget::Address(uri), _) => {
                uri.split_once("://").and_then(|(scheme, _)| index_of(scheme))
            }
            (RequestTarget::Tool(name), _) => match self.tools.get(name) {
                Some(ToolOwner::Scheme { scheme_index, .. }) => Some(*scheme_index),
                _ => None,
            },
            (RequestTarget::Prompt(name), _) => self
                .schemes
                .iter()
                .position(|mounted| mounted.scheme.prompts().iter().any(|prompt| prompt.name == name)),
            (RequestTarget::Other, _) => None,
        };
        let view_scheme = match view {
            View::Only(scheme_index) => Some(scheme_index),
            View::All => None,
        };
        match target_scheme.or(view_scheme) {
            Some(scheme_index) => self.schemes[scheme_index].scheme.map_error(caller, target, error),
            None => error,
        }
    }

    /// Writes a refusal down, once, and hands the error on. If even that cannot be written, the caller learns only that we
    /// failed: an unrecorded refusal would be a hole in the trail.
    pub async fn record_refusal(&self, caller: &Principal, event: EventDraft, error: Error) -> Error {
        if error.kind() == Kind::Credential || !error.needs_audit_event() {
            return error;
        }
        if error.kind() == Kind::Internal {
            tracing::error!(code = error.code(), cause = error.cause_chain(), "a call failed");
        }
        match self.append_event(caller, event.failed(&error)).await {
            Ok(_) => error.mark_recorded(),
            Err(cause) => cause.mark_audit_failed(),
        }
    }
}

/// A failed tool call, and whether its event is written.
enum ToolCallError {
    Recorded(Error),
    Unrecorded(Error),
}

impl From<Error> for ToolCallError {
    fn from(error: Error) -> ToolCallError {
        ToolCallError::Unrecorded(error)
    }
}

fn require_scope(requirement: ScopeRequirement, caller: &Principal) -> Result<()> {
    if requirement.is_satisfied_by(&caller.scopes) { Ok(()) } else { Err(Error::scope_missing(requirement)) }
}

fn with_uri_if_missing(error: Error, uri: &str) -> Error {
    if error.uri().is_some() { error } else { error.with_uri(uri) }
}
