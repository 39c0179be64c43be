//! Secrets in files that only their owner can read.
//!
//! Several processes may start at the same time on one data directory, so a file must appear complete or not at all.
//! It is written under a temporary name and then *hard-linked* to its own. A link never overwrites: the second
//! process reads the file of the first. To replace a file, it is renamed instead. A secret of 32 bytes is one line of
//! base64url, so that a person can copy it.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use quad_core::{Error, Kind, Result, id};

use crate::key;

/// Reads the secret in the file. Creates the file if it does not exist.
pub fn read_or_create(path: &Path) -> Result<[u8; 32]> {
    match read(path)? {
        Some(secret) => Ok(secret),
        None => {
            create_text(path, &format!("{}\n", BASE64.encode(key::random_bytes::<32>()?)))?;
            read(path)?.ok_or_else(|| file_missing(path))
        }
    }
}

/// Reads the secret in the file; `None` if it does not exist.
pub fn read(path: &Path) -> Result<Option<[u8; 32]>> {
    // More bytes than a valid line has, so that a longer file is not accepted.
    let Some(line) = read_text(path, 64)? else { return Ok(None) };
    let secret = BASE64.decode(line.trim()).ok().and_then(|bytes| bytes.try_into().ok());
    secret.map(Some).ok_or_else(|| file_damaged(path))
}

/// The first `bytes_max` bytes of a file that only its owner can read; `None` if it does not exist.
pub fn read_text(path: &Path, bytes_max: u64) -> Result<Option<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(file_error(path, &error.to_string()).with_cause(error)),
    };
    check_private_mode(path, &file)?;
    let mut text = String::new();
    file.take(bytes_max).read_to_string(&mut text).map_err(|_| file_damaged(path))?;
    Ok(Some(text))
}

/// The error of a file with unexpected contents.
pub fn file_damaged(path: &Path) -> Error {
    Error::new(Kind::BadInput, "KEY_DAMAGED", format!("{} does not contain a valid key", path.display()))
        .hint("Restore it from a backup: without it, no existing token can be verified")
}

/// The error of a file that disappeared after it was created.
pub fn file_missing(path: &Path) -> Error {
    file_error(path, "it is missing")
}

#[cfg(unix)]
fn check_private_mode(path: &Path, file: &File) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = file.metadata().map_err(|error| file_error(path, &error.to_string()).with_cause(error))?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let message = format!("{} contains a key but other users can access it (mode {mode:o})", path.display());
    Err(Error::new(Kind::BadInput, "KEY_EXPOSED", message).hint(format!("chmod 600 {}", path.display())))
}

#[cfg(not(unix))]
fn check_private_mode(_path: &Path, _file: &File) -> Result<()> {
    // There is no file mode here; the data directory is in the profile of the user.
    Ok(())
}

/// Creates the file, unless it exists already.
pub fn create_text(path: &Path, text: &str) -> Result<()> {
    write_and_publish(path, text, |temp_file, path| match fs::hard_link(temp_file, path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => fs::remove_file(temp_file),
        linked => linked.and_then(|()| fs::remove_file(temp_file)),
    })
}

/// Replaces the file atomically: readers see the old or the new contents, never a mixture.
pub fn replace_text(path: &Path, text: &str) -> Result<()> {
    write_and_publish(path, text, |temp_file, path| fs::rename(temp_file, path))
}

/// Writes a temporary file beside the target and lets `publish` give it its name.
fn write_and_publish(
    path: &Path,
    text: &str,
    publish: impl FnOnce(&Path, &Path) -> std::io::Result<()>,
) -> Result<()> {
    let to_error = |error: std::io::Error| file_error(path, &error.to_string()).with_cause(error);
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(to_error)?;
    let temp_file = path.with_extension(format!("key.{}", id::ulid()?));
    let published = write_temp(&temp_file, text).and_then(|()| publish(&temp_file, path));
    if published.is_err() {
        // Report the first error, not that of the clean-up.
        let _ = fs::remove_file(&temp_file);
    }
    published.map_err(to_error)?;
    sync_folder(folder).map_err(to_error)
}

fn write_temp(temp_file: &Path, text: &str) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(temp_file)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Makes the new name durable: if a key is lost in a power cut, all its tokens are lost.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> std::io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> std::io::Result<()> {
    Ok(())
}

fn file_error(path: &Path, cause: &str) -> Error {
    Error::new(Kind::Internal, "KEY_FILE", format!("The key file {} cannot be used: {cause}", path.display()))
        .hint("Make the data directory writable by this user, on a file system with hard links")
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn concurrent_creation_yields_one_private_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new").join("signing.key");
        let secrets: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16).map(|_| scope.spawn(|| read_or_create(&path).unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(secrets.iter().all(|secret| *secret == secrets[0]));
        assert_eq!(read(&path).unwrap(), Some(secrets[0]));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(
            fs::read_dir(path.parent().unwrap()).unwrap().count(),
            1,
            "a temporary file was left behind"
        );
    }

    #[test]
    fn rejects_file_readable_by_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("signing.key");
        read_or_create(&path).unwrap();
        for mode in [0o640, 0o604, 0o620] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let error = read_or_create(&path).unwrap_err();
            assert_eq!(error.code(), "KEY_EXPOSED");
            assert_eq!(error.hint_text(), Some(format!("chmod 600 {}", path.display()).as_str()));
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        read_or_create(&path).unwrap();
    }

    #[test]
    fn damaged_file_is_an_error_and_left_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("signing.key");
        for damaged in ["", "nonsense", &BASE64.encode([1; 31]), &format!("{0}{0}", BASE64.encode([1; 32]))] {
            fs::write(&path, damaged).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            assert_eq!(read_or_create(&path).unwrap_err().code(), "KEY_DAMAGED", "{damaged:?}");
            assert_eq!(fs::read_to_string(&path).unwrap(), damaged);
        }
    }
}
