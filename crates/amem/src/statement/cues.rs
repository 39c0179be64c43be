//! The words that change what a sentence says, and those that say nothing alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::STEMMER;

/// The numbers that are written as words; the position is the value.
pub(super) const NUMBER_WORDS: [&str; 13] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
];

/// First words of a sentence that goes on about the one before.
pub(super) const REFERRING: [&str; 11] =
    ["it", "its", "they", "their", "he", "she", "his", "her", "these", "those", "both"];

/// Negations of the whole clause.
const NEGATIONS: [&str; 24] = [
    "not", "never", "cannot", "dont", "doesnt", "didnt", "isnt", "arent", "wasnt", "wont", "cant", "hardly",
    "barely", "rarely", "seldom", "nicht", "nie", "niemals", "pas", "jamais", "nunca", "niet", "tampoco",
    "non",
];

/// Negations of what follows them.
const FORWARD_NEGATIONS: [&str; 16] = [
    "no", "none", "nobody", "nothing", "nowhere", "neither", "nor", "kein", "keine", "keinen", "keiner",
    "keinem", "aucun", "aucune", "geen", "ningún",
];

/// Negations of the nouns after them: up to a comma, a preposition or a verb.
const NOUN_NEGATIONS: [&str; 11] = [
    "without",
    "except",
    "excluding",
    "excepting",
    "unlike",
    "lacking",
    "ohne",
    "statt",
    "sans",
    "zonder",
    "anstatt",
];

/// Two words that negate the nouns after them.
const NOUN_NEGATION_PAIRS: [(&str, &str); 13] = [
    ("instead", "of"),
    ("rather", "than"),
    ("opposed", "to"),
    ("other", "than"),
    ("apart", "from"),
    ("aside", "from"),
    ("away", "from"),
    ("off", "of"),
    ("lieu", "of"),
    ("place", "of"),
    ("rid", "of"),
    ("lieu", "de"),
    ("plutôt", "que"),
];

/// Verbs and adjectives that say that something is not, or no longer, so. They apply to the whole clause.
static NEGATIVE_STEMS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    stems_of(&[
        "stop",
        "cease",
        "quit",
        "drop",
        "remove",
        "abandon",
        "avoid",
        "reject",
        "refuse",
        "deny",
        "forbid",
        "forbidden",
        "forbade",
        "prohibit",
        "ban",
        "deprecate",
        "retire",
        "discard",
        "decline",
        "cancel",
        "skip",
        "fail",
        "prevent",
        "delete",
        "revert",
        "revoke",
        "discontinue",
        "decommission",
        "exclude",
        "ditch",
        "dismiss",
        "forget",
        "forgot",
        "forgotten",
        "lack",
        "unable",
        "impossible",
        "false",
        "wrong",
        "untrue",
        "incorrect",
        "mistaken",
        "myth",
        "obsolete",
        "outdated",
        "former",
        "formerly",
        "previously",
        "rule",
        "phase",
        "eliminate",
        "withdraw",
        "withdrew",
        "withdrawn",
        "veto",
        "unlikely",
        "refute",
        "disprove",
    ])
});

/// Negative stems that need a second word: "ruled out", "phased out".
const WITH_OUT: [&str; 2] = ["rule", "phase"];

/// Words that make a clause a possibility, a plan or a memory.
static HEDGE_STEMS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    stems_of(&[
        "maybe",
        "perhaps",
        "might",
        "may",
        "could",
        "would",
        "should",
        "possibly",
        "probably",
        "plan",
        "consider",
        "evaluate",
        "propose",
        "want",
        "hope",
        "wish",
        "intend",
        "unsure",
        "unclear",
        "uncertain",
        "suppose",
        "assume",
        "suggest",
        "discuss",
        "debate",
        "almost",
        "nearly",
        "few",
        "until",
        "till",
        "bis",
        "hypothetically",
        "todo",
        "tbd",
        "vielleicht",
        "peut",
    ])
});

/// Words that make what follows them, up to a comma, a condition.
pub(super) const CONDITIONS: [&str; 7] = ["if", "unless", "whether", "falls", "wenn", "si", "lest"];

/// Verbs and nouns after which `from … to` names what was before.
static CHANGE_STEMS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    stems_of(&[
        "move",
        "migrate",
        "migration",
        "switch",
        "change",
        "convert",
        "upgrade",
        "downgrade",
        "go",
        "went",
        "port",
        "transition",
        "rename",
        "raise",
        "rise",
        "rose",
        "lower",
        "increase",
        "decrease",
        "reduce",
        "bump",
        "grow",
        "grew",
        "drop",
        "fall",
        "fell",
        "cut",
        "update",
        "correct",
        "extend",
        "shorten",
        "postpone",
        "reschedule",
        "shift",
        "relocate",
        "swap",
        "jump",
    ])
});

/// Verbs whose object is what was before.
static REPLACE_STEMS: LazyLock<BTreeSet<String>> =
    LazyLock::new(|| stems_of(&["replace", "supersede", "supplant", "substitute"]));

/// Verbs after which `against` names what was not chosen.
static DECISION_STEMS: LazyLock<BTreeSet<String>> =
    LazyLock::new(|| stems_of(&["decide", "vote", "argue", "advise", "opt", "speak", "spoke", "recommend"]));

/// Verbs after which `over` names what was not chosen.
static PREFER_STEMS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    stems_of(&["prefer", "choose", "chose", "chosen", "pick", "select", "favor", "favour", "recommend"])
});

/// Words that begin a new clause.
pub(super) const CLAUSE_WORDS: [&str; 18] = [
    "but",
    "however",
    "although",
    "though",
    "whereas",
    "while",
    "because",
    "yet",
    "only",
    "just",
    "instead",
    "sondern",
    "aber",
    "mais",
    "pero",
    "sino",
    "since",
    "therefore",
];

/// Subjects that begin a new clause after a comma or a conjunction.
pub(super) const SUBJECTS: [&str; 17] = [
    "we", "i", "you", "they", "he", "she", "it", "this", "that", "there", "these", "those", "everyone",
    "one", "which", "who", "where",
];

/// First words of a subordinate clause or a phrase that a comma ends.
pub(super) const OPENERS: [&str; 20] = [
    "if", "unless", "whether", "when", "while", "because", "since", "although", "though", "instead",
    "unlike", "without", "until", "once", "as", "after", "before", "in", "on", "for",
];

/// Words before a `but` that makes an exception: "every day but Friday".
pub(super) const QUANTIFIERS: [&str; 10] = [
    "every",
    "everyone",
    "everybody",
    "everything",
    "everywhere",
    "all",
    "any",
    "anyone",
    "anything",
    "each",
];

pub(super) const CONJUNCTIONS: [&str; 6] = ["and", "or", "so", "then", "und", "et"];

/// Forms of the verbs that carry a negation or make a clause finite.
pub(super) const AUXILIARIES: [&str; 26] = [
    "is", "are", "was", "were", "be", "been", "being", "am", "do", "does", "did", "has", "have", "had",
    "having", "will", "would", "can", "could", "shall", "should", "must", "may", "might", "ist", "to",
];

/// Forms of "be" and "get" before a passive.
pub(super) const PASSIVE: [&str; 10] =
    ["is", "are", "was", "were", "be", "been", "being", "get", "gets", "got"];

/// Prepositions and verbs that end the nouns of a contrast.
pub(super) const NOUN_ENDS: [&str; 24] = [
    "for", "in", "on", "at", "as", "since", "because", "when", "by", "during", "until", "via", "through",
    "while", "is", "are", "was", "were", "has", "have", "will", "if", "after", "before",
];

/// Words that put what follows on the other side of a comparison.
pub(super) const PIVOTS: [&str; 3] = ["than", "before", "after"];

/// Pairs of which one denies the other.
const OPPOSITES: [(&str, &str); 55] = [
    ("enable", "disable"),
    ("enabled", "disabled"),
    ("allow", "forbid"),
    ("allow", "deny"),
    ("allow", "block"),
    ("permit", "forbid"),
    ("accept", "reject"),
    ("open", "closed"),
    ("open", "close"),
    ("on", "off"),
    ("up", "down"),
    ("true", "false"),
    ("right", "wrong"),
    ("correct", "wrong"),
    ("success", "failure"),
    ("succeed", "fail"),
    ("pass", "fail"),
    ("before", "after"),
    ("more", "less"),
    ("more", "fewer"),
    ("increase", "decrease"),
    ("raise", "lower"),
    ("maximum", "minimum"),
    ("max", "min"),
    ("synchronous", "asynchronous"),
    ("sync", "async"),
    ("public", "private"),
    ("start", "stop"),
    ("start", "end"),
    ("always", "never"),
    ("same", "different"),
    ("required", "optional"),
    ("mandatory", "optional"),
    ("high", "low"),
    ("fast", "slow"),
    ("safe", "dangerous"),
    ("love", "hate"),
    ("like", "dislike"),
    ("buy", "sell"),
    ("with", "without"),
    ("secure", "insecure"),
    ("active", "inactive"),
    ("activate", "deactivate"),
    ("valid", "invalid"),
    ("complete", "incomplete"),
    ("correct", "incorrect"),
    ("possible", "impossible"),
    ("legal", "illegal"),
    ("agree", "disagree"),
    ("connect", "disconnect"),
    ("encrypt", "decrypt"),
    ("visible", "invisible"),
    ("least", "most"),
    ("consistent", "inconsistent"),
    ("compatible", "incompatible"),
];

/// Prefixes that turn a word into its opposite.
const OPPOSITE_PREFIXES: [&str; 2] = ["un", "non"];

/// The opposites of each stem.
static OPPOSITES_BY_STEM: LazyLock<BTreeMap<String, BTreeSet<String>>> = LazyLock::new(|| {
    let mut by_stem: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (a, b) in OPPOSITES.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]) {
        by_stem.entry(super::stem(a)).or_default().insert(super::stem(b));
    }
    by_stem
});

/// Words that every sentence may have or lack.
static FUNCTION_WORDS: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
    let words = [
        "a",
        "an",
        "the",
        "this",
        "that",
        "these",
        "those",
        "there",
        "here",
        "i",
        "me",
        "my",
        "we",
        "us",
        "our",
        "you",
        "your",
        "he",
        "him",
        "his",
        "she",
        "her",
        "it",
        "its",
        "they",
        "them",
        "their",
        "one",
        "who",
        "whom",
        "which",
        "what",
        "where",
        "how",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "being",
        "am",
        "do",
        "does",
        "did",
        "has",
        "have",
        "had",
        "having",
        "will",
        "shall",
        "to",
        "of",
        "in",
        "on",
        "at",
        "for",
        "by",
        "with",
        "from",
        "into",
        "as",
        "and",
        "or",
        "so",
        "then",
        "about",
        "also",
        "too",
        "very",
        "really",
        "actually",
        "currently",
        "now",
        "just",
        "still",
        "already",
        "please",
        "if",
        "when",
        "any",
        "some",
        "both",
        "such",
        "am",
        "get",
        "gets",
        "got",
        "yes",
        "per",
    ];
    words.into_iter().collect()
});

/// Forms that the stemmer does not join.
const IRREGULAR: [(&str, &str); 26] = [
    ("ran", "run"),
    ("chose", "choos"),
    ("chosen", "choos"),
    ("wrote", "write"),
    ("written", "write"),
    ("built", "build"),
    ("sent", "send"),
    ("kept", "keep"),
    ("made", "make"),
    ("took", "take"),
    ("taken", "take"),
    ("gave", "give"),
    ("given", "give"),
    ("went", "go"),
    ("gone", "go"),
    ("goes", "go"),
    ("held", "hold"),
    ("met", "meet"),
    ("paid", "pay"),
    ("sold", "sell"),
    ("bought", "buy"),
    ("told", "tell"),
    ("began", "begin"),
    ("begun", "begin"),
    ("left", "leav"),
    ("lives", "live"),
];

/// The stem of an irregular form.
pub(super) fn irregular(word: &str) -> Option<&'static str> {
    IRREGULAR.iter().find(|(form, _)| *form == word).map(|(_, stem)| *stem)
}

fn stems_of(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| STEMMER.stem(word).into_owned()).collect()
}

/// A word without meaning of its own for a claim: it need not be found.
pub(super) fn is_function_word(word: &str) -> bool {
    FUNCTION_WORDS.contains(word) || is_negation(word) || CLAUSE_WORDS.contains(&word)
}

/// A negation that is no word of the statement itself.
pub(super) fn is_negation(word: &str) -> bool {
    NEGATIONS.contains(&word) || FORWARD_NEGATIONS.contains(&word) || word.ends_with("n't")
}

/// A negation of the whole clause.
pub(super) fn is_clause_negation(word: &str) -> bool {
    NEGATIONS.contains(&word) || word.ends_with("n't")
}

pub(super) fn is_forward_negation(word: &str) -> bool {
    FORWARD_NEGATIONS.contains(&word)
}

/// Whether a contrast begins here; the number of its words.
pub(super) fn noun_negation(word: &str, next: Option<&str>) -> Option<usize> {
    if NOUN_NEGATIONS.contains(&word) {
        return Some(1);
    }
    NOUN_NEGATION_PAIRS.iter().any(|(first, second)| *first == word && next == Some(second)).then_some(2)
}

/// A word that says that its clause is not so.
pub(super) fn is_negative(stem: &str, next: Option<&str>) -> bool {
    NEGATIVE_STEMS.contains(stem) && (!WITH_OUT.contains(&stem) || next == Some("out"))
}

pub(super) fn is_hedge(stem: &str) -> bool {
    HEDGE_STEMS.contains(stem)
}

pub(super) fn is_change(stem: &str) -> bool {
    CHANGE_STEMS.contains(stem)
}

pub(super) fn is_replacement(stem: &str) -> bool {
    REPLACE_STEMS.contains(stem)
}

pub(super) fn is_preference(stem: &str) -> bool {
    PREFER_STEMS.contains(stem)
}

pub(super) fn is_decision(stem: &str) -> bool {
    DECISION_STEMS.contains(stem)
}

/// The stems that deny a stem.
pub(super) fn opposites(stem: &str) -> Vec<String> {
    let listed = OPPOSITES_BY_STEM.get(stem).into_iter().flatten().cloned();
    let prefixed =
        OPPOSITE_PREFIXES.iter().filter(|_| stem.len() >= 3).map(|prefix| format!("{prefix}{stem}"));
    let stripped = OPPOSITE_PREFIXES.iter().filter_map(|prefix| stem.strip_prefix(prefix));
    let stripped = stripped.filter(|rest| rest.len() >= 3).map(str::to_owned);
    listed.chain(prefixed).chain(stripped).collect()
}
