//! Statements over many rows, in three fixed sizes, so that connections can keep them prepared.

use std::borrow::Cow;
use std::sync::OnceLock;

/// The numbers of rows that one statement inserts or looks up. Few, since every connection keeps one prepared
/// statement per size.
pub(crate) const SIZES: [usize; 3] = [64, 8, 1];

/// A statement over many rows. Its text is built once per size.
pub struct BatchStatement {
    build: fn(usize) -> String,
    sql_by_size: [OnceLock<String>; SIZES.len()],
}

impl BatchStatement {
    /// `build` returns the text for a number of rows.
    pub const fn new(build: fn(usize) -> String) -> BatchStatement {
        BatchStatement { build, sql_by_size: [const { OnceLock::new() }; SIZES.len()] }
    }

    /// The text for this many rows, usually the length of one of the [`chunks`].
    pub fn for_row_count(&self, row_count: usize) -> Cow<'_, str> {
        match SIZES.iter().position(|size| *size == row_count) {
            Some(index) => Cow::Borrowed(self.sql_by_size[index].get_or_init(|| (self.build)(row_count))),
            None => Cow::Owned((self.build)(row_count)),
        }
    }
}

/// Splits `items` into chunks of 64, 8 and 1, largest first.
pub fn chunks<T>(items: &[T]) -> impl Iterator<Item = &[T]> {
    let mut remaining = items;
    std::iter::from_fn(move || {
        let size = SIZES.into_iter().find(|size| *size <= remaining.len())?;
        let (chunk, tail) = remaining.split_at(size);
        remaining = tail;
        Some(chunk)
    })
}

/// A `VALUES` list such as `($1, $3, $4), ($1, $5, $6)`: each row has the `shared` text (here `$1`), then `width`
/// parameters of its own, numbered from `first_param`.
pub fn values_placeholders(row_count: usize, first_param: usize, width: usize, shared: &str) -> String {
    let mut sql = String::with_capacity(row_count * (width * 6 + shared.len() + 4));
    for row in 0..row_count {
        sql.push_str(if row == 0 { "(" } else { ", (" });
        sql.push_str(shared);
        for column in 0..width {
            if column > 0 || !shared.is_empty() {
                sql.push_str(", ");
            }
            sql.push('$');
            sql.push_str(&(first_param + row * width + column).to_string());
        }
        sql.push(')');
    }
    sql
}

/// A parameter list such as `$3, $4, $5`: `count` parameters from `first_param` on.
pub fn placeholders(count: usize, first_param: usize) -> String {
    (first_param..first_param + count).map(|index| format!("${index}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_every_item_once() {
        for count in [0, 1, 7, 8, 9, 63, 64, 65, 200] {
            let items: Vec<usize> = (0..count).collect();
            let joined: Vec<usize> = chunks(&items).flatten().copied().collect();
            assert_eq!(joined, items);
            assert!(chunks(&items).all(|piece| SIZES.contains(&piece.len())));
        }
    }

    #[test]
    fn sql_matches_the_row_count() {
        static STATEMENT: BatchStatement = BatchStatement::new(|count| values_placeholders(count, 1, 1, ""));
        for count in [1, 2, 8, 1] {
            assert_eq!(STATEMENT.for_row_count(count), values_placeholders(count, 1, 1, ""));
        }
    }

    #[test]
    fn parameters_are_numbered() {
        assert_eq!(values_placeholders(2, 3, 2, "$1"), "($1, $3, $4), ($1, $5, $6)");
        assert_eq!(values_placeholders(1, 1, 2, ""), "($1, $2)");
        assert_eq!(placeholders(3, 2), "$2, $3, $4");
    }
}
