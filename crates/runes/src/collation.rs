//! Sort order of selectors: the root order of the Unicode collation algorithm (CLDR), as ICU sorts.
//!
//! Letters are compared first by base letter, then by accent, then lower case before upper case. Punctuation comes
//! before digits, digits before letters. The tables below list the scripts and symbols that are supported; other
//! characters follow in code point order.
//!
//! Written by hand because the tables of `icu_collator` are larger than this whole crate, and only selectors are
//! sorted: names, words and an occasional sentence.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Spaces, punctuation, symbols and digits, in order. `=` makes the next character a variant of the previous one.
const PUNCTUATION_ORDER: &str = "\t\n\u{b}\u{c}\r\u{85}\u{2028}\u{2029} =\u{a0}=\u{2007}=\u{202f}=\u{2009}\
_‗-‐=‑‒–—―,;:!¡?¿‽.·'=‘=’=‚=‛‹›\"=“=”=„=‟«»()[]{}‖§¶@*/\\&#%‰†‡•‣′″※`´^¯¨¸°©®←→↑↓↔⇐⇒⇔∂∈∏∑+±÷×<\u{1}>¬|¦~−⁄√∞≈≡≤≥";

/// Stands for a literal `=` in the list above.
const EQUALS_PLACEHOLDER: char = '\u{1}';

/// Currency symbols and digits: after all other symbols.
const CURRENCY_AND_DIGITS: &str = "¤¢$£¥€0123456789";

/// Letters. Each word is a base letter followed by its accented forms.
const LETTER_ORDER: &str = "aªáàăâåäãąā bḃ cćĉčċç dďđð eéèĕêěëẽėęē fḟ ƒ gğĝġģ hĥħ iíìĭîïĩįī ı jĵ kķ lĺľļł mṁ nńǹňñņ ŋ \
oºóòŏôöőõøō pṗ q ĸ rŕřŗ sśŝšşșſ tťţț ŧ uúùŭûůüűũųū v wẃẁŵẅ x yýỳŷÿ zźžż þ \
αά β γ δ εέ ζ ηή θ ιίϊΐ κ λ μµ ν ξ οό π ρ σς τ υύϋΰ φ χ ψ ωώ \
а б в гѓґ д ђ еѐё є ж з ѕ иѝ ії й ј кќ л љ м н њ о п р с т ћ уў ф х ц ч џ ш щ ъ ы ь э ю я";

/// Characters that sort as several letters.
const EXPANSIONS: [(char, &str); 17] = [
    ('æ', "ae"),
    ('œ', "oe"),
    ('ß', "ss"),
    ('ĳ', "ij"),
    ('…', "..."),
    ('‥', ".."),
    ('™', "tm"),
    ('№', "no"),
    ('ﬁ', "fi"),
    ('ﬂ', "fl"),
    ('¹', "1"),
    ('²', "2"),
    ('³', "3"),
    ('ŀ', "l·"),
    ('¼', "1⁄4"),
    ('½', "1⁄2"),
    ('¾', "3⁄4"),
];

/// Weights of the listed symbols start here. Symbols that are not listed follow, before currency symbols.
const SYMBOL_WEIGHT_BASE: u32 = 0x1000;
const CURRENCY_WEIGHT_BASE: u32 = 0x20_0000;
const LETTER_WEIGHT_BASE: u32 = 0x20_1000;
const OTHER_WEIGHT_BASE: u32 = 0x40_0000;

/// The weight of a character: base, accent, case. Compared in this order.
#[derive(Clone, Copy)]
struct Weight {
    primary: u32,
    secondary: u32,
    tertiary: u32,
}

const BASE_WEIGHT: u32 = 1;

static LISTED_WEIGHTS: LazyLock<HashMap<char, Weight>> = LazyLock::new(|| {
    let mut weights = HashMap::new();
    insert_weights(PUNCTUATION_ORDER, 1, &mut weights);
    insert_weights(CURRENCY_AND_DIGITS, CURRENCY_WEIGHT_BASE, &mut weights);
    for (index, letters) in (LETTER_WEIGHT_BASE..).zip(LETTER_ORDER.split(' ')) {
        for (accent, letter) in (BASE_WEIGHT..).zip(letters.chars()) {
            weights.insert(letter, Weight { primary: index, secondary: accent, tertiary: BASE_WEIGHT });
        }
    }
    weights
});

fn insert_weights(chars: &str, base: u32, weights: &mut HashMap<char, Weight>) {
    let (mut primary, mut secondary) = (base, BASE_WEIGHT);
    let mut is_variant = false;
    for ch in chars.chars() {
        if ch == '=' {
            is_variant = true;
            continue;
        }
        (primary, secondary) = if is_variant { (primary, secondary + 1) } else { (primary + 1, BASE_WEIGHT) };
        is_variant = false;
        let ch = if ch == EQUALS_PLACEHOLDER { '=' } else { ch };
        weights.insert(ch, Weight { primary, secondary, tertiary: BASE_WEIGHT });
    }
}

/// A sort key: texts are ordered by comparing their keys number by number.
pub fn collation_key(text: &str) -> Vec<u32> {
    let mut weights = Vec::with_capacity(text.len());
    text.chars().for_each(|ch| push_weights(ch, &mut weights));
    let mut key = Vec::with_capacity(weights.len() * 3 + 2);
    key.extend(weights.iter().map(|weight| weight.primary));
    key.push(0);
    key.extend(weights.iter().map(|weight| weight.secondary));
    key.push(0);
    key.extend(weights.iter().map(|weight| weight.tertiary));
    key
}

/// Weights of ASCII characters, which nearly every selector consists of.
static ASCII_WEIGHTS: LazyLock<Vec<Option<Weight>>> = LazyLock::new(|| {
    let weight = |code: u8| {
        let mut weights = Vec::new();
        push_weights_uncached(char::from(code), &mut weights);
        weights.pop()
    };
    (0..128).map(weight).collect()
});

fn push_weights(ch: char, weights: &mut Vec<Weight>) {
    match ASCII_WEIGHTS.get(ch as usize) {
        Some(weight) => weights.extend(*weight),
        None => push_weights_uncached(ch, weights),
    }
}

fn push_weights_uncached(ch: char, weights: &mut Vec<Weight>) {
    if let Some(weight) = LISTED_WEIGHTS.get(&ch) {
        weights.push(*weight);
        return;
    }
    if let Some((_, long)) = EXPANSIONS.iter().find(|(short, _)| *short == ch) {
        let start = weights.len();
        long.chars().for_each(|ch| push_weights_uncached(ch, weights));
        weights.iter_mut().skip(start).for_each(|weight| weight.tertiary += 2);
        return;
    }
    let mut lowercase = ch.to_lowercase();
    if let (Some(lower), None) = (lowercase.next(), lowercase.next())
        && lower != ch
    {
        let start = weights.len();
        push_weights_uncached(lower, weights);
        weights.iter_mut().skip(start).for_each(|weight| weight.tertiary += 1);
        return;
    }
    weights.extend(default_weight(ch));
}

/// The weight of a character that is not listed; `None` for characters that are ignored.
fn default_weight(ch: char) -> Option<Weight> {
    let code = u32::from(ch);
    let (primary, tertiary) = match code {
        0x00..=0x1f
        | 0x7f..=0x9f
        | 0xad
        | 0x200b..=0x200f
        | 0x202a..=0x202e
        | 0x2060..=0x206f
        | 0xfe00..=0xfe0f
        | 0xfeff => return None,
        0xa0..=0xbf | 0x2000..=0x2bff | 0x3000..=0x303f | 0x1_f000..=0x1_faff => {
            (SYMBOL_WEIGHT_BASE + code, BASE_WEIGHT)
        }
        // Hiragana and Katakana sort as one alphabet, Hiragana first.
        0x30a1..=0x30f6 => (OTHER_WEIGHT_BASE + code - 0x60, BASE_WEIGHT + 1),
        _ => (OTHER_WEIGHT_BASE + code, BASE_WEIGHT),
    };
    Some(Weight { primary, secondary: BASE_WEIGHT, tertiary })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts are given in the expected order.
    fn assert_order(texts: &[&str]) {
        for pair in texts.windows(2) {
            let [before, after] = pair else { continue };
            assert!(collation_key(before) < collation_key(after), "{before:?} comes before {after:?}");
        }
    }

    #[test]
    fn case_is_the_last_tie_breaker() {
        assert_order(&["ready", "Ready", "READY", "rf-142", "RF-142", "rg"]);
        assert_order(&["a b", "a_b", "a-b", "a=b", "a$b", "a1b", "ab", "aB", "abc"]);
    }

    #[test]
    fn accents_break_ties_between_equal_letters() {
        assert_order(&["e", "E", "é", "É", "ea", "éa", "eb"]);
        assert_order(&["ae", "æ", "af"]);
        assert_order(&["ss", "ß", "ẞ", "st"]);
    }

    #[test]
    fn scripts_sort_in_fixed_order() {
        assert_order(&["–", "…", "→", "×", "😀", "£", "€", "1", "z", "α", "Ж", "я", "あ", "ア", "日", "本"]);
    }

    #[test]
    fn zero_width_characters_are_ignored() {
        assert_eq!(collation_key("a\u{200b}b\u{ad}"), collation_key("ab"));
    }
}
