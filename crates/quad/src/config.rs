//! Settings: flags, then `QUAD_*` variables, then `quad.toml`, then defaults.
//!
//! Flags and variables are merged by the command line itself; this file adds the other two. An unknown key is an error
//! that names the nearest valid one: a setting that silently does nothing is the worst kind of typing mistake.

use std::path::{Path, PathBuf};

use quad_auth::{Algorithm, ClaimNames, IssuerConfig, RateLimit};
use quad_core::{Error, Kind, Result, closest};
use quad_store::{AuditMode, Location};

use crate::cli::{Common, Durability, Serve, Tools};

/// Where the server listens unless told otherwise.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:4704";

/// The keys of `quad.toml`.
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
    "audit",
    "rate_limit",
    "issuer",
];

/// The keys of `rate_limit`.
const RATE_KEYS: &[&str] = &["per_second", "burst"];

/// The keys of `[issuer]`.
const ISSUER_KEYS: &[&str] = &["issuer", "audience", "jwks_file", "algorithms", "auto_register", "claims"];

/// The keys of `[issuer.claims]`.
const CLAIM_KEYS: &[&str] = &["tenant", "subject", "kind", "scopes"];

/// The variables that mean something to us.
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
    "QUAD_AUDIT",
    "QUAD_KEY",
    "QUAD_LOG",
];

/// The settings that every command shares.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the database and the keys are.
    pub data_dir: PathBuf,
    /// PostgreSQL, if it is used.
    pub database_url: Option<String>,
    /// The tenant's name.
    pub tenant: String,
    /// The project folder, if one was named.
    pub project: Option<PathBuf>,
    file: toml::Table,
}

/// The settings of `quad serve`.
#[derive(Clone, Debug)]
pub struct ServeConfig {
    /// `ADDRESS:PORT`.
    pub listen: String,
    /// Whether everyone on this machine is the local agent.
    pub no_auth: bool,
    /// Further host names.
    pub allowed_hosts: Vec<String>,
    /// How the outside reaches us.
    pub public_url: Option<String>,
    /// Whether all tools are listed.
    pub all_tools: bool,
    /// How many requests a tenant may send.
    pub rate_limit: RateSetting,
    /// Who else makes tokens.
    pub issuer: Option<IssuerConfig>,
}

/// What is said about the rate of a tenant's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateSetting {
    /// Nothing: a limit where others than this machine's owner reach the server.
    Default,
    /// As many as they like.
    Unlimited,
    /// So many.
    Limited(RateLimit),
}

impl Config {
    /// Settles the common settings.
    pub fn load(common: &Common) -> Result<Config> {
        check_variables(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()))?;
        let file = read_file(common.config.as_deref())?;
        let data_dir = match common.data_dir.clone().or(string_value(&file, "data_dir")?.map(PathBuf::from)) {
            Some(folder) => folder,
            None => xdg_dir("XDG_DATA_HOME", ".local/share")?.join("quad"),
        };
        let project = common.project.clone().or(string_value(&file, "project")?.map(PathBuf::from));
        if let Some(project) = &project
            && !project.is_dir()
        {
            return Err(Error::bad_input(format!("{} is not a folder", project.display()))
                .hint("--project names the folder of a content project"));
        }
        Ok(Config {
            data_dir,
            database_url: common.database_url.clone().or(string_value(&file, "database_url")?),
            tenant: match common.tenant.clone() {
                Some(tenant) => tenant,
                None => {
                    string_value(&file, "tenant")?.unwrap_or_else(|| quad_store::tenant::LOCAL.to_owned())
                }
            },
            project,
            file,
        })
    }

    /// Where the data is.
    pub fn location(&self) -> Location {
        match &self.database_url {
            Some(url) => Location::Postgres(url.clone()),
            None => Location::Sqlite(self.data_dir.join("quad.db")),
        }
    }

    /// Settles the settings of `quad serve`.
    pub fn serve(&self, flags: &Serve) -> Result<ServeConfig> {
        Ok(ServeConfig {
            listen: match &flags.listen {
                Some(listen) => listen.clone(),
                None => string_value(&self.file, "listen")?.unwrap_or_else(|| DEFAULT_LISTEN.to_owned()),
            },
            no_auth: match flags.no_auth {
                Some(no_auth) => no_auth,
                None => match self.file.get("no_auth") {
                    None => false,
                    Some(toml::Value::Boolean(no_auth)) => *no_auth,
                    Some(_) => return Err(wrong_type("no_auth", "true or false")),
                },
            },
            allowed_hosts: match &flags.allowed_hosts {
                Some(hosts) => hosts.clone(),
                None => string_list(&self.file, "allowed_hosts")?,
            },
            public_url: match &flags.public_url {
                Some(url) => Some(url.clone()),
                None => string_value(&self.file, "public_url")?,
            },
            all_tools: self.all_tools(flags.tools)?,
            rate_limit: rate_limit(&self.file)?,
            issuer: issuer(&self.file)?,
        })
    }

    /// When the audit events of reads are safe.
    pub fn audit_mode(&self, flag: Option<Durability>) -> Result<AuditMode> {
        match flag {
            Some(Durability::Durable) => Ok(AuditMode::Durable),
            Some(Durability::Async) => Ok(AuditMode::Async),
            None => match string_value(&self.file, "audit")? {
                None => Ok(AuditMode::default()),
                Some(mode) => {
                    AuditMode::parse(&mode).ok_or_else(|| wrong_type("audit", "\"durable\" or \"async\""))
                }
            },
        }
    }

    /// Whether all tools are listed.
    pub fn all_tools(&self, flag: Option<Tools>) -> Result<bool> {
        if let Some(tools) = flag {
            return Ok(tools == Tools::All);
        }
        match string_value(&self.file, "tools")?.as_deref() {
            None | Some("core") => Ok(false),
            Some("all") => Ok(true),
            Some(_) => Err(wrong_type("tools", "\"core\" or \"all\"")),
        }
    }
}

fn rate_limit(file: &toml::Table) -> Result<RateSetting> {
    let Some(table) = table(file, "rate_limit", RATE_KEYS)? else { return Ok(RateSetting::Default) };
    let number = |key: &str| match table.get(key) {
        None => Ok(None),
        Some(toml::Value::Integer(number)) => u32::try_from(*number)
            .map(Some)
            .map_err(|_| wrong_type(&format!("rate_limit.{key}"), "a number from 0 on")),
        Some(_) => Err(wrong_type(&format!("rate_limit.{key}"), "a number from 0 on")),
    };
    let per_second = number("per_second")?.ok_or_else(|| missing("rate_limit.per_second"))?;
    if per_second == 0 {
        return Ok(RateSetting::Unlimited);
    }
    // Two seconds' worth, as in the default.
    let burst = number("burst")?.unwrap_or(per_second.saturating_mul(2)).max(1);
    Ok(RateSetting::Limited(RateLimit { per_second, burst }))
}

fn issuer(file: &toml::Table) -> Result<Option<IssuerConfig>> {
    let Some(table) = table(file, "issuer", ISSUER_KEYS)? else { return Ok(None) };
    let required_text = |key: &str| {
        let name = format!("issuer.{key}");
        string_value_named(table, key, &name)?.filter(|text| !text.is_empty()).ok_or_else(|| missing(&name))
    };
    let algorithms = match table.get("algorithms") {
        None => Algorithm::ALL.to_vec(),
        Some(_) => {
            let names = string_list(table, "algorithms")?;
            let algorithms: Option<Vec<Algorithm>> =
                names.iter().map(|text| Algorithm::parse(text)).collect();
            algorithms.filter(|known| !known.is_empty()).ok_or_else(|| {
                wrong_type("issuer.algorithms", "a list of \"RS256\", \"ES256\" and \"EdDSA\"")
            })?
        }
    };
    let mut claims = ClaimNames::default();
    if let Some(names) = self::table(table, "claims", CLAIM_KEYS)? {
        for (key, name) in [
            ("tenant", &mut claims.tenant),
            ("subject", &mut claims.subject),
            ("kind", &mut claims.kind),
            ("scopes", &mut claims.scopes),
        ] {
            if let Some(claim) = string_value_named(names, key, &format!("issuer.claims.{key}"))? {
                *name = claim;
            }
        }
    }
    Ok(Some(IssuerConfig {
        issuer: required_text("issuer")?,
        audience: required_text("audience")?,
        jwks_file: required_text("jwks_file")?.into(),
        algorithms,
        claims,
        auto_register: match table.get("auto_register") {
            None => false,
            Some(toml::Value::Boolean(auto_register)) => *auto_register,
            Some(_) => return Err(wrong_type("issuer.auto_register", "true or false")),
        },
    }))
}

/// A table in the file, with these keys and no others.
fn table<'f>(file: &'f toml::Table, key: &str, keys: &[&str]) -> Result<Option<&'f toml::Table>> {
    match file.get(key) {
        None => Ok(None),
        Some(toml::Value::Table(table)) => {
            check_keys(table, key, keys)?;
            Ok(Some(table))
        }
        Some(_) => Err(wrong_type(key, "a table")),
    }
}

fn missing(key: &str) -> Error {
    Error::new(Kind::BadInput, "CONFIG_INVALID", format!("{key} is missing in quad.toml"))
        .hint("docs/configuration.md shows a complete example")
}

/// A misspelt variable is as silent as a misspelt key. One that resembles none of ours belongs to somebody else.
fn check_variables(names: impl Iterator<Item = String>) -> Result<()> {
    for name in names.filter(|name| name.starts_with("QUAD_") && !name.starts_with("QUAD_TEST_")) {
        if VARIABLES.contains(&name.as_str()) {
            continue;
        }
        if let Some(near) = closest(&name, VARIABLES.iter().copied()) {
            return Err(
                Error::bad_input(format!("{name} is not a setting")).hint(format!("The nearest is {near}"))
            );
        }
    }
    Ok(())
}

fn read_file(path: Option<&Path>) -> Result<toml::Table> {
    let file = match path {
        Some(file) => file.to_owned(),
        None => {
            let local_path = PathBuf::from("quad.toml");
            let user_path =
                xdg_dir("XDG_CONFIG_HOME", ".config").map(|folder| folder.join("quad").join("quad.toml"));
            match [Some(local_path), user_path.ok()].into_iter().flatten().find(|file| file.is_file()) {
                Some(file) => file,
                None => return Ok(toml::Table::new()),
            }
        }
    };
    let source = std::fs::read_to_string(&file)
        .map_err(|error| Error::bad_input(format!("{} cannot be read: {error}", file.display())))?;
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

fn parse(source: &str) -> Result<toml::Table> {
    let table: toml::Table =
        source.parse().map_err(|error: toml::de::Error| Error::bad_input(error.to_string()))?;
    check_keys(&table, "", KEYS)?;
    Ok(table)
}

/// Refuses a key that is not one of these. `within` names the table, if it is not the whole file.
fn check_keys(table: &toml::Table, section: &str, keys: &[&str]) -> Result<()> {
    let Some(key) = table.keys().find(|key| !keys.contains(&key.as_str())) else { return Ok(()) };
    let hint = match closest(key, keys.iter().copied()) {
        Some(near) => format!("The nearest is {near}"),
        None => format!("The keys are {}", keys.join(", ")),
    };
    let section_suffix = if section.is_empty() { String::new() } else { format!(" of {section}") };
    Err(Error::new(Kind::BadInput, "CONFIG_INVALID", format!("{key} is not a setting{section_suffix}"))
        .hint(hint))
}

fn string_value(table: &toml::Table, key: &str) -> Result<Option<String>> {
    string_value_named(table, key, key)
}

/// A text under a key that complaints call by its full name.
fn string_value_named(table: &toml::Table, key: &str, name: &str) -> Result<Option<String>> {
    match table.get(key) {
        None => Ok(None),
        Some(toml::Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(wrong_type(name, "text in quotes")),
    }
}

fn string_list(table: &toml::Table, key: &str) -> Result<Vec<String>> {
    let Some(value) = table.get(key) else { return Ok(Vec::new()) };
    value
        .as_array()
        .and_then(|items| {
            items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        })
        .ok_or_else(|| wrong_type(key, "a list of texts"))
}

fn wrong_type(key: &str, expected: &str) -> Error {
    Error::new(Kind::BadInput, "CONFIG_INVALID", format!("{key} in quad.toml must be {expected}"))
}

fn xdg_dir(variable: &str, under_home: &str) -> Result<PathBuf> {
    let env_path = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = env_path(variable).filter(|folder| folder.is_absolute()) {
        return Ok(folder);
    }
    env_path("HOME").map(|home| home.join(under_home)).ok_or_else(|| {
        Error::bad_input("There is no home folder to keep the data in").hint("Name one with --data-dir")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_key_suggests_the_nearest() {
        let error = parse("datadir = \"x\"").unwrap_err();
        assert_eq!(error.message(), "datadir is not a setting");
        assert_eq!(error.hint_text(), Some("The nearest is data_dir"));
        assert!(parse("frobnicate = 1").unwrap_err().hint_text().unwrap().starts_with("The keys are"));
        assert!(parse("data_dir = ").unwrap_err().message().contains("line 1"));
    }

    #[test]
    fn misspelt_variable_is_rejected_and_unrelated_is_ignored() {
        let check = |name: &str| check_variables([name.to_owned()].into_iter());
        assert_eq!(check("QUAD_DATADIR").unwrap_err().hint_text(), Some("The nearest is QUAD_DATA_DIR"));
        assert!(check("QUAD_DATA_DIR").is_ok());
        assert!(check("QUAD_SOMETHING_ELSE_ENTIRELY").is_ok());
        assert!(check("QUAD_TEST_POSTGRES_URL").is_ok());
    }

    #[test]
    fn wrong_type_error_names_expected_type() {
        let table = parse("listen = 4704\nallowed_hosts = [1]").unwrap();
        assert!(string_value(&table, "listen").unwrap_err().message().contains("text in quotes"));
        assert!(string_list(&table, "allowed_hosts").is_err());
    }

    #[test]
    fn rate_limit_is_default_unlimited_or_configured() {
        let rate = |source: &str| rate_limit(&parse(source).unwrap());
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
        let read = |source: &str| issuer(&parse(source).unwrap());
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
