//! Statements over many rows, in a few fixed sizes, so that connections keep them prepared.

/// The sizes in which rows are inserted or looked up together: few, since each is a statement that every connection keeps
/// prepared.
const SIZES: [usize; 3] = [64, 8, 1];

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
    fn parameters_are_numbered() {
        assert_eq!(rows(2, 3, 2, "$1"), "($1, $3, $4), ($1, $5, $6)");
        assert_eq!(rows(1, 1, 2, ""), "($1, $2)");
        assert_eq!(list(3, 2), "$2, $3, $4");
    }
}
