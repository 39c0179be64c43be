//! A project's folder behind a resolver, on each database that this machine offers.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use quad_core::canonical::sha256_hex;
use quad_core::resolver::View;
use quad_core::tool::NoProgress;
use quad_core::{Error, Principal, Resolver};
use quad_refrakt::{COMPONENT, Refrakt};
use quad_store::testing::{TestStore, stores};
use serde_json::{Value, json};
use tempfile::TempDir;

pub struct World {
    pub test: TestStore,
    pub folder: TempDir,
    pub refrakt: Arc<Refrakt>,
    pub resolver: Arc<Resolver>,
    pub caller: Principal,
}

/// A work item's text.
pub fn work(id: &str, status: &str) -> String {
    format!(
        "{{% work id=\"{id}\" status=\"{status}\" %}}\n# {id}\n\n## Acceptance Criteria\n\n- [ ] one\n- [ ] two\n{{% /work %}}\n"
    )
}

/// A project with these files, on each database.
pub async fn worlds(files: &[(&str, &str)]) -> Vec<World> {
    let mut worlds = Vec::new();
    for test in stores(&[COMPONENT]).await.unwrap() {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            save(folder.path(), path, text);
        }
        let (refrakt, resolver) = serve(&test, folder.path());
        let caller = Principal::local_agent(test.tenant.clone(), quad_refrakt::SCOPES.iter().copied());
        worlds.push(World { test, folder, refrakt, resolver, caller });
    }
    worlds
}

/// A process that serves a folder.
pub fn serve(test: &TestStore, folder: &Path) -> (Arc<Refrakt>, Arc<Resolver>) {
    let refrakt = Arc::new(Refrakt::new(test.store.clone(), test.tenant.clone(), folder));
    let store = Arc::new(test.store.clone());
    let resolver = Resolver::new(vec![refrakt.clone()], store.clone(), store).unwrap();
    (refrakt, Arc::new(resolver))
}

/// Saves a file as most editors do.
pub fn save(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let waiting = path.with_extension("saving");
    std::fs::write(&waiting, text).unwrap();
    std::fs::rename(waiting, path).unwrap();
}

/// Every file below a folder, with the hash of what it holds.
pub fn hashes(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.path().display().to_string();
        if entry.path().is_dir() {
            found.insert(name, "folder".to_owned());
            found.extend(hashes(&entry.path()));
        } else {
            found.insert(name, sha256_hex(&std::fs::read(entry.path()).unwrap()));
        }
    }
    found
}

impl World {
    pub async fn text(&self, uri: &str) -> Result<String, Error> {
        let answer = self.resolver.read(&self.caller, View::All, uri).await?;
        Ok(String::from_utf8(answer.sealed.contents[0].bytes().to_vec()).unwrap())
    }

    pub async fn read(&self, uri: &str) -> Result<Value, Error> {
        Ok(serde_json::from_str(&self.text(uri).await?).unwrap())
    }

    pub async fn call(&self, tool: &str, arguments: Value) -> Result<Value, Error> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let output = self.resolver.call(&self.caller, View::All, tool, arguments, &NoProgress).await?;
        Ok(output.value().unwrap_or_else(|| json!(null)))
    }

    pub fn save(&self, path: &str, text: &str) {
        save(self.folder.path(), path, text);
    }
}
