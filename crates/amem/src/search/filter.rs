//! Filters for searches: by type, session and time.

/// The fields that a filter uses. They never change during a node's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocMeta {
    /// The number of the event type, 0 to 5.
    pub event_type: u8,
    /// The session.
    pub session_id: u32,
    /// The creation time, in microseconds since 1970.
    pub created_at: i64,
}

/// Conditions that must all hold; the empty filter accepts every node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// One of these types; any if empty.
    pub event_types: Vec<u8>,
    /// One of these sessions; any if empty.
    pub sessions: Vec<u32>,
    /// Created at this time or later, in microseconds since 1970.
    pub created_from: Option<i64>,
    /// Created at this time or earlier, in microseconds since 1970.
    pub created_to: Option<i64>,
}

impl Filter {
    /// Whether the filter accepts every node.
    pub fn is_empty(&self) -> bool {
        self == &Filter::default()
    }

    /// Whether the filter accepts a node with these fields.
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
