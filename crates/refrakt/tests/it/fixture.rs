//! A project's folder behind a resolver, on each available database.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use quad_core::canonical::sha256_hex;
use quad_core::resolver::View;
use quad_core::tool::NoProgress;
use quad_core::{Error, Principal, Resolver};
use quad_refrakt::{COMPONENT, Refrakt};
use quad_store::testing::{TestStore, stores};
use serde_json::{Value, json};
use tempfile::TempDir;

pub struct TestProject {
    pub test: TestStore,
    pub dir: TempDir,
    pub refrakt: Arc<Refrakt>,
    pub resolver: Arc<Resolver>,
    pub caller: Principal,
}

/// The text of a work item.
pub fn work(id: &str, status: &str) -> String {
    format!(
        "{{% work id=\"{id}\" status=\"{status}\" %}}\n# {id}\n\n## Acceptance Criteria\n\n- [ ] one\n- [ ] two\n{{% /work %}}\n"
    )
}

/// A project with these files, on each database.
pub async fn test_projects(files: &[(&str, &str)]) -> Vec<TestProject> {
    let mut projects = Vec::new();
    for test in stores(&[COMPONENT]).await.unwrap() {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            save_file(dir.path(), path, text);
        }
        let (refrakt, resolver) = start_server(&test, dir.path());
        let caller = Principal::local_agent(test.tenant.clone(), quad_refrakt::SCOPES.iter().copied());
        projects.push(TestProject { test, dir, refrakt, resolver, caller });
    }
    projects
}

/// A server process for a folder.
pub fn start_server(test: &TestStore, folder: &Path) -> (Arc<Refrakt>, Arc<Resolver>) {
    let refrakt = Arc::new(Refrakt::new(test.store.clone(), test.tenant.clone(), folder));
    let store = Arc::new(test.store.clone());
    let resolver = Resolver::new(vec![refrakt.clone()], store.clone(), store).unwrap();
    (refrakt, Arc::new(resolver))
}

/// Saves a file by rename, as most editors do.
pub fn save_file(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let temp_path = path.with_extension("saving");
    std::fs::write(&temp_path, text).unwrap();
    std::fs::rename(temp_path, path).unwrap();
}

/// Every file below a folder, with its hash.
pub fn file_hashes(folder: &Path) -> BTreeMap<String, String> {
    let mut hashes = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.path().display().to_string();
        if entry.path().is_dir() {
            hashes.insert(name, "folder".to_owned());
            hashes.extend(file_hashes(&entry.path()));
        } else {
            hashes.insert(name, sha256_hex(&std::fs::read(entry.path()).unwrap()));
        }
    }
    hashes
}

/// Runs git in a folder as one author, at eight o'clock of a day in March 2025.
pub fn git(dir: &Path, day: usize, arguments: &[&str]) -> String {
    let date = format!("2025-03-{day:02}T08:00:00Z");
    let output = Command::new("git")
        .current_dir(dir)
        .args(["-c", "user.name=Ada Quill", "-c", "user.email=ada@example.org"])
        .args(arguments)
        .envs([("GIT_AUTHOR_DATE", &date), ("GIT_COMMITTER_DATE", &date)])
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl TestProject {
    pub async fn read_text(&self, uri: &str) -> Result<String, Error> {
        let answer = self.resolver.read(&self.caller, View::All, uri).await?;
        Ok(String::from_utf8(answer.read.contents[0].bytes().to_vec()).unwrap())
    }

    pub async fn read_json(&self, uri: &str) -> Result<Value, Error> {
        Ok(serde_json::from_str(&self.read_text(uri).await?).unwrap())
    }

    pub async fn call_tool(&self, tool: &str, arguments: Value) -> Result<Value, Error> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let output = self.resolver.call_tool(&self.caller, View::All, tool, arguments, &NoProgress).await?;
        Ok(output.structured_value().unwrap_or_else(|| json!(null)))
    }

    pub fn save(&self, path: &str, text: &str) {
        save_file(self.dir.path(), path, text);
    }
}
