//! Settings: flags, then `QUAD_*` variables, then `quad.toml`, then defaults.
//!
//! The command line merges flags and variables; this file adds `quad.toml` and the defaults. An unknown key is an error
//! that names the nearest valid one, since a misspelt key would otherwise have no effect and no message.

use std::path::{Path, PathBuf};

use quad_auth::{Algorithm, ClaimNames, IssuerConfig, RateLimit};
use quad_core::{Error, Kind, Result, closest, input_file};
use quad_store::{AuditMode, Location};
use serde::Deserialize;

use crate::cli::{Common, Durability, LogFormat, Serve, ToolNames, Tools};

/// The address and port of `quad serve`, unless one is configured.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:4704";

/// The page that describes every setting.
const DOCS_PAGE: &str = "docs/reference/configuration.md";

/// The largest settings file. A real one has some hundred bytes.
const SETTINGS_BYTES_MAX: u64 = 1 << 20;

/// All keys of `quad.toml`, for hints. A test checks that each is a field of [`SettingsFile`].
const KEYS: &[&str] = &[
    "data_dir",
    "database_url",
    "tenant",
    "project",
    "listen",
    "no_auth",
    "allowed_hosts",
    "public_url",
    "tools",
    "tool_names",
    "audit",
    "access_log",
    "log_format",
    "rate_limit",
    "rate_limit.per_second",
    "rate_limit.burst",
    "issuer",
    "issuer.issuer",
    "issuer.audience",
    "issuer.jwks_file",
    "issuer.algorithms",
    "issuer.auto_register",
    "issuer.claims",
    "issuer.claims.tenant",
    "issuer.claims.subject",
    "issuer.claims.kind",
    "issuer.claims.scopes",
];

/// The environment variables that `quad` reads.
const VARIABLES: &[&str] = &[
    "QUAD_DATA_DIR",
    "QUAD_DATABASE_URL",
    "QUAD_CONFIG",
    "QUAD_TENANT",
    "QUAD_PROJECT",
    "QUAD_LISTEN",
    "QUAD_NO_AUTH",
    "QUAD_ALLOWED_HOSTS",
    "QUAD_PUBLIC_URL",
    "QUAD_TOOLS",
    "QUAD_TOOL_NAMES",
    "QUAD_AUDIT",
    "QUAD_KEY",
    "QUAD_BACKUP_PASSPHRASE",
    "QUAD_LOG",
    "QUAD_LOG_FORMAT",
    "QUAD_ACCESS_LOG",
];

/// `quad.toml`, as it is written.
#[derive(Clone, Debug, Default, Deserialize)]
struct SettingsFile {
    data_dir: Option<PathBuf>,
    database_url: Option<String>,
    tenant: Option<String>,
    project: Option<PathBuf>,
    listen: Option<String>,
    no_auth: Option<bool>,
    allowed_hosts: Option<Vec<String>>,
    public_url: Option<String>,
    tools: Option<Tools>,
    tool_names: Option<ToolNames>,
    audit: Option<Durability>,
    access_log: Option<bool>,
    log_format: Option<LogFormat>,
    rate_limit: Option<RateLimitTable>,
    issuer: Option<IssuerTable>,
}

/// `rate_limit`
#[derive(Clone, Debug, Deserialize)]
struct RateLimitTable {
    per_second: Option<u32>,
    burst: Option<u32>,
}

/// `[issuer]`
#[derive(Clone, Debug, Deserialize)]
struct IssuerTable {
    issuer: Option<String>,
    audience: Option<String>,
    jwks_file: Option<String>,
    algorithms: Option<Vec<String>>,
    #[serde(default)]
    auto_register: bool,
    #[serde(default)]
    claims: ClaimsTable,
}

/// `[issuer.claims]`
#[derive(Clone, Debug, Default, Deserialize)]
struct ClaimsTable {
    tenant: Option<String>,
    subject: Option<String>,
    kind: Option<String>,
    scopes: Option<String>,
}

/// The settings that every command shares.
#[derive(Clone, Debug)]
pub struct Config {
    /// The folder of the database and the keys.
    pub data_dir: PathBuf,
    /// The URL of PostgreSQL, if it is used.
    pub database_url: Option<String>,
    /// The tenant's name.
    pub tenant: String,
    /// The project folder, if one was named.
    pub project: Option<PathBuf>,
    /// The settings file that was read.
    pub settings_file: Option<PathBuf>,
    file: SettingsFile,
}

/// The settings of `quad serve`.
#[derive(Clone, Debug)]
pub struct ServeConfig {
    /// `ADDRESS:PORT`.
    pub listen: String,
    /// Whether requests without a token are those of the local agent.
    pub no_auth: bool,
    /// Further host names of this server.
    pub allowed_hosts: Vec<String>,
    /// The address that clients outside use.
    pub public_url: Option<String>,
    /// Whether all tools are listed.
    pub all_tools: bool,
    /// The form of the published tool names.
    pub tool_names: quad_mcp::ToolNames,
    /// Whether every request is logged.
    pub access_log: bool,
    /// How many requests a tenant may send.
    pub rate_limit: RateSetting,
    /// An identity provider whose tokens are accepted.
    pub issuer: Option<IssuerConfig>,
}

/// The configured rate of a tenant's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateSetting {
    /// Not configured: a limit applies only if the server listens beyond loopback.
    Default,
    /// No limit.
    Unlimited,
    /// This limit.
    Limited(RateLimit),
}

impl Config {
    /// Reads the settings file and merges the settings that all commands share.
    pub fn load(common: &Common) -> Result<Config> {
        check_variables(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()))?;
        let settings_file = find_file(common.config.as_deref());
        let file = settings_file.as_deref().map(read_file).transpose()?.unwrap_or_default();
        let data_dir = match common.data_dir.clone().or_else(|| file.data_dir.clone()) {
            Some(folder) => folder,
            None => xdg_dir("XDG_DATA_HOME", ".local/share")?.join("quad"),
        };
        let project = common.project.clone().or_else(|| file.project.clone());
        if let Some(project) = &project
            && !project.is_dir()
        {
            return Err(Error::bad_input(format!("{} is not a folder", project.display()))
                .hint("Name the folder of a content project with --project"));
        }
        let tenant = common.tenant.clone().or_else(|| file.tenant.clone());
        Ok(Config {
            data_dir,
            database_url: common.database_url.clone().or_else(|| file.database_url.clone()),
            tenant: tenant.unwrap_or_else(|| quad_store::tenant::LOCAL.to_owned()),
            project,
            settings_file,
            file,
        })
    }

    /// Where the database is.
    pub fn location(&self) -> Location {
        match &self.database_url {
            Some(url) => Location::Postgres(url.clone()),
            None => Location::Sqlite(self.data_dir.join("quad.db")),
        }
    }

    /// Merges the settings of `quad serve`.
    pub fn serve(&self, flags: &Serve) -> Result<ServeConfig> {
        let file = &self.file;
        let listen = flags.listen.clone().or_else(|| file.listen.clone());
        Ok(ServeConfig {
            listen: listen.unwrap_or_else(|| DEFAULT_LISTEN.to_owned()),
            no_auth: flags.no_auth.or(file.no_auth).unwrap_or(false),
            allowed_hosts: flags
                .allowed_hosts
                .clone()
                .or_else(|| file.allowed_hosts.clone())
                .unwrap_or_default(),
            public_url: flags.public_url.clone().or_else(|| file.public_url.clone()),
            all_tools: self.all_tools(flags.tools),
            tool_names: self.tool_names(flags.tool_names),
            access_log: flags.access_log.or(file.access_log).unwrap_or(false),
            rate_limit: rate_limit(file.rate_limit.as_ref())?,
            issuer: file.issuer.as_ref().map(issuer).transpose()?,
        })
    }

    /// When the audit event of a read is written.
    pub fn audit_mode(&self, flag: Option<Durability>) -> AuditMode {
        match flag.or(self.file.audit) {
            None | Some(Durability::Durable) => AuditMode::Durable,
            Some(Durability::Async) => AuditMode::Async,
        }
    }

    /// The form of the published tool names.
    pub fn tool_names(&self, flag: Option<ToolNames>) -> quad_mcp::ToolNames {
        match flag.or(self.file.tool_names) {
            None | Some(ToolNames::Portable) => quad_mcp::ToolNames::Portable,
            Some(ToolNames::Original) => quad_mcp::ToolNames::Original,
        }
    }

    /// The form of log lines.
    pub fn log_format(&self, flag: Option<LogFormat>) -> LogFormat {
        flag.or(self.file.log_format).unwrap_or_default()
    }

    /// Whether all tools are listed.
    pub fn all_tools(&self, flag: Option<Tools>) -> bool {
        flag.or(self.file.tools) == Some(Tools::All)
    }
}

fn rate_limit(table: Option<&RateLimitTable>) -> Result<RateSetting> {
    let Some(table) = table else { return Ok(RateSetting::Default) };
    let per_second = table.per_second.ok_or_else(|| missing("rate_limit.per_second"))?;
    if per_second == 0 {
        return Ok(RateSetting::Unlimited);
    }
    // The requests of two seconds, as in the default.
    let burst = table.burst.unwrap_or(per_second.saturating_mul(2)).max(1);
    Ok(RateSetting::Limited(RateLimit { per_second, burst }))
}

fn issuer(table: &IssuerTable) -> Result<IssuerConfig> {
    let required = |value: &Option<String>, key: &str| {
        value.clone().filter(|text| !text.is_empty()).ok_or_else(|| missing(key))
    };
    let defaults = ClaimNames::default();
    let claims = table.claims.clone();
    Ok(IssuerConfig {
        issuer: required(&table.issuer, "issuer.issuer")?,
        audience: required(&table.audience, "issuer.audience")?,
        jwks_file: required(&table.jwks_file, "issuer.jwks_file")?.into(),
        algorithms: table.algorithms.as_deref().map_or(Ok(Algorithm::ALL.to_vec()), algorithms)?,
        claims: ClaimNames {
            tenant: claims.tenant.unwrap_or(defaults.tenant),
            subject: claims.subject.unwrap_or(defaults.subject),
            kind: claims.kind.unwrap_or(defaults.kind),
            scopes: claims.scopes.unwrap_or(defaults.scopes),
        },
        auto_register: table.auto_register,
    })
}

fn algorithms(names: &[String]) -> Result<Vec<Algorithm>> {
    let algorithms: Option<Vec<Algorithm>> = names.iter().map(|name| Algorithm::parse(name)).collect();
    algorithms.filter(|algorithms| !algorithms.is_empty()).ok_or_else(|| {
        invalid("issuer.algorithms must be a list of \"RS256\", \"ES256\" and \"EdDSA\"".to_owned())
    })
}

fn missing(key: &str) -> Error {
    invalid(format!("{key} is missing in quad.toml"))
}

fn invalid(message: String) -> Error {
    Error::new(Kind::BadInput, "CONFIG_INVALID", message)
        .hint(format!("See {DOCS_PAGE} for a complete example"))
}

/// Refuses a misspelt variable. A variable that resembles none of ours belongs to another program.
fn check_variables(names: impl Iterator<Item = String>) -> Result<()> {
    for name in names.filter(|name| name.starts_with("QUAD_") && !name.starts_with("QUAD_TEST_")) {
        if VARIABLES.contains(&name.as_str()) {
            continue;
        }
        if let Some(near) = closest(&name, VARIABLES.iter().copied()) {
            return Err(Error::bad_input(format!("{name} is not a setting"))
                .hint(format!("Use {near}, the nearest setting")));
        }
    }
    Ok(())
}

/// The named settings file, or the first that exists of those in the working directory and the configuration home.
fn find_file(named: Option<&Path>) -> Option<PathBuf> {
    if let Some(file) = named {
        return Some(file.to_owned());
    }
    let local_path = PathBuf::from("quad.toml");
    let user_path = xdg_dir("XDG_CONFIG_HOME", ".config").map(|folder| folder.join("quad").join("quad.toml"));
    [Some(local_path), user_path.ok()].into_iter().flatten().find(|file| file.is_file())
}

fn read_file(file: &Path) -> Result<SettingsFile> {
    let source = input_file::text(input_file::read(file, SETTINGS_BYTES_MAX)?, file.display())?;
    parse(&source).map_err(|error| {
        let hint = error.hint_text().map(str::to_owned);
        let located =
            Error::new(error.kind(), "CONFIG_INVALID", format!("{}: {}", file.display(), error.message()));
        match hint {
            Some(hint) => located.hint(hint),
            None => located,
        }
    })
}

fn parse(source: &str) -> Result<SettingsFile> {
    let parse_error = |error: toml::de::Error| {
        let start = error.span().map_or(0, |span| span.start);
        let line = source.bytes().take(start).filter(|byte| *byte == b'\n').count() + 1;
        invalid(format!("line {line}: {}", error.message()))
    };
    let deserializer = toml::Deserializer::parse(source).map_err(parse_error)?;
    let mut unknown_key = None;
    let file = serde_ignored::deserialize(deserializer, |path| {
        unknown_key.get_or_insert_with(|| key_of(&path));
    });
    let file = file.map_err(parse_error)?;
    unknown_key.map_or(Ok(file), |key| Err(unknown_key_error(&key)))
}

/// The dotted name of a key. The layers that serde puts between, such as `Option`, have no name.
fn key_of(path: &serde_ignored::Path<'_>) -> String {
    use serde_ignored::Path;
    match path {
        Path::Root => String::new(),
        Path::Map { parent, key } => match key_of(parent) {
            table if table.is_empty() => key.clone(),
            table => format!("{table}.{key}"),
        },
        Path::Seq { parent, .. }
        | Path::Some { parent }
        | Path::NewtypeStruct { parent }
        | Path::NewtypeVariant { parent } => key_of(parent),
    }
}

fn unknown_key_error(key: &str) -> Error {
    let (table, name) = key.rsplit_once('.').unwrap_or(("", key));
    let name_in_table = |key: &&'static str| {
        let (key_table, key_name) = key.rsplit_once('.').unwrap_or(("", *key));
        (key_table == table).then_some(key_name)
    };
    let names: Vec<&str> = KEYS.iter().filter_map(name_in_table).collect();
    let hint = match closest(name, names.iter().copied()) {
        Some(near) => format!("Use {near}, the nearest setting"),
        None => format!("Use one of {}; {DOCS_PAGE} describes them", names.join(", ")),
    };
    let of_table = if table.is_empty() { String::new() } else { format!(" of {table}") };
    Error::new(Kind::BadInput, "CONFIG_INVALID", format!("{name} is not a setting{of_table}")).hint(hint)
}

fn xdg_dir(variable: &str, under_home: &str) -> Result<PathBuf> {
    let env_path = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = env_path(variable).filter(|folder| folder.is_absolute()) {
        return Ok(folder);
    }
    env_path("HOME").map(|home| home.join(under_home)).ok_or_else(|| {
        Error::bad_input("HOME is not set, so there is no default data folder")
            .hint("Name a folder with --data-dir")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_key_suggests_the_nearest() {
        let error = parse("datadir = \"x\"").unwrap_err();
        assert_eq!(error.message(), "datadir is not a setting");
        assert_eq!(error.hint_text(), Some("Use data_dir, the nearest setting"));
        assert!(parse("frobnicate = 1").unwrap_err().hint_text().unwrap().starts_with("Use one of"));
        assert!(parse("data_dir = ").unwrap_err().message().contains("line 1"));
    }

    #[test]
    fn misspelt_variable_is_rejected_and_unrelated_is_ignored() {
        let check = |name: &str| check_variables([name.to_owned()].into_iter());
        assert_eq!(
            check("QUAD_DATADIR").unwrap_err().hint_text(),
            Some("Use QUAD_DATA_DIR, the nearest setting")
        );
        assert!(check("QUAD_DATA_DIR").is_ok());
        assert!(check("QUAD_SOMETHING_ELSE_ENTIRELY").is_ok());
        assert!(check("QUAD_TEST_POSTGRES_URL").is_ok());
    }

    #[test]
    fn every_key_is_a_field() {
        for key in KEYS {
            // Each is of another type; an unknown key would be reported as such whatever its value is.
            for value in ["\"x\"", "1", "true", "[\"x\"]", "{}"] {
                if let Err(error) = parse(&format!("{key} = {value}")) {
                    assert!(!error.message().contains("is not a setting"), "{}", error.message());
                }
            }
        }
    }

    #[test]
    fn wrong_type_error_names_line_and_expected_type() {
        let error = parse("tenant = \"x\"\nlisten = 4704").unwrap_err();
        assert!(error.message().starts_with("line 2: ") && error.message().contains("string"), "{error}");
        assert!(parse("allowed_hosts = [1]").is_err());
        assert!(parse("tool_names = \"dotted\"").unwrap_err().message().contains("`portable` or `original`"));
        let error = parse("tools = \"al\"").unwrap_err();
        assert!(error.message().contains("`core` or `all`"), "{error}");
        assert!(error.hint_text().unwrap().contains(DOCS_PAGE));
    }

    #[test]
    fn unknown_key_of_table_names_the_table() {
        let error = parse("[issuer.claims]\nsubjct = \"x\"").unwrap_err();
        assert_eq!(error.message(), "subjct is not a setting of issuer.claims");
        assert_eq!(error.hint_text(), Some("Use subject, the nearest setting"));
    }

    #[test]
    fn rate_limit_is_default_unlimited_or_configured() {
        let rate = |source: &str| rate_limit(parse(source)?.rate_limit.as_ref());
        assert_eq!(rate("").unwrap(), RateSetting::Default);
        assert_eq!(rate("rate_limit = { per_second = 0 }").unwrap(), RateSetting::Unlimited);
        let limited = |per_second, burst| RateSetting::Limited(RateLimit { per_second, burst });
        assert_eq!(rate("rate_limit = { per_second = 10, burst = 5 }").unwrap(), limited(10, 5));
        assert_eq!(rate("rate_limit = { per_second = 10 }").unwrap(), limited(10, 20));
        for wrong in [
            "rate_limit = 10",
            "rate_limit = { burst = 1 }",
            "rate_limit = { per_second = -1 }",
            "rate_limit = { per_second = \"10\" }",
            "rate_limit = { per_second = 1, brust = 1 }",
        ] {
            assert_eq!(rate(wrong).unwrap_err().code(), "CONFIG_INVALID", "{wrong}");
        }
    }

    #[test]
    fn issuer_requires_issuer_audience_and_jwks_file() {
        let read = |source: &str| parse(source)?.issuer.as_ref().map(issuer).transpose();
        assert!(read("").unwrap().is_none());
        let minimal = "[issuer]\nissuer = \"https://a\"\naudience = \"b\"\njwks_file = \"c.json\"\n";
        let config = read(minimal).unwrap().unwrap();
        assert_eq!((config.claims, config.auto_register), (ClaimNames::default(), false));
        assert_eq!(config.algorithms, Algorithm::ALL);
        let extended = format!(
            "{minimal}algorithms = [\"RS256\"]\nauto_register = true\nclaims = {{ subject = \"azp\" }}"
        );
        let config = read(&extended).unwrap().unwrap();
        assert_eq!((config.algorithms, config.auto_register), (vec![Algorithm::Rs256], true));
        assert_eq!((config.claims.subject.as_str(), config.claims.tenant.as_str()), ("azp", "tenant_id"));
        for line in ["issuer = ", "audience = ", "jwks_file = "] {
            let without: String =
                minimal.lines().filter(|row| !row.starts_with(line)).map(|row| format!("{row}\n")).collect();
            assert!(read(&without).unwrap_err().message().contains("is missing"), "{line}");
        }
        for wrong in [
            "algorithms = [\"HS256\"]",
            "algorithms = [\"none\"]",
            "algorithms = []",
            "jwks = \"x\"",
            "claims = { sub = \"x\" }",
        ] {
            assert_eq!(read(&format!("{minimal}{wrong}")).unwrap_err().code(), "CONFIG_INVALID", "{wrong}");
        }
    }
}
