//! Start-up: opens the database and the authentication service, and registers the schemes.

use std::sync::Arc;

use quad_amem::Amem;
use quad_audit::{Audit, CheckpointFile, CheckpointSigner, Links, SignatureWithKey, Signer, database_check};
use quad_auth::{AuthService, KeyStorage};
use quad_bkend::{Bkend, TokenDirectory, TokenSummary};
use quad_brain::{AgentDirectory, AgentSummary, Brain};
use quad_core::resolver::View;
use quad_core::{Error, Kind, Principal, ReadSet, Resolver, Result, Scheme, TenantId};
use quad_refrakt::Refrakt;
use quad_store::{Component, Location, Store, tenant};

use crate::config::Config;

/// The tables of every crate that has tables.
const COMPONENTS: &[Component] = &[
    quad_auth::COMPONENT,
    quad_amem::COMPONENT,
    quad_bkend::COMPONENT,
    quad_brain::COMPONENT,
    quad_refrakt::COMPONENT,
    quad_audit::COMPONENT,
];

/// What a command needs.
pub struct App {
    /// The settings.
    pub config: Config,
    /// The database.
    pub store: Store,
    /// Tokens, agents and keys.
    pub auth: AuthService,
    /// The resolver over all schemes.
    pub resolver: Arc<Resolver>,
    /// The memory scheme, for what has no address: import, export and integrity checks.
    pub memory: Arc<Amem>,
    /// The project scheme. Only the serving commands watch its folder.
    pub project: Arc<Refrakt>,
    /// Signs checkpoints of the audit chain.
    pub checkpoint_signer: CheckpointSigner,
    /// The configured tenant.
    pub tenant: tenant::Tenant,
}

impl App {
    /// Opens everything. The first start creates the local tenant with a demo organization. Refuses a database that is
    /// older than the checkpoints beside it.
    pub async fn open(config: Config) -> Result<App> {
        check_database_exists(&config)?;
        let store = open_store(&config).await?;
        database_check::check(&store, &CheckpointFile::in_folder(&config.data_dir)).await?;
        App::with_store(config, store).await
    }

    /// Opens a database of any age: for commands that say what is wrong with it.
    pub async fn open_any_age(config: Config) -> Result<App> {
        check_database_exists(&config)?;
        let store = open_store(&config).await?;
        App::with_store(config, store).await
    }

    /// Opens everything else on this database.
    pub async fn with_store(config: Config, store: Store) -> Result<App> {
        let auth = AuthService::open(store.clone(), key_storage(&config)).await?;
        if tenant::find(&store, tenant::LOCAL).await?.is_none() {
            let local = tenant::ensure(&store, tenant::LOCAL).await?;
            quad_bkend::demo::ensure(&store, &local.id).await?;
        }
        let existing = tenant::find(&store, &config.tenant).await?;
        let tenant = match existing {
            Some(tenant) => tenant,
            None => return Err(unknown_tenant(&store, &config.tenant).await?),
        };
        let links = Arc::new(Links::new(store.clone()));
        let memory = Amem::new(store.clone(), config.data_dir.join("search")).with_link_index(links.clone());
        let memory = Arc::new(memory);
        let project = Refrakt::new(store.clone(), tenant.id.clone(), project_folder(&config)?);
        let project = Arc::new(project);
        let resolver = build_resolver(&store, &auth, &memory, &project, links)?;
        let file = CheckpointFile::in_folder(&config.data_dir);
        let checkpoint_signer =
            CheckpointSigner::new(store.clone(), Arc::new(AuditSigner(auth.clone())), file);
        Ok(App { config, store, auth, resolver, memory, project, checkpoint_signer, tenant })
    }

    /// Makes checkpoints while a command runs that is not done soon. It begins after a second, so that a short command
    /// makes one checkpoint, at its end.
    pub fn start_checkpoints(&self) {
        let checkpoint_signer = self.checkpoint_signer.clone();
        tokio::spawn(async move {
            tokio::time::sleep(quad_audit::limits::CHECKPOINT_DUE_AGE).await;
            checkpoint_signer.run().await;
        });
    }

    /// Makes checkpoints for the events of a command before it ends: without them, the last events could be cut off
    /// unnoticed. The outcome of the command does not depend on it.
    pub async fn finish(&self) {
        if let Err(error) = self.checkpoint_signer.finish_own().await {
            tracing::warn!(cause = error.cause_chain(), "checkpoints not made: {}", error.message());
        }
    }

    /// The principal of `quad stdio`, of `quad serve --no-auth` and of the command line.
    pub fn local_agent(&self) -> Principal {
        Principal::local_agent(self.tenant.id.clone(), self.resolver.all_scopes())
    }

    /// The view of one scheme, or of all schemes.
    pub fn view(&self, only: Option<&str>) -> Result<View> {
        only.map_or(Ok(View::All), |scheme| self.resolver.view_for_scheme(scheme))
    }
}

/// Opens the database alone. The first start creates it.
pub async fn open_store(config: &Config) -> Result<Store> {
    make_data_dir(config)?;
    Store::open(config.location(), COMPONENTS).await
}

/// Where the signing keys are.
pub fn key_storage(config: &Config) -> KeyStorage {
    KeyStorage::new(&config.data_dir, std::env::var("QUAD_KEY").ok())
}

/// Refuses to create a database in a folder that had one: the checkpoints beside it have outlived it.
pub fn check_database_exists(config: &Config) -> Result<()> {
    let Location::Sqlite(file) = config.location() else { return Ok(()) };
    let checkpoints = CheckpointFile::in_folder(&config.data_dir);
    let tail_bytes = Some(quad_audit::limits::CHECKPOINT_FILE_CHECKED_BYTES);
    if file.exists() || checkpoints.newest_of_each_tenant(tail_bytes)?.is_empty() {
        return Ok(());
    }
    let message = format!("{} is missing, but checkpoints.jsonl beside it covers its events", file.display());
    Err(Error::new(Kind::Conflict, "DATABASE_MISSING", message).hint(
        "Restore a backup with `quad restore FILE`. To begin without the old data, move checkpoints.jsonl to another \
         folder",
    ))
}

/// Registers the schemes, in the order of lists. `Links` asks the resolver what a caller can read, so it gets the same
/// resolver that serves it.
fn build_resolver(
    store: &Store,
    auth: &AuthService,
    memory: &Arc<Amem>,
    project: &Arc<Refrakt>,
    links: Arc<Links>,
) -> Result<Arc<Resolver>> {
    let tokens = Arc::new(TokenDirectoryAdapter(auth.clone()));
    let schemes: Vec<Arc<dyn Scheme>> = vec![
        project.clone(),
        memory.clone(),
        Arc::new(Bkend::new(store.clone(), tokens)),
        Arc::new(Brain::new(store.clone(), Arc::new(AgentDirectoryAdapter(auth.clone())))),
        Arc::new(Audit::new(store.clone())),
        links.clone(),
    ];
    let store = Arc::new(store.clone());
    let resolver = Arc::new(Resolver::new(schemes, store.clone(), store)?);
    links.set_resolver(&resolver);
    Ok(resolver)
}

/// Signs checkpoints with the key of `quad-auth`, so that `quad-audit` does not depend on it.
struct AuditSigner(AuthService);

impl Signer for AuditSigner {
    fn sign(&self, message: &[u8]) -> SignatureWithKey {
        let signature = self.0.sign(message);
        SignatureWithKey { public_key: signature.public_key, signature: signature.signature }
    }
}

/// Lists the tokens of `quad-auth` for `quad-bkend`, which does not depend on it.
struct TokenDirectoryAdapter(AuthService);

#[async_trait::async_trait]
impl TokenDirectory for TokenDirectoryAdapter {
    async fn list(&self, tenant: &TenantId) -> Result<(Vec<TokenSummary>, ReadSet)> {
        let (tokens, read_set) = self.0.tokens_with_read_set(tenant).await?;
        Ok((tokens.iter().map(token_summary).collect(), read_set))
    }
}

/// Lists the agents of `quad-auth` for `quad-brain`, which does not depend on it.
pub struct AgentDirectoryAdapter(pub AuthService);

#[async_trait::async_trait]
impl AgentDirectory for AgentDirectoryAdapter {
    async fn list(&self, tenant: &TenantId) -> Result<(Vec<AgentSummary>, ReadSet)> {
        let (agents, read_set) = self.0.agents_with_read_set(tenant).await?;
        let agent_summary = |agent: &quad_auth::AgentRecord| AgentSummary {
            subject: agent.subject.clone(),
            kind: agent.kind.as_str().to_owned(),
            state: agent.state.as_str().to_owned(),
            scopes: agent.scopes.iter().map(str::to_owned).collect(),
            registered_at: agent.created_at,
        };
        Ok((agents.iter().map(agent_summary).collect(), read_set))
    }
}

fn token_summary(token: &quad_auth::TokenRecord) -> TokenSummary {
    let status = if token.revoked_at.is_some() {
        "revoked"
    } else if token.expires_at <= quad_core::Timestamp::now() {
        "expired"
    } else {
        "active"
    };
    TokenSummary {
        id: token.id.clone(),
        name: token.subject.clone(),
        kind: token.kind.as_str().to_owned(),
        scopes: token.scopes.iter().map(str::to_owned).collect(),
        created_at: token.created_at,
        expires_at: Some(token.expires_at),
        status: status.to_owned(),
    }
}

/// The configured project folder, or the working directory.
fn project_folder(config: &Config) -> Result<std::path::PathBuf> {
    match &config.project {
        Some(folder) => Ok(folder.clone()),
        None => std::env::current_dir().map_err(|error| {
            Error::bad_input(format!("The working directory cannot be used: {error}"))
                .hint("Name the project folder with --project")
        }),
    }
}

pub fn make_data_dir(config: &Config) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    let created = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&config.data_dir);
    created.map_err(|error| {
        Error::bad_input(format!("The data folder {} cannot be created: {error}", config.data_dir.display()))
            .hint("Name another folder with --data-dir")
    })
}

async fn unknown_tenant(store: &Store, name: &str) -> Result<Error> {
    let tenants = tenant::list(store).await?;
    let names: Vec<&str> = tenants.iter().map(|tenant| tenant.name.as_str()).collect();
    let hint = quad_core::closest(name, names).map_or_else(
        || "List the tenants with `quad tenant list`, or create one with `quad tenant add`".to_owned(),
        |near| format!("Use {near}, the nearest name, or create this one with `quad tenant add {name}`"),
    );
    Ok(Error::new(Kind::NotFound, "UNKNOWN_TENANT", format!("There is no tenant named {name}")).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Common;

    #[tokio::test(flavor = "multi_thread")]
    async fn every_tool_has_a_valid_object_schema() {
        let folder = tempfile::tempdir().unwrap();
        let common = Common { data_dir: Some(folder.path().to_owned()), ..Common::default() };
        let app = App::open(Config::load(&common).unwrap()).await.unwrap();
        app.resolver.check_schemas().unwrap();
        let caller = app.local_agent();
        let tools: Vec<_> = app.resolver.tools(&caller, View::All, true).collect();
        assert!(
            tools.iter().all(|tool| tool.input_schema["type"] == "object"),
            "every input schema describes an object"
        );
        assert!(tools.len() > 50, "{}", tools.len());
    }
}
