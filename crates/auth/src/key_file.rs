//! The file with the signing keys, used with SQLite: one key per line.
//!
//! A line is `SEED CREATED RETIRED`: the seed in base64url, then two times in milliseconds; `-` if the key is not
//! retired. A line with only a seed is the first version of the format, which held one key.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use quad_core::{Result, Timestamp};

use crate::key::Seed;
use crate::{limits, secret_file};

/// A line of the file.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyFileEntry {
    /// The secret seed.
    pub seed: Seed,
    /// When the key was created.
    pub created_at: Timestamp,
    /// When the key was retired.
    pub retired_at: Option<Timestamp>,
}

/// Reads the file, which must exist.
pub fn read_existing(path: &Path) -> Result<Vec<KeyFileEntry>> {
    read(path)?.ok_or_else(|| secret_file::file_missing(path))
}

/// Creates the file with this key, unless it exists, and reads it: another process may have created it first.
pub fn create(path: &Path, seed: &Seed, created_at: Timestamp) -> Result<Vec<KeyFileEntry>> {
    let first = KeyFileEntry { seed: *seed, created_at, retired_at: None };
    secret_file::create_text(path, &to_text(&[first]))?;
    read_existing(path)
}

/// Reads the file; `None` if it does not exist.
pub fn read(path: &Path) -> Result<Option<Vec<KeyFileEntry>>> {
    let Some(text) = secret_file::read_text(path, limits::KEY_FILE_BYTES_MAX)? else { return Ok(None) };
    let entries: Option<Vec<KeyFileEntry>> = text.lines().map(parse_line).collect();
    match entries.filter(|entries| !entries.is_empty()) {
        Some(entries) => Ok(Some(entries)),
        None => Err(secret_file::file_damaged(path)),
    }
}

/// Replaces the contents of the file with these keys.
pub fn replace(path: &Path, entries: &[KeyFileEntry]) -> Result<()> {
    secret_file::replace_text(path, &to_text(entries))
}

fn parse_line(line: &str) -> Option<KeyFileEntry> {
    let mut fields = line.split_whitespace();
    let seed = BASE64.decode(fields.next()?).ok()?.try_into().ok()?;
    let times = (fields.next(), fields.next(), fields.next());
    let (created_at, retired_at) = match times {
        (None, None, None) => (0, None),
        (Some(created), Some("-"), None) => (created.parse().ok()?, None),
        (Some(created), Some(retired), None) => (created.parse().ok()?, Some(retired.parse().ok()?)),
        _ => return None,
    };
    Some(KeyFileEntry { seed, created_at: Timestamp(created_at), retired_at: retired_at.map(Timestamp) })
}

fn to_text(entries: &[KeyFileEntry]) -> String {
    let line = |entry: &KeyFileEntry| {
        let retired = entry.retired_at.map_or_else(|| "-".to_owned(), |at| at.0.to_string());
        format!("{} {} {retired}\n", BASE64.encode(entry.seed), entry.created_at.0)
    };
    entries.iter().map(line).collect()
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn write_private(path: &Path, text: &str) {
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }

    #[test]
    fn reads_several_keys_and_the_old_single_key_format() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("signing.key");
        write_private(&path, &format!("{}\n", BASE64.encode([7; 32])));
        let old = KeyFileEntry { seed: [7; 32], created_at: Timestamp(0), retired_at: None };
        assert!(read_existing(&path).unwrap() == [old.clone()]);
        let retired = KeyFileEntry { retired_at: Some(Timestamp(9)), ..old };
        let fresh = KeyFileEntry { seed: [8; 32], created_at: Timestamp(9), retired_at: None };
        replace(&path, &[fresh.clone(), retired.clone()]).unwrap();
        assert!(read_existing(&path).unwrap() == [fresh, retired]);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a temporary file was left behind");
    }

    #[test]
    fn damaged_line_is_rejected_and_file_left_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("signing.key");
        let seed = BASE64.encode([7; 32]);
        for damaged in [
            "".to_owned(),
            "nonsense".to_owned(),
            format!("{seed} 1\n"),
            format!("{seed} x -\n"),
            format!("{seed} 1 - more\n"),
            format!("{seed} 1 -\n{}", &seed[1..]),
        ] {
            write_private(&path, &damaged);
            let created = create(&path, &[9; 32], Timestamp(1));
            assert_eq!(created.err().unwrap().code(), "KEY_DAMAGED", "{damaged:?}");
            assert_eq!(fs::read_to_string(&path).unwrap(), damaged);
        }
    }
}
