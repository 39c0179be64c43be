//! Gives the binary the commit that it is built from, for `quad --version`.
//!
//! `QUAD_VERSION` is `0.2.0 (abc123def 2026-11-18)`, or the version alone where there is no git, as in a source
//! archive.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A commit moves the branch, not always `HEAD` itself; its log changes with both.
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", name]);
        if let Some(path) = path.filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let version = env!("CARGO_PKG_VERSION");
    let version = match own_commit() {
        Some(commit) => format!("{version} ({commit})"),
        None => version.to_owned(),
    };
    println!("cargo::rustc-env=QUAD_VERSION={version}");
}

/// The commit and its date. None if these sources are not what the surrounding git repository tracks.
fn own_commit() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    git(&["show", "-s", "--abbrev=9", "--format=%h %cs", "HEAD"])
}

/// What git prints, if it runs without an error.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
