//! The order of texts in a dictionary: letters first by what they are, then by their accents, then small before capital;
//! punctuation before digits before letters. This is the root order of the Unicode collation algorithm (CLDR) for the scripts
//! and signs below; signs that are not listed follow in the order of their code points.
//!
//! Written by hand because the tables of a full implementation weigh more than this whole crate, and what is sorted here are
//! selectors: names, words and the odd sentence.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Spaces, punctuation, symbols and digits, each before the next; `=` joins a sign to the one before it, as a variant.
const SIGNS: &str = "\t\n\u{b}\u{c}\r\u{85}\u{2028}\u{2029} =\u{a0}=\u{2007}=\u{202f}=\u{2009}\
_‗-‐=‑‒–—―,;:!¡?¿‽.·'=‘=’=‚=‛‹›\"=“=”=„=‟«»()[]{}‖§¶@*/\\&#%‰†‡•‣′″※`´^¯¨¸°©®←→↑↓↔⇐⇒⇔∂∈∏∑+±÷×<\u{1}>¬|¦~−⁄√∞≈≡≤≥";

/// The sign that joins variants above, where the sign itself stands in the order.
const EQUALS: char = '\u{1}';

/// Currencies and digits: after all other symbols.
const LATE_SIGNS: &str = "¤¢$£¥€0123456789";

/// Letters: a word is one letter with its accented forms behind it.
const LETTERS: &str = "aªáàăâåäãąā bḃ cćĉčċç dďđð eéèĕêěëẽėęē fḟ ƒ gğĝġģ hĥħ iíìĭîïĩįī ı jĵ kķ lĺľļł mṁ nńǹňñņ ŋ \
oºóòŏôöőõøō pṗ q ĸ rŕřŗ sśŝšşșſ tťţț ŧ uúùŭûůüűũųū v wẃẁŵẅ x yýỳŷÿ zźžż þ \
αά β γ δ εέ ζ ηή θ ιίϊΐ κ λ μµ ν ξ οό π ρ σς τ υύϋΰ φ χ ψ ωώ \
а б в гѓґ д ђ еѐё є ж з ѕ иѝ ії й ј кќ л љ м н њ о п р с т ћ уў ф х ц ч џ ш щ ъ ы ь э ю я";

/// Signs that stand for several.
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

/// Room for the signs that are listed; symbols that are not come behind them, before currencies.
const SYMBOLS_FROM: u32 = 0x1000;
const LATE_FROM: u32 = 0x20_0000;
const LETTERS_FROM: u32 = 0x20_1000;
const OTHERS_FROM: u32 = 0x40_0000;

/// What a sign weighs: what it is, its accent, its case. Larger comes later.
#[derive(Clone, Copy)]
struct Weight {
    primary: u32,
    secondary: u32,
    tertiary: u32,
}

const PLAIN: u32 = 1;

static LISTED: LazyLock<HashMap<char, Weight>> = LazyLock::new(|| {
    let mut listed = HashMap::new();
    list_signs(SIGNS, 1, &mut listed);
    list_signs(LATE_SIGNS, LATE_FROM, &mut listed);
    for (place, letters) in (LETTERS_FROM..).zip(LETTERS.split(' ')) {
        for (accent, letter) in (PLAIN..).zip(letters.chars()) {
            listed.insert(letter, Weight { primary: place, secondary: accent, tertiary: PLAIN });
        }
    }
    listed
});

fn list_signs(signs: &str, from: u32, listed: &mut HashMap<char, Weight>) {
    let (mut primary, mut secondary) = (from, PLAIN);
    let mut is_variant = false;
    for sign in signs.chars() {
        if sign == '=' {
            is_variant = true;
            continue;
        }
        (primary, secondary) = if is_variant { (primary, secondary + 1) } else { (primary + 1, PLAIN) };
        is_variant = false;
        let sign = if sign == EQUALS { '=' } else { sign };
        listed.insert(sign, Weight { primary, secondary, tertiary: PLAIN });
    }
}

/// A key that puts texts in order when keys are compared number by number.
pub fn sort_key(text: &str) -> Vec<u32> {
    let mut weights = Vec::with_capacity(text.len());
    text.chars().for_each(|sign| weigh(sign, &mut weights));
    let mut key = Vec::with_capacity(weights.len() * 3 + 2);
    key.extend(weights.iter().map(|weight| weight.primary));
    key.push(0);
    key.extend(weights.iter().map(|weight| weight.secondary));
    key.push(0);
    key.extend(weights.iter().map(|weight| weight.tertiary));
    key
}

/// Weights of the signs that nearly every selector is made of.
static ASCII: LazyLock<Vec<Option<Weight>>> = LazyLock::new(|| {
    let weight = |code: u8| {
        let mut weights = Vec::new();
        weigh_any(char::from(code), &mut weights);
        weights.pop()
    };
    (0..128).map(weight).collect()
});

fn weigh(sign: char, out: &mut Vec<Weight>) {
    match ASCII.get(sign as usize) {
        Some(weight) => out.extend(*weight),
        None => weigh_any(sign, out),
    }
}

fn weigh_any(sign: char, out: &mut Vec<Weight>) {
    if let Some(weight) = LISTED.get(&sign) {
        out.push(*weight);
        return;
    }
    if let Some((_, long)) = EXPANSIONS.iter().find(|(short, _)| *short == sign) {
        let start = out.len();
        long.chars().for_each(|sign| weigh_any(sign, out));
        out.iter_mut().skip(start).for_each(|weight| weight.tertiary += 2);
        return;
    }
    let mut small = sign.to_lowercase();
    if let (Some(small), None) = (small.next(), small.next())
        && small != sign
    {
        let start = out.len();
        weigh_any(small, out);
        out.iter_mut().skip(start).for_each(|weight| weight.tertiary += 1);
        return;
    }
    out.extend(unlisted(sign));
}

/// The weight of a sign that is in no list; none for those that do not count at all.
fn unlisted(sign: char) -> Option<Weight> {
    let code = u32::from(sign);
    let (primary, tertiary) = match code {
        0x00..=0x1f
        | 0x7f..=0x9f
        | 0xad
        | 0x200b..=0x200f
        | 0x202a..=0x202e
        | 0x2060..=0x206f
        | 0xfe00..=0xfe0f
        | 0xfeff => return None,
        0xa0..=0xbf | 0x2000..=0x2bff | 0x3000..=0x303f | 0x1_f000..=0x1_faff => (SYMBOLS_FROM + code, PLAIN),
        // The two Japanese syllabaries are one alphabet, written roundly first.
        0x30a1..=0x30f6 => (OTHERS_FROM + code - 0x60, PLAIN + 1),
        _ => (OTHERS_FROM + code, PLAIN),
    };
    Some(Weight { primary, secondary: PLAIN, tertiary })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts are given in the order that they must have.
    fn check(texts: &[&str]) {
        for pair in texts.windows(2) {
            let [before, after] = pair else { continue };
            assert!(sort_key(before) < sort_key(after), "{before:?} comes before {after:?}");
        }
    }

    #[test]
    fn case_decides_last() {
        check(&["ready", "Ready", "READY", "rf-142", "RF-142", "rg"]);
        check(&["a b", "a_b", "a-b", "a=b", "a$b", "a1b", "ab", "aB", "abc"]);
    }

    #[test]
    fn accents_decide_when_the_letters_are_the_same() {
        check(&["e", "E", "é", "É", "ea", "éa", "eb"]);
        check(&["ae", "æ", "af"]);
        check(&["ss", "ß", "ẞ", "st"]);
    }

    #[test]
    fn scripts_stand_one_after_another() {
        check(&["–", "…", "→", "×", "😀", "£", "€", "1", "z", "α", "Ж", "я", "あ", "ア", "日", "本"]);
    }

    #[test]
    fn signs_without_a_shape_do_not_count() {
        assert_eq!(sort_key("a\u{200b}b\u{ad}"), sort_key("ab"));
    }
}
