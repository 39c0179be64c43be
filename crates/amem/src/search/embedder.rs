//! The built-in embedding: text to a vector of 128 numbers, the same on every machine, without a model.
//!
//! Each word contributes itself and its character sequences of three to five, so that "deploys", "deployed" and
//! "deployment" lie near each other and a typing error does not hide a text. A feature's hash picks four of the 128
//! places and a sign for each; the vector is the weighted sum, scaled to length one. A word counts 1 + ln(how often).
//!
//! How rare a word is cannot be part of a stored text's vector, since that changes with every text. It is applied to
//! the *query*: a caller passes a weight for each word, from the text index's counts. Common function words count a
//! tenth on both sides.

use super::limits::DIMENSIONS;
use super::vector::Vector;
use super::words::{self, Words};

/// The least and the greatest length of a character sequence.
const SEQUENCE_LEAST: usize = 3;
const SEQUENCE_MOST: usize = 5;

/// What a word's character sequences weigh together, if the word itself weighs one: they find relatives and survive typing
/// errors, and the word decides between those.
const SEQUENCES_WEIGHT: f32 = 1.5;

/// The weight of a word that is in every text.
const COMMON_WEIGHT: f32 = 0.1;

/// Places of the vector that one feature touches. With one, two features that collide are the same; with four they share
/// a place at most.
const PLACES: u32 = 4;

/// Characters of one word that are looked at: in a language without spaces a sentence is one word, and encoded data is no
/// language at all.
const WORD_CHARS: usize = 256;

/// The vector of a stored text; none if it has no word.
pub fn embed(text: &str) -> Option<Vector> {
    embed_weighted(text, |_| 1.0)
}

/// The vector of a query, in which a word counts as much as `weight` says. None if no word counts.
pub fn embed_weighted(text: &str, weight: impl Fn(&str) -> f32) -> Option<Vector> {
    // All words in one string, and for each its hash and where it stands: sorted, the same words lie side by side.
    let mut letters = String::with_capacity(text.len());
    let mut found: Vec<(u64, usize, usize)> = Vec::new();
    let mut words = Words::of(text);
    while words.advance() {
        let start = letters.len();
        letters.push_str(words.word());
        found.push((mixed(fnv(FNV_START, words.word().as_bytes())), start, letters.len()));
    }
    found.sort_unstable();
    let mut sum = [0.0; DIMENSIONS];
    for same in found.chunk_by(|a, b| a.0 == b.0) {
        let Some((hash, start, end)) = same.first().copied() else { continue };
        let word = letters.get(start..end).unwrap_or_default();
        let often = 1.0 + (same.len() as f32).ln();
        let rank = if words::says_little(word) { COMMON_WEIGHT } else { 1.0 };
        add_word(&mut sum, word, hash, often * rank * weight(word));
    }
    Vector::normalised(sum).ok()
}

fn add_word(sum: &mut [f32; DIMENSIONS], word: &str, hash: u64, weight: f32) {
    add_feature(sum, hash, weight);
    let ends = || word.char_indices().map(|(at, character)| at + character.len_utf8()).take(WORD_CHARS);
    // With a margin at either side, which tells a beginning and an end from a middle: "^dep" is not "dep".
    let characters = ends().count() + 2;
    let sequences: usize = (SEQUENCE_LEAST..=SEQUENCE_MOST).map(|n| (characters + 1).saturating_sub(n)).sum();
    if sequences == 0 {
        return;
    }
    // The squares of the sequences' weights sum up to the share's square, however long the word is.
    let each = weight * SEQUENCES_WEIGHT / (sequences as f32).sqrt();
    let from_here = |hash: u64, before: usize, rest: &str, sum: &mut [f32; DIMENSIONS]| {
        // Each longer sequence from one place goes on where the shorter one's hash stopped.
        let mut hash = hash;
        let mut length = before;
        let mut buffer = [0; 4];
        for character in rest.chars().chain(['$']) {
            hash = fnv(hash, character.encode_utf8(&mut buffer).as_bytes());
            length += 1;
            if length >= SEQUENCE_LEAST {
                // Not the hash of a word that happens to be spelled alike.
                add_feature(sum, mixed(hash) ^ 0x9e37_79b9_7f4a_7c15, each);
            }
            if length == SEQUENCE_MOST {
                return;
            }
        }
    };
    let seen = word.get(..ends().last().unwrap_or_default()).unwrap_or_default();
    from_here(fnv(FNV_START, b"^"), 1, seen, sum);
    for (at, _) in seen.char_indices() {
        from_here(FNV_START, 0, seen.get(at..).unwrap_or_default(), sum);
    }
}

fn add_feature(sum: &mut [f32; DIMENSIONS], hash: u64, weight: f32) {
    for turn in 0..PLACES {
        // Eight bits a turn: seven for one of 128 places, one for the sign.
        let bits = (hash >> (8 * turn)) as usize & 0xff;
        let signed = if bits & 0x80 == 0 { weight } else { -weight };
        sum[bits % DIMENSIONS] += signed;
    }
}

const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a, which can be gone on with. Like [`mixed`] it is part of what a vector means: never to be changed.
fn fnv(mut hash: u64, bytes: &[u8]) -> u64 {
    for byte in bytes {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}

/// Makes every bit depend on every byte.
fn mixed(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn likeness(a: &str, b: &str) -> f32 {
        embed(a).unwrap().dot(&embed(b).unwrap())
    }

    #[test]
    fn the_same_words_are_the_same_whatever_stands_between() {
        let one = likeness("Use PostgreSQL for the main database", "use postgresql, FOR the main: database!");
        assert!((one - 1.0).abs() < 1e-5, "{one}");
    }

    #[test]
    fn relatives_are_nearer_than_strangers() {
        let related = likeness("deployment failed on staging", "the staging deploy fails");
        let unrelated = likeness("deployment failed on staging", "cats like warm milk in winter");
        assert!(related > 0.3 && related > unrelated + 0.2, "{related} {unrelated}");
        let mistyped = likeness("postgresql connection pool", "postgrsql conection pool");
        assert!(mistyped > 0.5, "{mistyped}");
    }

    #[test]
    fn languages_without_spaces_have_likeness_too() {
        let related = likeness("東京の天気は晴れです", "東京の天気は雨です");
        let unrelated = likeness("東京の天気は晴れです", "データベースを使う");
        assert!(related > unrelated + 0.2, "{related} {unrelated}");
    }

    #[test]
    fn a_rare_word_can_be_made_to_count_more() {
        let text = "the sqlite writer";
        let heavy = embed_weighted(text, |word| if word == "sqlite" { 3.0 } else { 0.5 }).unwrap();
        let plain = embed(text).unwrap();
        let sqlite = embed("sqlite").unwrap();
        assert!(heavy.dot(&sqlite) > plain.dot(&sqlite) + 0.1);
    }

    #[test]
    fn a_text_without_words_has_no_vector() {
        assert!(embed("").is_none() && embed("?! … --").is_none());
        assert!(embed_weighted("word", |_| 0.0).is_none());
        assert!(embed(&"x".repeat(65_536)).is_some() && embed(&"é ".repeat(20_000)).is_some());
    }

    #[test]
    fn longer_sequences_go_on_where_shorter_ones_stop() {
        let mut expected = [0.0; DIMENSIONS];
        let word = "naïve";
        let bounded: Vec<char> = format!("^{word}$").chars().collect();
        let sequences: Vec<String> =
            (3..=5).flat_map(|n| bounded.windows(n)).map(|window| window.iter().collect()).collect();
        let each = SEQUENCES_WEIGHT / (sequences.len() as f32).sqrt();
        add_feature(&mut expected, mixed(fnv(FNV_START, word.as_bytes())), 1.0);
        for sequence in &sequences {
            let hash = mixed(fnv(FNV_START, sequence.as_bytes())) ^ 0x9e37_79b9_7f4a_7c15;
            add_feature(&mut expected, hash, each);
        }
        let likeness = Vector::normalised(expected).unwrap().dot(&embed(word).unwrap());
        assert!((likeness - 1.0).abs() < 1e-5, "{likeness}");
    }

    /// Whoever stores vectors relies on this: another value here is another embedding.
    #[test]
    fn the_embedding_never_changes() {
        assert_eq!(mixed(fnv(FNV_START, b"memory")), 0x6362_21fb_0120_2cdd);
    }
}
