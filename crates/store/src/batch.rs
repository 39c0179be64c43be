//! Statements over many rows, in a few fixed sizes, so that connections keep them prepared.

use std::borrow::Cow;
use std::sync::OnceLock;

/// The sizes in which rows are inserted or looked up together: few, since each is a statement that every connection keeps
/// prepared.
pub(crate) const SIZES: [usize; 3] = [64, 8, 1];

/// One statement over many rows: its text for each size, put together once.
pub struct Texts {
    make: fn(usize) -> String,
    made: [OnceLock<String>; SIZES.len()],
}

impl Texts {
    /// A statement whose text for a number of rows is made by `make`.
    pub const fn new(make: fn(usize) -> String) -> Texts {
        Texts { make, made: [const { OnceLock::new() }; SIZES.len()] }
    }

    /// Its text for so many rows, usually those of a [piece](pieces).
    pub fn of(&self, rows: usize) -> Cow<'_, str> {
        match SIZES.iter().position(|size| *size == rows) {
            Some(place) => Cow::Borrowed(self.made[place].get_or_init(|| (self.make)(rows))),
            None => Cow::Owned((self.make)(rows)),
        }
    }
}

/// Cuts `items` into pieces of those sizes, the largest first.
pub fn pieces<T>(items: &[T]) -> impl Iterator<Item = &[T]> {
    let mut rest = items;
    std::iter::from_fn(move || {
        let size = SIZES.into_iter().find(|size| *size <= rest.len())?;
        let (piece, after) = rest.split_at(size);
        rest = after;
        Some(piece)
    })
}

/// `($3, $4), ($5, $6)`: a list of rows of `width` parameters, of which `fixed` come from the beginning and are shared.
pub fn rows(rows: usize, first: usize, width: usize, shared: &str) -> String {
    let mut text = String::with_capacity(rows * (width * 6 + shared.len() + 4));
    for row in 0..rows {
        text.push_str(if row == 0 { "(" } else { ", (" });
        text.push_str(shared);
        for column in 0..width {
            if column > 0 || !shared.is_empty() {
                text.push_str(", ");
            }
            text.push('$');
            text.push_str(&(first + row * width + column).to_string());
        }
        text.push(')');
    }
    text
}

/// `$3, $4, $5`: so many parameters, from number `first` on.
pub fn list(count: usize, first: usize) -> String {
    (first..first + count).map(|number| format!("${number}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_in_one_piece() {
        for count in [0, 1, 7, 8, 9, 63, 64, 65, 200] {
            let items: Vec<usize> = (0..count).collect();
            let joined: Vec<usize> = pieces(&items).flatten().copied().collect();
            assert_eq!(joined, items);
            assert!(pieces(&items).all(|piece| SIZES.contains(&piece.len())));
        }
    }

    #[test]
    fn a_text_is_that_of_its_number_of_rows() {
        static TEXTS: Texts = Texts::new(|count| rows(count, 1, 1, ""));
        for count in [1, 2, 8, 1] {
            assert_eq!(TEXTS.of(count), rows(count, 1, 1, ""));
        }
    }

    #[test]
    fn parameters_are_numbered() {
        assert_eq!(rows(2, 3, 2, "$1"), "($1, $3, $4), ($1, $5, $6)");
        assert_eq!(rows(1, 1, 2, ""), "($1, $2)");
        assert_eq!(list(3, 2), "$2, $3, $4");
    }
}
