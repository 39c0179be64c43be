//! The documentation pages of the repository.

use std::path::{Path, PathBuf};

/// The program that the examples run.
pub const QUAD: &str = env!("CARGO_BIN_EXE_quad");

/// The top folder of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A documentation page.
pub struct Page {
    /// Its path below the top folder, such as `docs/README.md`.
    pub name: String,
    pub text: String,
}

/// Every page: those at the top, those below `docs/`, and the READMEs of the crates.
pub fn all() -> Vec<Page> {
    let root = root();
    let top = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
    let mut names: Vec<String> = top.iter().map(|name| (*name).to_owned()).collect();
    for file in files_below(&root.join("docs"), "md") {
        names.push(relative(&root, &file));
    }
    for folder in folders(&root.join("crates")) {
        names.push(relative(&root, &folder.join("README.md")));
    }
    let mut pages = Vec::new();
    for name in names {
        if let Ok(text) = std::fs::read_to_string(root.join(&name)) {
            pages.push(Page { name, text });
        }
    }
    pages
}

/// All files with this extension below a folder, sorted by path.
pub fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return found };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path, extension));
        } else if path.extension().is_some_and(|ending| ending == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The folders directly below a folder, sorted by name.
pub fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.is_dir());
    found.sort();
    found
}

/// A path below the top folder, with `/` between its parts.
pub fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/")
}
