//! A query as a question: each word stands for all its forms, function words of its language are left out. A word that
//! no memory has stands for the words that are spelled like it.
//!
//! The index has words as they are written. A word's forms are found in its dictionary when the question is asked,
//! so the index depends on no language and is the same as for a search by words.

use std::collections::{BTreeMap, BTreeSet};

use quad_core::Result;

use super::docs::DocSnapshot;
use super::index::IndexError;
use super::language::{Language, WordStemmer};
use super::limits::{FORMS_PER_WORD, QUESTION_CLAUSES};
use super::query::{Clause, Query};
use super::spelling::SimilarWords;
use super::text_index::TextView;
use super::words;

/// A part of a question: a word, a phrase or a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// As the caller wrote it, in the query language.
    pub text: String,
    /// Its clauses in the expanded query; a word has one for each of its forms.
    pub clauses: std::ops::Range<usize>,
}

/// A question with the forms that its words have in the memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    query: Query,
    parts: Vec<Part>,
}

/// A question before the forms of its words are known.
pub(crate) struct ParsedQuestion {
    query: Query,
    /// The clauses that are not function words of the question's language.
    clauses: Vec<Clause>,
    stemmer: WordStemmer,
}

impl ParsedQuestion {
    /// Parses a question. It is a query of text search; only a function word of another language than English means
    /// less here.
    pub fn parse(text: &str) -> Result<ParsedQuestion> {
        let query = Query::parse(text)?;
        let language = Language::detect(&words::collect_words(text));
        let is_stop_word = |clause: &Clause| {
            matches!(clause, Clause::Word(_)) && language.is_stop_word(&query.clause_text(clause))
        };
        let mut clauses: Vec<Clause> =
            query.clauses().iter().filter(|clause| !is_stop_word(clause)).cloned().collect();
        if clauses.is_empty() {
            clauses = query.clauses().to_vec();
        }
        Ok(ParsedQuestion { query, clauses, stemmer: language.stemmer() })
    }

    /// Finds the forms of each word in the memory.
    pub fn expand(
        &self,
        view: &TextView,
        snapshot: &mut dyn DocSnapshot,
    ) -> Result<std::result::Result<Question, IndexError>> {
        let mut forms = FormCollector::new(self);
        let prefixes = forms.prefixes.clone();
        if let Err(damage) = view.words_with_prefixes(snapshot, &prefixes, &mut |word| forms.add(word))? {
            return Ok(Err(damage));
        }
        let mut similar = SimilarWords::new(forms.unknown_words());
        let prefixes = similar.prefixes();
        if !prefixes.is_empty()
            && let Err(damage) =
                view.words_with_prefixes(snapshot, &prefixes, &mut |word| similar.add(word))?
        {
            return Ok(Err(damage));
        }
        for (word, words) in similar.into_similar() {
            forms.add_similar(&word, words);
        }
        Ok(Ok(self.with_forms(&forms.forms_of)))
    }

    fn with_forms(&self, forms_of: &BTreeMap<String, BTreeSet<String>>) -> Question {
        let mut expanded = Query::default();
        let mut parts: Vec<Part> = Vec::with_capacity(self.clauses.len());
        let mut seen_stems = BTreeSet::new();
        let max_forms = (QUESTION_CLAUSES / self.clauses.len().max(1)).clamp(1, FORMS_PER_WORD);
        for clause in &self.clauses {
            let text = self.query.clause_text(clause);
            let clauses = if let Clause::Word(_) = clause {
                let stem = self.stemmer.stem(&text).into_owned();
                let mut forms = vec![text.clone()];
                if let Some(found) = forms_of.get(&stem) {
                    let mut others: Vec<&String> = found.iter().filter(|form| **form != text).collect();
                    // Short forms are the common ones.
                    others.sort_by_key(|form| (form.len(), *form));
                    forms.extend(others.into_iter().take(max_forms - 1).cloned());
                }
                if !seen_stems.insert(stem) {
                    continue;
                }
                expanded.add_forms(&forms)
            } else {
                let position = expanded.add_clause_of(&self.query, clause);
                position..position + 1
            };
            parts.push(Part { text, clauses });
        }
        Question { query: expanded, parts }
    }
}

/// Collects the words of the memory that have the stem of a word of the question.
struct FormCollector<'a> {
    stemmer: &'a WordStemmer,
    words: Vec<String>,
    prefixes: Vec<String>,
    forms_of: BTreeMap<String, BTreeSet<String>>,
}

impl<'a> FormCollector<'a> {
    fn new(question: &'a ParsedQuestion) -> FormCollector<'a> {
        let (mut prefixes, mut forms_of, mut words) = (BTreeSet::new(), BTreeMap::new(), Vec::new());
        for clause in question.clauses.iter().filter(|clause| matches!(clause, Clause::Word(_))) {
            let word = question.query.clause_text(clause);
            if let Some(prefix) = question.stemmer.common_prefix(&word) {
                prefixes.insert(prefix.to_owned());
                forms_of.insert(question.stemmer.stem(&word).into_owned(), BTreeSet::new());
                words.push(word);
            }
        }
        FormCollector { stemmer: &question.stemmer, words, prefixes: without_extensions(prefixes), forms_of }
    }

    /// The words of the question of which the memory has no form.
    fn unknown_words(&self) -> impl Iterator<Item = &str> {
        let is_unknown = |word: &&String| {
            self.forms_of.get(self.stemmer.stem(word).as_ref()).is_some_and(BTreeSet::is_empty)
        };
        self.words.iter().filter(is_unknown).map(String::as_str)
    }

    /// Adds words that stand for an unknown word.
    fn add_similar(&mut self, unknown: &str, words: BTreeSet<String>) {
        if let Some(forms) = self.forms_of.get_mut(self.stemmer.stem(unknown).as_ref()) {
            forms.extend(words);
        }
    }

    fn add(&mut self, word: &str) {
        if let Some(forms) = self.forms_of.get_mut(self.stemmer.stem(word).as_ref())
            && !forms.contains(word)
        {
            forms.insert(word.to_owned());
        }
    }
}

/// The prefixes without those that begin with another one, so that no word is visited twice.
fn without_extensions(sorted: BTreeSet<String>) -> Vec<String> {
    let mut shortest: Vec<String> = Vec::new();
    for prefix in sorted {
        if !shortest.last().is_some_and(|shorter| prefix.starts_with(shorter.as_str())) {
            shortest.push(prefix);
        }
    }
    shortest
}

impl Question {
    /// The query with a clause for each form.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// Its words, phrases and prefixes.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The texts of the parts of which any clause is matched.
    pub fn matched_parts(&self, is_matched: impl Fn(usize) -> bool) -> Vec<String> {
        let matched = self.parts.iter().filter(|part| part.clauses.clone().any(&is_matched));
        matched.map(|part| part.text.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(text: &str, vocabulary: &[&str]) -> Vec<(String, Vec<String>)> {
        let parsed = ParsedQuestion::parse(text).unwrap();
        let mut forms = FormCollector::new(&parsed);
        vocabulary.iter().for_each(|word| forms.add(word));
        let question = parsed.with_forms(&forms.forms_of);
        let clause_text = |clause: usize| question.query.clause_text(&question.query.clauses()[clause]);
        question
            .parts
            .iter()
            .map(|part| (part.text.clone(), part.clauses.clone().map(clause_text).collect()))
            .collect()
    }

    fn part(text: &str, clauses: &[&str]) -> (String, Vec<String>) {
        (text.to_owned(), clauses.iter().map(|&clause| clause.to_owned()).collect())
    }

    #[test]
    fn words_stand_for_their_forms() {
        let vocabulary = ["painting", "paints", "painted", "pain", "panting", "colors", "color"];
        assert_eq!(
            expand("What colors did she paint?", &vocabulary),
            [
                part("colors", &["colors", "color"]),
                part("paint", &["paint", "paints", "painted", "painting"])
            ]
        );
    }

    #[test]
    fn phrases_and_prefixes_stay_as_written() {
        assert_eq!(
            expand(r#""rate limits" conf* limiting"#, &["limit", "limits", "rates", "configured"]),
            [
                part("\"rate limits\"", &["\"rate limits\""]),
                part("conf*", &["conf*"]),
                part("limiting", &["limiting", "limit", "limits"])
            ]
        );
    }

    #[test]
    fn forms_of_one_word_are_one_part() {
        assert_eq!(expand("limits limit", &["limited"]), [part("limits", &["limits", "limited"])]);
    }

    #[test]
    fn function_words_of_other_languages_are_left_out() {
        assert_eq!(
            expand("Wann war das letzte Treffen mit der Gruppe?", &["gruppen", "mit"]),
            [
                part("wann", &["wann"]),
                part("letzte", &["letzte"]),
                part("treffen", &["treffen"]),
                part("gruppe", &["gruppe", "gruppen"])
            ]
        );
        assert_eq!(expand("mit der", &[]).len(), 2);
    }

    #[test]
    fn number_of_clauses_is_limited() {
        let text: Vec<String> = (0..60).map(|number| format!("limit{number}")).collect();
        let vocabulary: Vec<String> = text
            .iter()
            .flat_map(|word| {
                [
                    format!("{word}s"),
                    format!("{word}ed"),
                    format!("{word}ing"),
                    format!("{word}ly"),
                    format!("{word}es"),
                ]
            })
            .collect();
        let vocabulary: Vec<&str> = vocabulary.iter().map(String::as_str).collect();
        let clauses: usize =
            expand(&text.join(" "), &vocabulary).iter().map(|(_, clauses)| clauses.len()).sum();
        assert!(clauses <= QUESTION_CLAUSES, "{clauses}");
    }

    #[test]
    fn prefixes_do_not_overlap() {
        let prefixes = ["con", "conf", "confi", "cor", "da"].map(str::to_owned);
        assert_eq!(without_extensions(BTreeSet::from(prefixes)), ["con", "cor", "da"]);
    }
}
