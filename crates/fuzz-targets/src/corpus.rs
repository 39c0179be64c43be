//! The corpora in `fuzz/corpus`: the inputs that every test run replays.
//!
//! `fuzz/corpus/TARGET/` has the inputs that were written by hand, one file each, with a name that says what it is.
//! `fuzz/corpus/TARGET.base64` has the inputs that libFuzzer found, one per line in base64: hundreds of files of a few
//! bytes each would take 20 times the space.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

/// The inputs of a target: the written ones, then the found ones. Panics if the corpus is missing or damaged.
pub fn load(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut inputs = written_inputs(&folder.join(target));
    inputs.extend(found_inputs(&folder.join(format!("{target}.base64"))));
    inputs
}

fn written_inputs(folder: &Path) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

fn found_inputs(file: &Path) -> Vec<Vec<u8>> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    assert!(!text.is_empty(), "{} is empty", file.display());
    text.lines().map(|line| BASE64.decode(line).unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}
