//! Runs every fuzz target on its whole corpus, and on small mutations of it.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use std::panic::catch_unwind;

use quad_fuzz_targets::mutate::Mutator;
use quad_fuzz_targets::{FUZZ_TARGETS, FuzzTarget, corpus};

/// Mutated inputs of each target: a few seconds for the slowest.
const ROUNDS: usize = 20_000;

/// Any number; the same in every run, so that a failure can be reproduced.
const SEED: u64 = 0x5155_4144;

/// The least number of inputs of a target. The smallest corpus has 87.
const CORPUS_MIN: usize = 80;

fn run_target(name: &str, target: FuzzTarget, input: &[u8]) {
    if catch_unwind(|| target(input)).is_err() {
        panic!("{name} fails for {:?}", String::from_utf8_lossy(input));
    }
}

#[test]
fn all_corpus_inputs_pass() {
    for (name, target) in FUZZ_TARGETS {
        let inputs = corpus::load(name);
        assert!(inputs.len() >= CORPUS_MIN, "the corpus of {name} has only {} inputs", inputs.len());
        for input in &inputs {
            run_target(name, target, input);
        }
    }
}

#[test]
fn mutated_corpus_inputs_pass() {
    for (name, target) in FUZZ_TARGETS {
        let inputs = corpus::load(name);
        let mut mutator = Mutator::new(SEED);
        for round in 0..ROUNDS {
            let mut input = inputs[round % inputs.len()].clone();
            mutator.mutate(&mut input, &inputs);
            run_target(name, target, &input);
        }
    }
}
