//! Adapts [`WordScanner`] to the tokenizer trait of the index library.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use super::limits::WORD_BYTES;
use super::words::WordScanner;

/// A tokenizer for words.
#[derive(Clone)]
pub(crate) struct WordTokenizer;

impl Tokenizer for WordTokenizer {
    type TokenStream<'a> = WordTokenStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordTokenStream<'a> {
        WordTokenStream {
            words: WordScanner::new(text),
            token: Token { position: usize::MAX, ..Token::default() },
        }
    }
}

/// The words of one text. Words that are too long to be searched for are left out but keep their position.
pub(crate) struct WordTokenStream<'a> {
    words: WordScanner<'a>,
    token: Token,
}

impl TokenStream for WordTokenStream<'_> {
    fn advance(&mut self) -> bool {
        while self.words.advance() {
            self.token.position = self.token.position.wrapping_add(1);
            if self.words.word().len() > WORD_BYTES {
                continue;
            }
            self.token.text.clear();
            self.token.text.push_str(self.words.word());
            let span = self.words.span();
            (self.token.offset_from, self.token.offset_to) = (span.start, span.end);
            return true;
        }
        false
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}
