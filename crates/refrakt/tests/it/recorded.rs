//! Recorded output of the npm packages for three small plans. Their files are unpacked before they are read.

#[path = "../../../markdoc/tests/recorded/mod.rs"]
mod shared;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use serde_json::json;

pub use shared::{first_difference, read_json as recorded_json};

/// File of the plans: one file of a plan a line.
const PLANS: &str = "plans.jsonl.lz4";

/// A folder that holds `plan/1`, `plan/2` and `plan/3`.
///
/// The folder is named after a hash of its content and stays in the target folder: tests only read it.
pub fn recorded_dir() -> Option<PathBuf> {
    let packed = shared::read_compressed(PLANS);
    let mut hasher = DefaultHasher::new();
    packed.hash(&mut hasher);
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let unpacked = target.join(format!("recorded-plans-{:016x}", hasher.finish()));
    if !unpacked.is_dir() {
        let staging = tempfile::tempdir_in(target).unwrap();
        for file in shared::recorded_cases(PLANS) {
            let path = staging.path().join(file["path"].as_str().unwrap());
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, file["text"].as_str().unwrap()).unwrap();
        }
        // Another test may have been faster.
        let renamed = std::fs::rename(staging.path(), &unpacked);
        assert!(renamed.is_ok() || unpacked.is_dir(), "{renamed:?}");
    }
    Some(unpacked)
}

/// The full corpus, if it is there.
pub fn corpus() -> Option<PathBuf> {
    shared::corpus_dir()
}

#[test]
fn refresh_recorded_plans() {
    let Some(corpus) = shared::refresh_source() else { return };
    let mut files = Vec::new();
    collect_files(&corpus, &corpus.join("plan"), &mut files);
    shared::write_lines(PLANS, &files);
}

fn collect_files(corpus: &Path, dir: &Path, files: &mut Vec<String>) {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect_files(corpus, &path, files);
        } else {
            let name = path.strip_prefix(corpus).unwrap().to_str().unwrap();
            files.push(json!({ "path": name, "text": std::fs::read_to_string(&path).unwrap() }).to_string());
        }
    }
}
