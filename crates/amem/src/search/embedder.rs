//! The built-in embedding: text to a vector of 128 numbers, the same on every machine, without a model.
//!
//! Each word contributes itself and its character n-grams of three to five characters. So "deploys", "deployed" and
//! "deployment" have similar vectors, and a typing error changes little. The hash of a feature picks four of the
//! 128 dimensions and a sign for each; the vector is the weighted sum, scaled to length one. A word that occurs n
//! times counts 1 + ln(n).
//!
//! The rarity of a word cannot be part of a stored vector, because it changes with every text. It is applied to the
//! *query*: the caller passes a weight for each word, from the counts of the text index. Common function words
//! count a tenth on both sides.

use super::limits::DIMENSIONS;
use super::vector::Vector;
use super::words::{self, WordScanner};

/// The shortest and the longest n-gram.
const MIN_NGRAM: usize = 3;
const MAX_NGRAM: usize = 5;

/// The total weight of a word's n-grams; the word itself weighs one. The n-grams find related words and survive
/// typing errors; the word decides between those.
const NGRAM_WEIGHT: f32 = 1.5;

/// The weight of a stop word.
const STOP_WORD_WEIGHT: f32 = 0.1;

/// The dimensions that one feature touches. With one, two features that collide are equal; with four they usually
/// share one dimension at most.
const HASHES_PER_FEATURE: u32 = 4;

/// The characters of one word that are used. In a language without spaces a sentence is one word, and encoded data
/// is no language at all.
const MAX_WORD_CHARS: usize = 256;

/// The vector of a stored text; `None` if it has no word.
pub fn embed(text: &str) -> Option<Vector> {
    embed_weighted(text, |_| 1.0)
}

/// The vector of a query, with a weight for each word. `None` if no word has weight.
pub fn embed_weighted(text: &str, weight: impl Fn(&str) -> f32) -> Option<Vector> {
    // All words in one string, and the hash and position of each. After sorting, equal words are adjacent.
    let mut joined_words = String::with_capacity(text.len());
    let mut occurrences: Vec<(u64, usize, usize)> = Vec::new();
    let mut scanner = WordScanner::new(text);
    while scanner.advance() {
        let start = joined_words.len();
        joined_words.push_str(scanner.word());
        occurrences.push((
            finalize(fnv1a(FNV_OFFSET_BASIS, scanner.word().as_bytes())),
            start,
            joined_words.len(),
        ));
    }
    occurrences.sort_unstable();
    let mut sum = [0.0; DIMENSIONS];
    for group in occurrences.chunk_by(|a, b| a.0 == b.0) {
        let Some((hash, start, end)) = group.first().copied() else { continue };
        let word = joined_words.get(start..end).unwrap_or_default();
        let frequency_weight = 1.0 + (group.len() as f32).ln();
        let stop_word_weight = if words::is_stop_word(word) { STOP_WORD_WEIGHT } else { 1.0 };
        add_word(&mut sum, word, hash, frequency_weight * stop_word_weight * weight(word));
    }
    Vector::normalize(sum).ok()
}

fn add_word(sum: &mut [f32; DIMENSIONS], word: &str, hash: u64, weight: f32) {
    add_feature(sum, hash, weight);
    let char_ends =
        || word.char_indices().map(|(at, character)| at + character.len_utf8()).take(MAX_WORD_CHARS);
    // A margin on both sides distinguishes the beginning and end from the middle of a word: "^dep" differs from
    // "dep".
    let characters = char_ends().count() + 2;
    let ngram_count: usize = (MIN_NGRAM..=MAX_NGRAM).map(|n| (characters + 1).saturating_sub(n)).sum();
    if ngram_count == 0 {
        return;
    }
    // The squares of the n-gram weights sum up to the square of the total, however long the word is.
    let ngram_weight = weight * NGRAM_WEIGHT / (ngram_count as f32).sqrt();
    let add_ngrams = |hash: u64, prefix_length: usize, rest: &str, sum: &mut [f32; DIMENSIONS]| {
        // Each longer n-gram continues the hash of the shorter one at the same place.
        let mut hash = hash;
        let mut length = prefix_length;
        let mut buffer = [0; 4];
        for character in rest.chars().chain(['$']) {
            hash = fnv1a(hash, character.encode_utf8(&mut buffer).as_bytes());
            length += 1;
            if length >= MIN_NGRAM {
                // Differs from the hash of a word with the same spelling.
                add_feature(sum, finalize(hash) ^ 0x9e37_79b9_7f4a_7c15, ngram_weight);
            }
            if length == MAX_NGRAM {
                return;
            }
        }
    };
    let limited_word = word.get(..char_ends().last().unwrap_or_default()).unwrap_or_default();
    add_ngrams(fnv1a(FNV_OFFSET_BASIS, b"^"), 1, limited_word, sum);
    for (start, _) in limited_word.char_indices() {
        add_ngrams(FNV_OFFSET_BASIS, 0, limited_word.get(start..).unwrap_or_default(), sum);
    }
}

fn add_feature(sum: &mut [f32; DIMENSIONS], hash: u64, weight: f32) {
    for round in 0..HASHES_PER_FEATURE {
        // Eight bits per round: seven for one of 128 dimensions, one for the sign.
        let bits = (hash >> (8 * round)) as usize & 0xff;
        let signed_weight = if bits & 0x80 == 0 { weight } else { -weight };
        sum[bits % DIMENSIONS] += signed_weight;
    }
}

const FNV_OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a, which can be continued. Like [`finalize`] it defines what a vector means and must never change.
fn fnv1a(mut hash: u64, bytes: &[u8]) -> u64 {
    for byte in bytes {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}

/// Makes every bit depend on every byte.
fn finalize(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn similarity(a: &str, b: &str) -> f32 {
        embed(a).unwrap().dot(&embed(b).unwrap())
    }

    #[test]
    fn case_and_punctuation_do_not_change_vector() {
        let score =
            similarity("Use PostgreSQL for the main database", "use postgresql, FOR the main: database!");
        assert!((score - 1.0).abs() < 1e-5, "{score}");
    }

    #[test]
    fn related_words_score_higher() {
        let related = similarity("deployment failed on staging", "the staging deploy fails");
        let unrelated = similarity("deployment failed on staging", "cats like warm milk in winter");
        assert!(related > 0.3 && related > unrelated + 0.2, "{related} {unrelated}");
        let mistyped = similarity("postgresql connection pool", "postgrsql conection pool");
        assert!(mistyped > 0.5, "{mistyped}");
    }

    #[test]
    fn text_without_spaces_is_comparable() {
        let related = similarity("東京の天気は晴れです", "東京の天気は雨です");
        let unrelated = similarity("東京の天気は晴れです", "データベースを使う");
        assert!(related > unrelated + 0.2, "{related} {unrelated}");
    }

    #[test]
    fn word_weight_raises_similarity() {
        let text = "the sqlite writer";
        let weighted = embed_weighted(text, |word| if word == "sqlite" { 3.0 } else { 0.5 }).unwrap();
        let plain = embed(text).unwrap();
        let sqlite = embed("sqlite").unwrap();
        assert!(weighted.dot(&sqlite) > plain.dot(&sqlite) + 0.1);
    }

    #[test]
    fn text_without_words_has_no_vector() {
        assert!(embed("").is_none() && embed("?! … --").is_none());
        assert!(embed_weighted("word", |_| 0.0).is_none());
        assert!(embed(&"x".repeat(65_536)).is_some() && embed(&"é ".repeat(20_000)).is_some());
    }

    #[test]
    fn ngram_hashes_match_naive_computation() {
        let mut expected = [0.0; DIMENSIONS];
        let word = "naïve";
        let bounded: Vec<char> = format!("^{word}$").chars().collect();
        let ngrams: Vec<String> =
            (3..=5).flat_map(|n| bounded.windows(n)).map(|window| window.iter().collect()).collect();
        let ngram_weight = NGRAM_WEIGHT / (ngrams.len() as f32).sqrt();
        add_feature(&mut expected, finalize(fnv1a(FNV_OFFSET_BASIS, word.as_bytes())), 1.0);
        for ngram in &ngrams {
            let hash = finalize(fnv1a(FNV_OFFSET_BASIS, ngram.as_bytes())) ^ 0x9e37_79b9_7f4a_7c15;
            add_feature(&mut expected, hash, ngram_weight);
        }
        let score = Vector::normalize(expected).unwrap().dot(&embed(word).unwrap());
        assert!((score - 1.0).abs() < 1e-5, "{score}");
    }

    /// Stored vectors depend on this value: another value is another embedding.
    #[test]
    fn embedding_hash_is_stable() {
        assert_eq!(finalize(fnv1a(FNV_OFFSET_BASIS, b"memory")), 0x6362_21fb_0120_2cdd);
    }
}
