//! Which nodes a search may find: by type, session and time.

/// What a filter looks at. Never changes during a node's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocMeta {
    /// The event type's number, 0 to 5.
    pub event_type: u8,
    /// The session that made the node.
    pub session_id: u32,
    /// When, in microseconds since 1970.
    pub created_at: i64,
}

/// Conditions that all must hold; an empty one holds for every node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// One of these types, or any if empty.
    pub event_types: Vec<u8>,
    /// One of these sessions, or any if empty.
    pub sessions: Vec<u32>,
    /// Not made before this, in microseconds since 1970.
    pub created_from: Option<i64>,
    /// Not made after this, in microseconds since 1970.
    pub created_to: Option<i64>,
}

impl Filter {
    /// Whether every node passes.
    pub fn is_empty(&self) -> bool {
        self == &Filter::default()
    }

    /// Whether a node with these facts passes.
    pub fn matches(&self, meta: &DocMeta) -> bool {
        (self.event_types.is_empty() || self.event_types.contains(&meta.event_type))
            && (self.sessions.is_empty() || self.sessions.contains(&meta.session_id))
            && self.created_from.is_none_or(|from| meta.created_at >= from)
            && self.created_to.is_none_or(|to| meta.created_at <= to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_range_is_inclusive() {
        let filter = Filter { created_from: Some(5), created_to: Some(7), ..Filter::default() };
        let matches = |created_at| filter.matches(&DocMeta { event_type: 0, session_id: 0, created_at });
        assert_eq!([4, 5, 7, 8].map(matches), [false, true, true, false]);
        assert!(Filter::default().is_empty() && !filter.is_empty());
    }
}
