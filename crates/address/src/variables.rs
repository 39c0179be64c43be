//! Variables: names with their decoded values, in order.
//!
//! A template has only a few, so this is a list with linear search, not a map.

/// Names with decoded values, in order. Each name occurs once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Variables {
    pairs: Vec<(String, String)>,
}

impl Variables {
    /// No variables.
    pub fn new() -> Variables {
        Variables::default()
    }

    /// The decoded value of `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// Sets the value of `name`. An existing name keeps its position.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<String>) {
        let (name, value) = (name.into(), value.into());
        match self.pairs.iter_mut().find(|(key, _)| *key == name) {
            Some(pair) => pair.1 = value,
            None => self.pairs.push((name, value)),
        }
    }

    /// The names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The number of variables.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether there are no variables.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Variables {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Variables {
        let mut variables = Variables::new();
        for (name, value) in pairs {
            variables.insert(name, value);
        }
        variables
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn insert_replaces_in_place() {
        let mut variables: Variables = [("a", "1"), ("b", "2")].into_iter().collect();
        variables.insert("a", "3");
        assert_eq!(variables.iter().collect::<Vec<_>>(), [("a", "3"), ("b", "2")]);
        assert_eq!(variables.get("c"), None);
        assert_eq!(variables.len(), 2);
    }
}
