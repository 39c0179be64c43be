//! A project folder that a transcript may change: a copy of a folder beside the transcripts.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::client::Reply;
use crate::instance::{Server, TestInstance};

/// The placeholder for the folder's path in replies, since the path differs in every run.
const PATH_PLACEHOLDER: &str = "/project";

/// A copy of a project.
pub struct Project {
    folder: TempDir,
    /// The server of the project, over HTTP.
    pub server: Option<Server>,
    owner: std::cell::OnceCell<String>,
}

impl Project {
    /// Copies a folder of `projects` beside the transcript. A missing folder gives an empty project.
    pub fn copy(transcript: &Path, name: &str) -> Project {
        let folder = tempfile::tempdir().unwrap();
        copy_dir(&projects_path(transcript, name), folder.path());
        Project { folder, server: None, owner: std::cell::OnceCell::new() }
    }

    /// The path.
    pub fn path(&self) -> &str {
        self.folder.path().to_str().unwrap()
    }

    /// Whether the project belongs to this tenant. The first tenant that asks owns it.
    pub fn is_owned_by(&self, tenant: &str) -> bool {
        self.owner.get_or_init(|| tenant.to_owned()) == tenant
    }

    /// Starts a server for the owning tenant, once.
    pub fn serve(&mut self, instance: &TestInstance, tenant: &str) {
        if self.is_owned_by(tenant) && self.server.is_none() {
            self.server = Some(instance.serve(&["--project", self.path(), "--tenant", tenant]));
        }
    }

    /// Replaces a file by one of `projects` with a rename, as most editors do.
    pub fn save(&self, transcript: &Path, from: &str, to: &str) -> Result<(), String> {
        let (from, to) = (projects_path(transcript, from), self.folder.path().join(to));
        let temp_path = to.with_extension("saving");
        std::fs::create_dir_all(to.parent().unwrap()).map_err(|error| error.to_string())?;
        std::fs::copy(&from, &temp_path).map_err(|error| format!("{}: {error}", from.display()))?;
        std::fs::rename(&temp_path, &to).map_err(|error| error.to_string())
    }

    /// Removes a file or a folder.
    pub fn remove(&self, path: &str) -> Result<(), String> {
        let path = self.folder.path().join(path);
        let result = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        result.map_err(|error| error.to_string())
    }

    /// Replaces the folder's path in a reply.
    pub fn mask_path_in(&self, reply: &mut Reply) {
        let canonical = self.folder.path().canonicalize().unwrap();
        for path in [canonical.to_str().unwrap(), self.path()] {
            match &mut reply.outcome {
                Ok(value) | Err(value) => mask_path(value, path),
            }
        }
    }
}

fn mask_path(value: &mut Value, path: &str) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(|value| mask_path(value, path)),
        Value::Object(object) => object.values_mut().for_each(|value| mask_path(value, path)),
        Value::String(text) if text.contains(path) => *text = text.replace(path, PATH_PLACEHOLDER),
        _ => {}
    }
}

fn projects_path(transcript: &Path, name: &str) -> PathBuf {
    transcript.with_file_name("projects").join(name)
}

/// Copies a folder recursively.
pub fn copy_dir(from: &Path, to: &Path) {
    let Ok(entries) = std::fs::read_dir(from) else { return };
    for entry in entries.map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            std::fs::create_dir_all(&to).unwrap();
            copy_dir(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}
