//! What a backup holds beside the database: who made it, the encrypted secrets, the settings.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;

use quad_audit::{CheckpointFile, Origin, TrustedCheckpoints, export};
use quad_auth::{KeyStorage, passphrase_encryption};
use quad_core::{Error, Kind, Result, Timestamp};
use quad_store::DatabaseCopy;
use quad_store::backup::BackupItem;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::output;

/// The variable that can hold the passphrase.
const PASSPHRASE_VARIABLE: &str = "QUAD_BACKUP_PASSPHRASE";

/// The items of a backup.
const MANIFEST: &str = "backup.json";
const SECRETS: &str = "secrets.json";
pub const SETTINGS: &str = "quad.toml";

/// The version of the items.
const FORMAT: u32 = 1;

/// Maximum bytes of a passphrase file, a secret or the settings: each is some lines.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Who made a backup, and when.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Manifest {
    /// The version of the items.
    pub format: u32,
    /// The version of the program.
    pub version: String,
    /// When the copy was made.
    pub created_at: String,
}

/// The contents of secret files, by their names in the data folder.
pub type Secrets = BTreeMap<String, String>;

/// What a backup holds beside the database.
#[derive(Debug, Default)]
pub struct Contents {
    /// None in a plain copy of a database.
    pub manifest: Option<Manifest>,
    /// The encrypted [`Secrets`].
    pub encrypted_secrets: Option<String>,
    /// The settings file.
    pub settings: Option<String>,
}

/// What a verification has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// The audit chains.
    pub chains: usize,
    /// Their events.
    pub events: u64,
}

impl Contents {
    /// The contents of a backup that is made now.
    pub fn collect(config: &Config, passphrase: Option<&str>) -> Result<Contents> {
        let manifest = Manifest {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            created_at: Timestamp::now().to_string(),
        };
        let encrypted_secrets = match passphrase {
            Some(passphrase) => {
                let secrets = read_secrets(&config.data_dir)?;
                let text = serde_json::to_string(&secrets).map_err(Error::internal)?;
                let encrypted = passphrase_encryption::encrypt(passphrase, &text)?;
                if passphrase_encryption::decrypt(passphrase, &encrypted)? != text {
                    return Err(Error::internal("the encrypted secrets cannot be decrypted"));
                }
                Some(encrypted)
            }
            None => None,
        };
        let settings = config.settings_file.as_deref().map(read_text).transpose()?;
        Ok(Contents { manifest: Some(manifest), encrypted_secrets, settings })
    }

    /// The contents as items.
    pub fn to_items(&self) -> Result<Vec<BackupItem>> {
        let manifest =
            self.manifest.as_ref().map(serde_json::to_string).transpose().map_err(Error::internal)?;
        let items = [(MANIFEST, &manifest), (SECRETS, &self.encrypted_secrets), (SETTINGS, &self.settings)];
        let item = |(name, text): (&str, &Option<String>)| Some(BackupItem::new(name, text.clone()?));
        Ok(items.into_iter().filter_map(item).collect())
    }

    /// The contents of a backup. A plain copy of a database has none.
    pub fn read(copy: &DatabaseCopy) -> Result<Contents> {
        let Some(items) = copy.items().map_err(|error| damaged().with_cause(error.cause_chain()))? else {
            return Ok(Contents::default());
        };
        let text = |name: &str| {
            let item = items.iter().find(|item| item.name == name);
            item.map(|item| String::from_utf8(item.content.clone()).map_err(|_| damaged())).transpose()
        };
        let manifest: Manifest =
            text(MANIFEST)?.and_then(|text| serde_json::from_str(&text).ok()).ok_or_else(damaged)?;
        if manifest.format > FORMAT {
            let message = format!("This backup was made by quad {}, which is newer", manifest.version);
            return Err(Error::new(Kind::BadInput, "BACKUP_NEWER", message).hint("Use that version of quad"));
        }
        Ok(Contents {
            manifest: Some(manifest),
            encrypted_secrets: text(SECRETS)?,
            settings: text(SETTINGS)?,
        })
    }

    /// The secret files; none if they were left out.
    pub fn secrets(&self, passphrase: &str) -> Result<Secrets> {
        let Some(encrypted) = &self.encrypted_secrets else { return Ok(Secrets::new()) };
        let text = passphrase_encryption::decrypt(passphrase, encrypted)?;
        let secrets: Secrets = serde_json::from_str(&text).map_err(|_| damaged())?;
        if secrets.keys().all(|name| is_secret_name(name)) { Ok(secrets) } else { Err(damaged()) }
    }
}

/// The passphrase of a file or of the environment.
pub fn passphrase(file: Option<&Path>, without_key: bool) -> Result<Option<String>> {
    if without_key {
        return Ok(None);
    }
    let text = match file {
        Some(file) => Some(read_text(file)?),
        None => std::env::var(PASSPHRASE_VARIABLE).ok(),
    };
    let first_line = text.and_then(|text| text.lines().next().map(str::to_owned));
    Ok(first_line.filter(|line| !line.is_empty()).or_else(|| file.map(|_| String::new())))
}

/// Checks every page of the copy, and the audit chains of all tenants. With `checkpoints` the chains must have every
/// checkpoint of that file.
pub async fn verify(copy: &DatabaseCopy, checkpoints: Option<&TrustedCheckpoints>) -> Result<Verified> {
    copy.check_integrity().await?;
    let mut verified = Verified::default();
    for tenant in copy.tenants().await? {
        let checkpoints = checkpoints.map(|checkpoints| checkpoints.only_of(&tenant));
        let report = export::verify_stored(copy, &tenant, checkpoints, |_, _| {}).await?;
        verified.chains += 1;
        verified.events += report.last_sequence + 1 - report.first_sequence;
    }
    Ok(verified)
}

/// The checkpoints in the data folder, if there are any.
pub fn own_checkpoints(file: &CheckpointFile, current_key: Vec<u8>) -> Result<Option<TrustedCheckpoints>> {
    let source = match File::open(file.path()) {
        Ok(source) => source,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(output::read_error(file.path().display(), &error)),
    };
    let trusted = TrustedCheckpoints::read(BufReader::new(source))?;
    Ok(Some(trusted.with_origin(Origin::DataFolder).with_key(current_key)))
}

/// The signing keys and the tokens of local clients.
fn read_secrets(data_dir: &Path) -> Result<Secrets> {
    let entries =
        std::fs::read_dir(data_dir).map_err(|error| output::read_error(data_dir.display(), &error))?;
    let mut secrets = Secrets::new();
    for entry in entries {
        let name = entry.map_err(Error::internal)?.file_name();
        if let Some(name) = name.to_str().filter(|name| is_secret_name(name)) {
            secrets.insert(name.to_owned(), read_text(&data_dir.join(name))?);
        }
    }
    if secrets.contains_key(KeyStorage::FILE_NAME) {
        return Ok(secrets);
    }
    Err(Error::internal("there is no signing key in the data folder"))
}

/// Whether a file of the data folder is one of the secrets of a backup.
fn is_secret_name(name: &str) -> bool {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte));
    is_plain && (name == KeyStorage::FILE_NAME || (name.ends_with(".token") && !name.starts_with('.')))
}

fn read_text(file: &Path) -> Result<String> {
    let mut text = String::new();
    File::open(file)
        .and_then(|source| source.take(FILE_BYTES_MAX).read_to_string(&mut text))
        .map_err(|error| output::read_error(file.display(), &error))?;
    Ok(text)
}

fn damaged() -> Error {
    Error::new(Kind::BadInput, "BACKUP_DAMAGED", "The items of this backup cannot be read")
        .hint("Use another backup")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_keys_and_tokens_are_secrets() {
        for name in ["signing.key", "local.token", "team-a.token"] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["quad.db", "../local.token", "a/b.token", ".token", "signing.key.new", "servers"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
