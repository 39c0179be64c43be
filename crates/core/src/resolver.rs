//! The path of a call: address → authorize → cache → scheme → seal → audit.
//!
//! Every transport, tool and command goes through here, so each rule stands in one place: the scope is decided from the
//! address's shape before any look at the data, every call leaves exactly one audit event, and nothing is answered that
//! is older than its own event.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use quad_address::Router;
use serde_json::{Map, Value};

use crate::addresses::{Addresses, Located};
use crate::attempts::Attempts;
use crate::cache::{Cache, Sought};
use crate::event::shorten;
use crate::journal::Bases;
use crate::prompt::{Message, Prompt};
use crate::scheme::{Asked, CompletionQuery, Listed, Subject};
use crate::tool::{Audit, Call, Progress, validate};
use crate::{
    Address, Basis, Error, EventDraft, Feed, Journal, Kind, Need, Principal, Receipt, Result, Route, Scheme,
    Sealed, Timestamp, Tool, ToolOutput, canonical, cursor, limits, nearest, resource_tools,
};

/// The list that page cursors of `resources/list` belong to: each tenant has its own.
fn resources_of(caller: &Principal) -> String {
    format!("resources of {}", caller.tenant)
}

/// All schemes behind one door.
pub struct Resolver {
    schemes: Vec<Mounted>,
    router: Router<Target>,
    addresses: Addresses,
    tools: HashMap<&'static str, Place>,
    own_tools: Vec<Checked>,
    cache: Cache,
    journal: Arc<dyn Journal>,
    feed: Arc<dyn Feed>,
}

struct Mounted {
    scheme: Arc<dyn Scheme>,
    routes: Vec<Route>,
    tools: Vec<Checked>,
}

/// A tool, and what checks its arguments: made when it is called first, since few of all tools are.
struct Checked {
    tool: Tool,
    schema: OnceLock<Result<jsonschema::Validator, String>>,
}

impl Checked {
    fn new(tool: Tool) -> Checked {
        Checked { tool, schema: OnceLock::new() }
    }

    fn schema(&self) -> Result<&jsonschema::Validator> {
        let make = || jsonschema::validator_for(&self.tool.input_schema).map_err(|error| error.to_string());
        self.schema
            .get_or_init(make)
            .as_ref()
            .map_err(|error| Error::internal(format!("the schema of {}: {error}", self.tool.name)))
    }
}

#[derive(Clone, Copy, Debug)]
struct Target {
    scheme: usize,
    route: usize,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    /// Tool number so-and-so of a scheme.
    Of { scheme: usize, tool: usize },
    /// One of the resolver's own: resources for clients that read none.
    Own(usize),
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
pub struct Answer {
    /// The contents.
    pub sealed: Arc<Sealed>,
    /// The proof that the read was written down.
    pub receipt: Receipt,
}

/// A page of `resources/list`.
#[derive(Debug)]
pub struct ResourcePage {
    /// The entries.
    pub entries: Vec<Listed>,
    /// Where the next page starts.
    pub next_cursor: Option<String>,
}

/// The values that complete a variable.
#[derive(Debug)]
pub struct Completed {
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
        journal: Arc<dyn Journal>,
        feed: Arc<dyn Feed>,
    ) -> Result<Resolver> {
        let mut router = Router::new();
        let mut tools = HashMap::new();
        let mut mounted = Vec::with_capacity(schemes.len());
        for (scheme_index, scheme) in schemes.into_iter().enumerate() {
            let routes = scheme.routes();
            for (route, declared) in routes.iter().enumerate() {
                router
                    .add(declared.spec.clone(), Target { scheme: scheme_index, route })
                    .map_err(|error| Error::internal(error.to_string()))?;
            }
            let checked: Vec<Checked> = scheme.tools().into_iter().map(Checked::new).collect();
            for (tool, entry) in checked.iter().enumerate() {
                let place = Place::Of { scheme: scheme_index, tool };
                if tools.insert(entry.tool.name, place).is_some() {
                    return Err(Error::internal(format!("two tools are named {}", entry.tool.name)));
                }
            }
            mounted.push(Mounted { scheme, routes, tools: checked });
        }
        let own_tools: Vec<Checked> = resource_tools::tools().into_iter().map(Checked::new).collect();
        for (index, entry) in own_tools.iter().enumerate() {
            tools.insert(entry.tool.name, Place::Own(index));
        }
        Ok(Resolver {
            schemes: mounted,
            router,
            addresses: Addresses::default(),
            tools,
            own_tools,
            cache: Cache::new(limits::CACHE_BYTES),
            journal,
            feed,
        })
    }

    /// Whether every tool's schema is one: a programming error, which a tool would otherwise show when it is called.
    pub fn check_schemas(&self) -> Result<()> {
        let mut all = self.schemes.iter().flat_map(|mounted| &mounted.tools).chain(&self.own_tools);
        all.try_for_each(|entry| entry.schema().map(|_| ()))
    }

    /// The same with a cache of another size.
    pub fn with_cache_bytes(mut self, bytes_max: usize) -> Resolver {
        self.cache = Cache::new(bytes_max);
        self
    }

    /// The view of one scheme, by name.
    pub fn view_of(&self, scheme: &str) -> Result<View> {
        let names = || self.schemes.iter().map(|mounted| mounted.scheme.name());
        names().position(|name| name == scheme).map(View::Only).ok_or_else(|| {
            let near = nearest(scheme, names()).map(|near| format!(", perhaps {near}")).unwrap_or_default();
            Error::new(Kind::NotFound, "NOT_FOUND", "There is no such scheme")
                .hint(format!("The schemes are {}{near}", names().collect::<Vec<_>>().join(", ")))
        })
    }

    /// The names of all schemes.
    pub fn scheme_names(&self) -> Vec<&'static str> {
        self.schemes.iter().map(|mounted| mounted.scheme.name()).collect()
    }

    /// Every scope that any scheme knows.
    pub fn every_scope(&self) -> Vec<&'static str> {
        self.schemes.iter().flat_map(|mounted| mounted.scheme.scopes().iter().copied()).collect()
    }

    /// What an agent should know to start.
    pub fn instructions(&self, view: View) -> String {
        let texts: Vec<&str> = self.mounted(view).map(|(_, mounted)| mounted.scheme.instructions()).collect();
        texts.join("\n\n")
    }

    /// The templates of a view. The same for everyone, whatever they may read.
    pub fn templates(&self, view: View) -> impl Iterator<Item = &Route> {
        self.mounted(view)
            .flat_map(|(_, mounted)| &mounted.routes)
            .filter(|route| route.advertised && route.spec.template.variables().next().is_some())
    }

    /// The tools that the caller may call; the core profile unless `all`.
    pub fn tools<'a>(
        &'a self,
        caller: &'a Principal,
        view: View,
        all: bool,
    ) -> impl Iterator<Item = &'a Tool> {
        let own = self.own_tools.iter().map(|entry| &entry.tool);
        let theirs = self.mounted(view).flat_map(|(_, mounted)| &mounted.tools).map(|entry| &entry.tool);
        theirs.chain(own).filter(move |tool| (all || tool.core) && tool.need.is_met_by(&caller.scopes))
    }

    /// The prompts that the caller may use.
    pub fn prompts<'a>(
        &'a self,
        caller: &'a Principal,
        view: View,
    ) -> impl Iterator<Item = &'static Prompt> + 'a {
        self.mounted(view)
            .flat_map(|(_, mounted)| mounted.scheme.prompts())
            .filter(|prompt| prompt.need.is_met_by(&caller.scopes))
    }

    /// How the cache does.
    pub fn cache_figures(&self) -> crate::cache::Figures {
        self.cache.figures()
    }

    /// Where changes are announced.
    pub fn feed(&self) -> &dyn Feed {
        self.feed.as_ref()
    }

    /// Writes down something that needs no more than that: a listing of tools, an opened subscription.
    pub async fn note(&self, caller: &Principal, event: EventDraft) -> Result<Receipt> {
        self.commit(caller, event.succeeded()).await
    }

    /// Reads an address.
    pub async fn read(&self, caller: &Principal, view: View, uri: &str) -> Result<Answer> {
        self.read_as(caller, view, uri, &|asked| {
            EventDraft::call(caller, "resources/read").input("uri", asked)
        })
        .await
    }

    /// Reads an address on behalf of an event that names it: a `resources/read`, or a tool that does the same. The event is made
    /// when it is written, since nearly every read is computed and written once.
    pub(crate) async fn read_as(
        &self,
        caller: &Principal,
        view: View,
        uri: &str,
        event: &(dyn Fn(Arc<str>) -> EventDraft + Sync),
    ) -> Result<Answer> {
        match self.try_read(caller, view, uri, event).await {
            Err(error) => {
                let error = self.spelt(caller, view, Asked::Address(uri), error);
                Err(Box::pin(self.refuse(caller, event(shorten(uri)), error)).await)
            }
            answer => answer,
        }
    }

    async fn try_read(
        &self,
        caller: &Principal,
        view: View,
        uri: &str,
        event: &(dyn Fn(Arc<str>) -> EventDraft + Sync),
    ) -> Result<Answer> {
        let located = self.locate(caller, view, uri)?;
        let scheme = &self.schemes[located.scheme].scheme;
        let facts = scheme.facts(caller, &located.address);
        let key = Sought { tenant: &caller.tenant, canonical: located.address.canonical(), facts: &facts };
        let mut attempts = self.attempts(caller);
        loop {
            attempts.begin().await.map_err(|error| error.at(uri))?;
            let known = if attempts.is_first() { self.cache.get(key, Timestamp::now()) } else { None };
            let sealed = match known {
                Some(sealed) => sealed,
                None => {
                    let reading = scheme.read(caller, located.route, &located.address).await;
                    let sealed = reading.map_err(|error| at(error, uri))?.seal()?;
                    self.cache.put(key.to_key(), &sealed, Timestamp::now());
                    sealed
                }
            };
            let mut event =
                event(located.asked.clone()).succeeded().output("content_hash", sealed.content_hash.clone());
            if let Some(version) = sealed.basis.version {
                event = event.output("version", version.0);
            }
            let bases = Bases::from_iter([sealed.basis.clone()]);
            if let Some(receipt) = attempts.commit(event, bases, sealed.errand.clone()).await? {
                return Ok(Answer { sealed, receipt });
            }
            self.cache.remove(key);
        }
    }

    /// What an address rests on now, for a subscription. Discloses nothing, so it is not a read and leaves no event.
    pub async fn basis_of(&self, caller: &Principal, view: View, uri: &str) -> Result<Arc<Basis>> {
        let located = self.locate(caller, view, uri)?;
        let scheme = &self.schemes[located.scheme].scheme;
        let reading = scheme.read(caller, located.route, &located.address).await?;
        Ok(Arc::new(reading.basis))
    }

    /// What a URI names, whoever asks and whether or not it is there.
    pub fn address(&self, uri: &str) -> Result<Address> {
        let (address, _) = self.router.route(uri).map_err(|error| Error::from(error).at(uri))?;
        Ok(address)
    }

    /// Whether the caller could read an address of any scheme now, and what that rests on: the checks and refusals of a read in
    /// the same order. For schemes that are about other addresses. It discloses nothing by itself and leaves no event; the call
    /// that asks leaves its own.
    pub async fn probe(&self, caller: &Principal, uri: &str) -> Result<(Address, Basis)> {
        let located = self.locate(caller, View::All, uri)?;
        let scheme = &self.schemes[located.scheme].scheme;
        let probed = scheme.probe(caller, located.route, &located.address).await;
        Ok((located.address.clone(), probed.map_err(|error| at(error, uri))?))
    }

    /// Finds the address and checks the scope that its shape needs.
    fn locate(&self, caller: &Principal, view: View, uri: &str) -> Result<Arc<Located>> {
        let read = || {
            let routed = self.router.route(uri);
            routed.map(|(address, target)| Located::new(uri, address, target.scheme, target.route))
        };
        let located = self.addresses.get_or(uri, read).map_err(|error| Error::from(error).at(uri))?;
        if !self.is_served(view, located.scheme) {
            return Err(Error::new(
                Kind::BadInput,
                "INVALID_URI",
                "This endpoint does not serve that scheme",
            )
            .hint("Use the endpoint of all schemes, /mcp")
            .at(uri));
        }
        let need = self.schemes[located.scheme].routes[located.route].need;
        require(need, caller).map_err(|error| error.at(uri))?;
        Ok(located)
    }

    /// Whether an endpoint answers for a scheme.
    fn is_served(&self, view: View, scheme: usize) -> bool {
        view == View::All || view == View::Only(scheme) || self.schemes[scheme].scheme.is_everywhere()
    }

    /// Lists what the caller can read.
    pub async fn list(&self, caller: &Principal, view: View, cursor: Option<&str>) -> Result<ResourcePage> {
        self.list_as(caller, view, cursor, EventDraft::call(caller, "resources/list")).await
    }

    pub(crate) async fn list_as(
        &self,
        caller: &Principal,
        view: View,
        cursor: Option<&str>,
        event: EventDraft,
    ) -> Result<ResourcePage> {
        match self.try_list(caller, view, cursor, &event).await {
            Err(error) => {
                let error = self.spelt(caller, view, Asked::Other, error);
                Err(self.refuse(caller, event, error).await)
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
                let key = cursor::decode(&resources_of(caller), cursor)?;
                let (name, after) = key.split_once('\n').unwrap_or((&key, ""));
                Some((name.to_owned(), after.to_owned()))
            }
        };
        let mut attempts = self.attempts(caller);
        loop {
            attempts.begin().await?;
            let (page, bases) = self.gather(caller, view, start.as_ref()).await?;
            let event = event.clone().succeeded().output("count", page.entries.len());
            if attempts.commit(event, bases.into(), None).await?.is_some() {
                return Ok(page);
            }
        }
    }

    /// One page over the schemes of a view, from `start` on.
    async fn gather(
        &self,
        caller: &Principal,
        view: View,
        start: Option<&(String, String)>,
    ) -> Result<(ResourcePage, Vec<Arc<Basis>>)> {
        let mut entries = Vec::new();
        let mut bases = Vec::new();
        let mut reached = start.is_none();
        for (_, mounted) in self.mounted(view) {
            let name = mounted.scheme.name();
            let mut after = None;
            if let Some((scheme, key)) = start
                && !reached
            {
                if scheme != name {
                    continue;
                }
                reached = true;
                after = (!key.is_empty()).then_some(key.as_str());
            }
            let room = limits::LIST_PAGE_ENTRIES - entries.len();
            if room == 0 {
                // The page is full exactly at the end of the scheme before; the next page begins with this one.
                let next_cursor = Some(cursor::encode(&resources_of(caller), &format!("{name}\n")));
                return Ok((ResourcePage { entries, next_cursor }, bases));
            }
            let listing = mounted.scheme.list(caller, after, room).await?;
            entries.extend(listing.entries);
            bases.push(Arc::new(listing.basis));
            if let Some(next) = listing.next {
                let next_cursor = Some(cursor::encode(&resources_of(caller), &format!("{name}\n{next}")));
                return Ok((ResourcePage { entries, next_cursor }, bases));
            }
        }
        Ok((ResourcePage { entries, next_cursor: None }, bases))
    }

    /// Completes a variable of a template or an argument of a prompt.
    pub async fn complete(
        &self,
        caller: &Principal,
        view: View,
        query: CompletionQuery<'_>,
    ) -> Result<Completed> {
        let event =
            EventDraft::call(caller, "completion/complete").input("argument", shorten(query.variable));
        self.complete_as(caller, view, query, event).await
    }

    pub(crate) async fn complete_as(
        &self,
        caller: &Principal,
        view: View,
        query: CompletionQuery<'_>,
        event: EventDraft,
    ) -> Result<Completed> {
        match self.try_complete(caller, view, query, &event).await {
            Err(error) => Err(self.refuse(caller, event, error).await),
            completed => completed,
        }
    }

    async fn try_complete(
        &self,
        caller: &Principal,
        view: View,
        query: CompletionQuery<'_>,
        event: &EventDraft,
    ) -> Result<Completed> {
        let mounted = self.subject_of(caller, view, query)?;
        let mut attempts = self.attempts(caller);
        loop {
            attempts.begin().await?;
            let completion = mounted.scheme.complete(caller, query).await?;
            let event = event.clone().succeeded().output("count", completion.values.len());
            let bases = Bases::from_iter([Arc::new(completion.basis)]);
            if attempts.commit(event, bases, None).await?.is_some() {
                let mut values = completion.values;
                let total = completion.total.max(values.len());
                values.truncate(limits::COMPLETION_VALUES);
                return Ok(Completed { values, total });
            }
        }
    }

    /// The scheme that answers a completion, after the checks that need no data.
    fn subject_of(&self, caller: &Principal, view: View, query: CompletionQuery<'_>) -> Result<&Mounted> {
        let unknown = |what: &str| Error::bad_input(format!("There is no such {what}"));
        match query.subject {
            Subject::Template(template) => {
                let (_, found, target) = self
                    .router
                    .find_template(template)
                    .filter(|(_, _, target)| self.is_served(view, target.scheme))
                    .ok_or_else(|| unknown("template").hint("resources/templates/list has the templates"))?;
                let mounted = &self.schemes[target.scheme];
                require(mounted.routes[target.route].need, caller)?;
                if !found.variables().any(|variable| variable == query.variable) {
                    let known = found.variables().collect::<Vec<_>>().join(", ");
                    return Err(unknown("variable in this template").hint(format!("It has {known}")));
                }
                Ok(mounted)
            }
            Subject::Prompt(name) => {
                let (mounted, prompt) = self.find_prompt(view, name)?;
                require(prompt.need, caller)?;
                if !prompt.arguments.iter().any(|argument| argument.name == query.variable) {
                    return Err(unknown("argument of this prompt"));
                }
                Ok(mounted)
            }
        }
    }

    /// Calls a tool. An unknown name is [`Kind::BadInput`] with the code `UNKNOWN_TOOL`; every other failure is the
    /// tool's own result.
    pub async fn call(
        &self,
        caller: &Principal,
        view: View,
        name: &str,
        arguments: Map<String, Value>,
        progress: &dyn Progress,
    ) -> Result<ToolOutput> {
        let arguments = Value::Object(arguments);
        let event = EventDraft::call(caller, "tools/call")
            .input("tool", shorten(name))
            .input("args_hash", canonical::sha256_hex_of(&arguments));
        match self.try_call(caller, view, name, arguments, &event, progress).await {
            // The resource tools have written their own refusal.
            Err(Failed::Recorded(error)) => Err(error),
            Err(Failed::Unrecorded(error)) => {
                let error = self.spelt(caller, view, Asked::Tool(name), error);
                Err(self.refuse(caller, event, error).await)
            }
            Ok(output) => Ok(output),
        }
    }

    async fn try_call(
        &self,
        caller: &Principal,
        view: View,
        name: &str,
        arguments: Value,
        event: &EventDraft,
        progress: &dyn Progress,
    ) -> Result<ToolOutput, Failed> {
        let (mounted, entry) = self.find_tool(view, name)?;
        require(entry.tool.need, caller)?;
        validate(entry.schema()?, &arguments)?;
        let Value::Object(arguments) = arguments else {
            return Err(Error::bad_input("The arguments must be an object").into());
        };
        let Some(mounted) = mounted else {
            let output = resource_tools::call(self, caller, view, name, &arguments, event.clone()).await;
            return output.map_err(Failed::Recorded);
        };
        let mut attempts = self.attempts(caller);
        loop {
            attempts.begin().await?;
            let call = Call {
                caller,
                tool: &entry.tool,
                arguments: arguments.clone(),
                event: event.clone(),
                progress,
            };
            let called = mounted.scheme.call(call).await?;
            match called.audit {
                Audit::Written(_) => return Ok(called.output),
                Audit::Pending(basis) => {
                    let bases = Bases::from_iter([Arc::new(basis)]);
                    if attempts.commit(event.clone().succeeded(), bases, None).await?.is_some() {
                        return Ok(called.output);
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

    fn find_tool(&self, view: View, name: &str) -> Result<(Option<&Mounted>, &Checked)> {
        match self.tools.get(name) {
            Some(Place::Own(index)) => Ok((None, &self.own_tools[*index])),
            Some(Place::Of { scheme, tool }) if self.is_served(view, *scheme) => {
                let mounted = &self.schemes[*scheme];
                Ok((Some(mounted), &mounted.tools[*tool]))
            }
            _ => {
                let unknown =
                    Error::new(Kind::BadInput, "UNKNOWN_TOOL", format!("Unknown tool: {}", shorten(name)));
                Err(match nearest(name, self.tools.keys().copied()) {
                    Some(near) => unknown.hint(format!("The nearest is {near}")),
                    None => unknown.hint("tools/list has the tools"),
                })
            }
        }
    }

    /// The messages of a prompt.
    pub async fn prompt(
        &self,
        caller: &Principal,
        view: View,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<(&'static Prompt, Vec<Message>)> {
        let event = EventDraft::call(caller, "prompts/get").input("prompt", shorten(name));
        match self.try_prompt(caller, view, name, arguments, &event).await {
            Err(error) => {
                let error = self.spelt(caller, view, Asked::Prompt(name), error);
                Err(self.refuse(caller, event, error).await)
            }
            messages => messages,
        }
    }

    async fn try_prompt(
        &self,
        caller: &Principal,
        view: View,
        name: &str,
        arguments: &Map<String, Value>,
        event: &EventDraft,
    ) -> Result<(&'static Prompt, Vec<Message>)> {
        let (mounted, prompt) = self.find_prompt(view, name)?;
        require(prompt.need, caller)?;
        for argument in prompt.arguments.iter().filter(|argument| argument.required) {
            if !arguments.get(argument.name).is_some_and(Value::is_string) {
                return Err(Error::bad_input(format!("The prompt needs the argument {}", argument.name))
                    .hint(argument.description)
                    .fact("missing", argument.name));
            }
        }
        let mut attempts = self.attempts(caller);
        loop {
            attempts.begin().await?;
            let (messages, basis) = mounted.scheme.prompt(caller, prompt, arguments).await?;
            let bases = Bases::from_iter([Arc::new(basis)]);
            if attempts.commit(event.clone().succeeded(), bases, None).await?.is_some() {
                return Ok((prompt, messages));
            }
        }
    }

    fn find_prompt(&self, view: View, name: &str) -> Result<(&Mounted, &'static Prompt)> {
        let all =
            || self.mounted(view).flat_map(|(_, m)| m.scheme.prompts().iter().map(move |prompt| (m, prompt)));
        all().find(|(_, prompt)| prompt.name == name).ok_or_else(|| {
            let unknown =
                Error::new(Kind::BadInput, "UNKNOWN_PROMPT", format!("Unknown prompt: {}", shorten(name)));
            match nearest(name, all().map(|(_, prompt)| prompt.name)) {
                Some(near) => unknown.hint(format!("The nearest is {near}")),
                None => unknown.hint("prompts/list has the prompts"),
            }
        })
    }

    fn mounted(&self, view: View) -> impl Iterator<Item = (usize, &Mounted)> {
        self.schemes
            .iter()
            .enumerate()
            .filter(move |(index, _)| view == View::All || view == View::Only(*index))
    }

    fn attempts<'c>(&'c self, caller: &'c Principal) -> Attempts<'c> {
        Attempts::new(self.journal.as_ref(), caller)
    }

    /// Makes an event durable that rests on nothing but the caller's credential.
    async fn commit(&self, caller: &Principal, event: EventDraft) -> Result<Receipt> {
        let receipt = self.attempts(caller).commit(event, Bases::new(), None).await?;
        receipt.ok_or_else(|| Error::internal("an event that rests on nothing was stale"))
    }

    /// A refusal in the words of the scheme that it is about: the one whose address, tool or prompt was asked for, or the only
    /// one of the endpoint.
    fn spelt(&self, caller: &Principal, view: View, asked: Asked<'_>, error: Error) -> Error {
        if error.kind() == Kind::Credential || !error.is_owed() {
            return error;
        }
        let named = |name: &str| self.schemes.iter().position(|mounted| mounted.scheme.name() == name);
        let about = match (asked, view) {
            (Asked::Address(uri), _) => uri.split_once("://").and_then(|(scheme, _)| named(scheme)),
            (Asked::Tool(name), _) => match self.tools.get(name) {
                Some(Place::Of { scheme, .. }) => Some(*scheme),
                _ => None,
            },
            (Asked::Prompt(name), _) => self
                .schemes
                .iter()
                .position(|mounted| mounted.scheme.prompts().iter().any(|prompt| prompt.name == name)),
            (Asked::Other, _) => None,
        };
        let only = match view {
            View::Only(scheme) => Some(scheme),
            View::All => None,
        };
        match about.or(only) {
            Some(scheme) => self.schemes[scheme].scheme.refused(caller, asked, error),
            None => error,
        }
    }

    /// Writes a refusal down, once, and hands the error on. If even that cannot be written, the caller learns only that we
    /// failed: an unrecorded refusal would be a hole in the trail.
    pub async fn refuse(&self, caller: &Principal, event: EventDraft, error: Error) -> Error {
        if error.kind() == Kind::Credential || !error.is_owed() {
            return error;
        }
        if error.kind() == Kind::Internal {
            tracing::error!(code = error.code(), cause = error.causes(), "a call failed");
        }
        match self.commit(caller, event.failed(&error)).await {
            Ok(_) => error.recorded(),
            Err(cause) => cause.unrecordable(),
        }
    }
}

/// A failed tool call, and whether its event is written.
enum Failed {
    Recorded(Error),
    Unrecorded(Error),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed::Unrecorded(error)
    }
}

fn require(need: Need, caller: &Principal) -> Result<()> {
    if need.is_met_by(&caller.scopes) { Ok(()) } else { Err(Error::scope_missing(need)) }
}

fn at(error: Error, uri: &str) -> Error {
    if error.uri().is_some() { error } else { error.at(uri) }
}
