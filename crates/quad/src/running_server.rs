//! The file that says where a running `quad serve` listens, so that `quad client-config` names its address.
//!
//! Each server has a file of its own, `servers/ID.json` in the data folder: several may use one folder. The server keeps
//! its file locked. The operating system releases the lock when the process ends, in whichever way, so a file without a
//! lock is stale. The id of a newer server sorts after that of an older one.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use quad_core::{Error, Result, id};
use serde::{Deserialize, Serialize};

/// The folder of the files, in the data folder.
const FOLDER: &str = "servers";

/// What the file holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningServer {
    /// The tenant that the server serves.
    pub tenant: String,
    /// The address of the endpoint for a client on this machine, such as `http://127.0.0.1:4704/mcp`.
    pub endpoint: String,
    /// The address that clients outside use, if one is configured.
    pub public_url: Option<String>,
    /// Whether the server asks for no token.
    pub no_auth: bool,
}

impl RunningServer {
    /// The endpoint that a client's configuration names.
    pub fn client_endpoint(&self) -> String {
        match &self.public_url {
            Some(url) => format!("{}/mcp", url.trim_end_matches('/')),
            None => self.endpoint.clone(),
        }
    }
}

/// The file of this process. It is removed when this is dropped.
#[derive(Debug)]
pub struct ServerFile {
    path: PathBuf,
    /// Holds the lock.
    _file: File,
}

impl ServerFile {
    /// Writes the file. It has its final name only once it is locked and complete.
    pub fn create(data_dir: &Path, server: &RunningServer) -> Result<ServerFile> {
        let folder = data_dir.join(FOLDER);
        let path = folder.join(format!("{}.json", id::ulid()?));
        let temp_path = path.with_extension("new");
        let text = serde_json::to_string(server).map_err(Error::internal)?;
        let written = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).and_then(|()| {
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temp_path)?;
            file.try_lock()?;
            writeln!(file, "{text}")?;
            std::fs::rename(&temp_path, &path)?;
            Ok(file)
        });
        let file = written
            .map_err(|error| Error::internal(format!("{} cannot be written: {error}", path.display())))?;
        Ok(ServerFile { path, _file: file })
    }
}

impl Drop for ServerFile {
    fn drop(&mut self) {
        // A file that stays is found to be stale.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The newest running server of a tenant. Removes the files of servers that ended without removing them.
pub fn find(data_dir: &Path, tenant: &str) -> Option<RunningServer> {
    let entries = std::fs::read_dir(data_dir.join(FOLDER)).ok()?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let mut running = paths.into_iter().rev().filter_map(|path| read_running(&path));
    running.find(|server| server.tenant == tenant)
}

/// The content of a file whose server is running.
fn read_running(path: &Path) -> Option<RunningServer> {
    let file = File::open(path).ok()?;
    // A shared lock, so that two readers do not take each other for the server.
    match file.try_lock_shared() {
        Err(std::fs::TryLockError::WouldBlock) => serde_json::from_reader(file).ok(),
        Err(std::fs::TryLockError::Error(_)) => None,
        Ok(()) => {
            let _ = std::fs::remove_file(path);
            None
        }
    }
}

/// The address at which a client on this machine reaches a socket. No client can connect to `0.0.0.0`.
pub fn reachable_address(bound: SocketAddr) -> SocketAddr {
    let loopback = match bound.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    SocketAddr::new(loopback, bound.port())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn server(tenant: &str, port: u16) -> RunningServer {
        let endpoint = format!("http://127.0.0.1:{port}/mcp");
        RunningServer { tenant: tenant.to_owned(), endpoint, public_url: None, no_auth: false }
    }

    fn files(folder: &Path) -> Vec<PathBuf> {
        std::fs::read_dir(folder.join(FOLDER)).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    #[test]
    fn newest_running_server_of_the_tenant_is_found() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(find(folder.path(), "local"), None);
        let first = ServerFile::create(folder.path(), &server("local", 1)).unwrap();
        let mode = std::fs::metadata(&first.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let second = ServerFile::create(folder.path(), &server("local", 2)).unwrap();
        let _other = ServerFile::create(folder.path(), &server("other", 3)).unwrap();
        assert_eq!(find(folder.path(), "local"), Some(server("local", 2)));
        drop(second);
        assert_eq!(find(folder.path(), "local"), Some(server("local", 1)));
        drop(first);
        assert_eq!(find(folder.path(), "local"), None);
        assert_eq!(find(folder.path(), "other"), Some(server("other", 3)));
    }

    #[test]
    fn file_without_lock_is_stale_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let running = ServerFile::create(folder.path(), &server("local", 1)).unwrap();
        let text = std::fs::read(&running.path).unwrap();
        std::fs::write(folder.path().join(FOLDER).join("zzz.json"), text).unwrap();
        assert_eq!(files(folder.path()).len(), 2);
        assert_eq!(find(folder.path(), "local"), Some(server("local", 1)));
        assert_eq!(files(folder.path()), std::slice::from_ref(&running.path));
    }

    #[test]
    fn client_endpoint_is_public_url_or_loopback() {
        let reachable = |bound: &str| reachable_address(bound.parse().unwrap()).to_string();
        assert_eq!(reachable("0.0.0.0:80"), "127.0.0.1:80");
        assert_eq!(reachable("[::]:80"), "[::1]:80");
        assert_eq!(reachable("192.0.2.1:80"), "192.0.2.1:80");
        let public =
            RunningServer { public_url: Some("https://a.example/".to_owned()), ..server("local", 1) };
        assert_eq!(public.client_endpoint(), "https://a.example/mcp");
        assert_eq!(server("local", 1).client_endpoint(), "http://127.0.0.1:1/mcp");
    }
}
