//! Small mutations of known inputs, the same in every run.
//!
//! This finds less than libFuzzer, because it has no coverage feedback. But it needs no instrumentation and is
//! deterministic, so an ordinary test can run it.

/// Byte strings that are special to a decoder.
const WORDS: [&[u8]; 24] = [
    b"\0",
    b"\n",
    b"/",
    b"..",
    b"%2e",
    b"%00",
    b"%c0%ae",
    b"?",
    b"&",
    b"=",
    b"{",
    b"}",
    b"{+x}",
    b"{?a,b}",
    b"[",
    b"]",
    b"\"",
    b"\\u0000",
    b"\\ud800",
    b"null",
    b"1e400",
    b".",
    b"\"id\":1",
    b"#mcp-name:",
];

/// The longest mutated input in bytes.
const BYTES_MAX: usize = 16 * 1024;

/// Mutates inputs, from a seed.
#[derive(Clone, Debug)]
pub struct Mutator {
    state: u64,
}

impl Mutator {
    /// A mutator with this seed.
    pub fn new(seed: u64) -> Mutator {
        Mutator { state: seed | 1 }
    }

    /// Changes `input` in one to four places. Inserted pieces may come from `others`.
    pub fn mutate(&mut self, input: &mut Vec<u8>, others: &[Vec<u8>]) {
        for _ in 0..=self.random_below(4) {
            let start = self.random_below(input.len() + 1);
            let end = (start + self.random_below(9)).min(input.len());
            match self.random_below(7) {
                0 if start < input.len() => input[start] ^= 1 << self.random_below(8),
                1 => drop(input.drain(start..end)),
                2 => input.insert(start, self.random_below(256) as u8),
                3 => insert(input, start, WORDS[self.random_below(WORDS.len())]),
                4 => {
                    let piece = input[start..end].repeat(1 + self.random_below(40));
                    insert(input, start, &piece);
                }
                5 if !others.is_empty() => {
                    let other = &others[self.random_below(others.len())];
                    let from = self.random_below(other.len() + 1);
                    let to = (from + self.random_below(64)).min(other.len());
                    insert(input, start, &other[from..to]);
                }
                _ => input.truncate(start),
            }
        }
        input.truncate(BYTES_MAX);
    }

    /// A number below `end`; 0 if `end` is 0. Xorshift, since nothing here needs to be unpredictable.
    fn random_below(&mut self, end: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state % end.max(1) as u64) as usize
    }
}

fn insert(input: &mut Vec<u8>, position: usize, piece: &[u8]) {
    input.splice(position..position, piece.iter().copied());
}
