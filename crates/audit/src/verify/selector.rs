//! The selection of one event, whose record is kept during a verification.

/// Selects one event of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventSelector {
    /// By its sequence.
    Sequence(u64),
    /// By its id.
    Id(String),
}

impl EventSelector {
    /// Whether the event with this sequence and id is selected.
    pub fn matches(&self, sequence: u64, id: &str) -> bool {
        match self {
            EventSelector::Sequence(selected) => *selected == sequence,
            EventSelector::Id(selected) => selected == id,
        }
    }
}

impl std::fmt::Display for EventSelector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EventSelector::Sequence(sequence) => sequence.fmt(f),
            EventSelector::Id(id) => f.write_str(id),
        }
    }
}

/// A selected event, and its record once it was found.
pub(super) struct Selection {
    selector: EventSelector,
    found: Option<(u64, String)>,
}

impl Selection {
    pub(super) fn new(selector: EventSelector) -> Selection {
        Selection { selector, found: None }
    }

    /// Keeps the record if the event is the selected one.
    pub(super) fn offer(&mut self, sequence: u64, id: &str, record: &str) {
        if self.selector.matches(sequence, id) {
            self.found = Some((sequence, record.to_owned()));
        }
    }

    pub(super) fn take_found(&mut self) -> Option<(u64, String)> {
        self.found.take()
    }
}
