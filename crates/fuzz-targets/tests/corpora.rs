//! Every probe on its whole corpus, and on small changes of it.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use quad_fuzz_targets::mutate::Mutator;
use quad_fuzz_targets::{FUZZ_TARGETS, FuzzTarget};

/// Changed inputs that each probe is given: a few seconds for the slowest.
const ROUNDS: usize = 20_000;

/// Any number; the same one in every run, so that a failure comes again.
const SEED: u64 = 0x5155_4144;

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

fn run_target(name: &str, target: FuzzTarget, input: &[u8]) {
    if catch_unwind(|| target(input)).is_err() {
        panic!("{name} does not hold for {:?}", String::from_utf8_lossy(input));
    }
}

#[test]
fn all_corpus_inputs_pass() {
    for (name, target) in FUZZ_TARGETS {
        let corpus = corpus(name);
        assert!(corpus.len() >= 12, "the corpus of {name} has {} files only", corpus.len());
        for input in &corpus {
            run_target(name, target, input);
        }
    }
}

#[test]
fn mutated_corpus_inputs_pass() {
    for (name, target) in FUZZ_TARGETS {
        let corpus = corpus(name);
        let mut mutator = Mutator::new(SEED);
        for round in 0..ROUNDS {
            let mut input = corpus[round % corpus.len()].clone();
            mutator.mutate(&mut input, &corpus);
            run_target(name, target, &input);
        }
    }
}
