//! Memories as lines of a terminal.
//!
//! On a terminal, texts are wrapped in their column and long ones are cut after three lines. Elsewhere each memory is one
//! line with its whole text, for `grep` and the like.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::IsTerminal as _;

use quad_core::Timestamp;
use serde_json::Value;

/// Narrower columns of text are hard to read.
const MIN_TEXT_WIDTH: usize = 24;

/// Lines of one text in a list on a terminal.
const LIST_LINES: usize = 3;

/// Links that `show` prints.
const SHOWN_LINKS: usize = 30;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// How much fits into a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// The columns of a terminal; `None` if the output goes elsewhere.
    width: Option<usize>,
    /// Seconds since 1970.
    now: i64,
}

impl Screen {
    /// The screen of standard output.
    pub fn of_terminal() -> Screen {
        let is_terminal = std::io::stdout().is_terminal();
        Screen { width: is_terminal.then(textwrap::termwidth), now: Timestamp::now().0 / 1_000 }
    }

    /// What to do with an empty memory.
    pub fn empty(self, all_types: bool) -> String {
        if all_types {
            "Nothing is remembered yet. Start with:\n\n  quad memory add \"The API listens on port 8080\"\n"
                .to_owned()
        } else {
            "No memory has this type.\n".to_owned()
        }
    }

    /// A list of memories, one row each.
    pub fn list(self, nodes: &Value) -> String {
        let rows = nodes.as_array().into_iter().flatten().map(|node| {
            let text = content(node);
            let text = match node.get("superseded_by") {
                Some(by) => format!("(corrected by {by}) {text}"),
                None => text,
            };
            let when = node["created_at"].as_i64().map(|micros| self.ago(micros)).unwrap_or_default();
            ([id(node), node["event_type"].as_str().unwrap_or_default().to_owned(), when], text)
        });
        self.table(&rows.collect::<Vec<_>>(), Some(LIST_LINES))
    }

    /// One memory, with everything known about it. `neighbors` have the texts of the linked ones.
    pub fn node(self, node: &Value, neighbors: &Value) -> String {
        let kind = node["event_type"].as_str().unwrap_or_default();
        let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        let mut text = format!("Memory {}, {article} {kind}\n\n", id(node));
        let body = printable(&quad_amem::readable_text(node["content"].as_str().unwrap_or_default()));
        for line in body.lines() {
            let _ = writeln!(text, "{}", self.wrap(line, "  ", None));
        }
        text.push('\n');
        let micros = |name: &str| node[name].as_i64().unwrap_or_default();
        let added = format!(
            "{} UTC ({}), in session {}",
            date_time(micros("created_at")),
            self.ago(micros("created_at")),
            node["session_id"]
        );
        let reads = match node["access_count"].as_i64() {
            Some(1) => "once, now".to_owned(),
            count => format!("{} times", count.unwrap_or_default()),
        };
        let mut rows = vec![
            (["added".to_owned()], added),
            (["sure".to_owned()], format!("{} of 1", node["confidence"])),
            (["read".to_owned()], reads),
        ];
        rows.extend(self.links(node, neighbors));
        text.push_str(&self.table(&rows, None));
        text
    }

    /// The links of a node: those that mean something first, then the neighbors in time.
    fn links(self, node: &Value, neighbors: &Value) -> Vec<([String; 1], String)> {
        let neighbors = neighbors.as_array().into_iter().flatten();
        let texts: BTreeMap<i64, String> =
            neighbors.filter_map(|node| Some((node["id"].as_i64()?, content(node)))).collect();
        let mut links: Vec<(bool, [String; 1], String)> = Vec::new();
        for (list, end, is_outgoing) in
            [("outgoing_edges", "target_id", true), ("incoming_edges", "source_id", false)]
        {
            for edge in node[list].as_array().into_iter().flatten() {
                let edge_type = edge["edge_type"].as_str().unwrap_or_default();
                let text = edge[end].as_i64().and_then(|id| texts.get(&id)).cloned().unwrap_or_default();
                let label = [edge_label(edge_type, is_outgoing).to_owned()];
                links.push((edge_type == "temporal_next", label, format!("{}  {text}", edge[end])));
            }
        }
        for link in node["links"].as_array().into_iter().flatten() {
            let field = |name: &str| printable(link[name].as_str().unwrap_or_default());
            let here = format!("amem://node/{}", node["id"]);
            let (label, far_end) = match link["from"] == *here {
                true => ("links to", field("to")),
                false => ("linked from", field("from")),
            };
            let note = link["note"].as_str().map(|note| format!(": {}", printable(note))).unwrap_or_default();
            links.push((false, [label.to_owned()], format!("{far_end} ({}){note}", field("relation"))));
        }
        links.sort_by_key(|(is_temporal, ..)| *is_temporal);
        let more = links.len().saturating_sub(SHOWN_LINKS);
        links.truncate(SHOWN_LINKS);
        let mut rows: Vec<_> = links.into_iter().map(|(_, label, text)| (label, text)).collect();
        if more > 0 {
            rows.push((["…".to_owned()], format!("{more} more links; add --json to see all")));
        }
        rows
    }

    /// A list of sessions, with what their episodes say.
    pub fn sessions(self, sessions: &Value, episodes: &[Value]) -> String {
        let summaries: BTreeMap<i64, String> =
            episodes.iter().filter_map(|episode| Some((episode["id"].as_i64()?, content(episode)))).collect();
        let rows: Vec<([String; 4], String)> = sessions
            .as_array()
            .into_iter()
            .flatten()
            .map(|session| {
                let state = if session["ended_at"].is_null() { "open" } else { "ended" };
                let count = match session["node_count"].as_i64() {
                    Some(1) => "1 memory".to_owned(),
                    count => format!("{} memories", count.unwrap_or_default()),
                };
                let started = self.ago(session["started_at"].as_i64().unwrap_or_default());
                let summary = session["episode_id"].as_i64().and_then(|id| summaries.get(&id)).cloned();
                let by = || format!("of {}", printable(session["started_by"].as_str().unwrap_or_default()));
                let cells = [session["session_id"].to_string(), started, state.to_owned(), count];
                (cells, summary.unwrap_or_else(by))
            })
            .collect();
        if rows.is_empty() {
            return "There are no sessions yet. The first memory starts one.\n".to_owned();
        }
        self.table(&rows, Some(LIST_LINES))
    }

    /// Rows of cells and a text that is wrapped in the rest of the line.
    fn table<const N: usize>(self, rows: &[([String; N], String)], max_lines: Option<usize>) -> String {
        let width = |column: usize| rows.iter().map(|(cells, _)| cells[column].chars().count()).max();
        let widths: [usize; N] = std::array::from_fn(|column| width(column).unwrap_or_default());
        let mut table = String::new();
        for (cells, text) in rows {
            let mut start = String::new();
            for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
                // Ids are numbers; a column without any value is left out.
                if width > 0 {
                    let is_id = N > 1 && column == 0;
                    let padding = " ".repeat(width - cell.chars().count());
                    let cell = if is_id { format!("{padding}{cell}") } else { format!("{cell}{padding}") };
                    let _ = write!(start, "  {cell}");
                }
            }
            start.push_str("  ");
            let _ = writeln!(table, "{}", self.wrap(text, &start, max_lines).trim_end());
        }
        table
    }

    /// A text after `start`, with the further lines below it.
    fn wrap(self, text: &str, start: &str, max_lines: Option<usize>) -> String {
        let Some(width) = self.width else { return format!("{start}{text}") };
        let indentation = " ".repeat(start.chars().count());
        let text_width = width.saturating_sub(indentation.len()).max(MIN_TEXT_WIDTH);
        let mut lines: Vec<String> =
            textwrap::wrap(text, text_width).into_iter().map(|line| line.into_owned()).collect();
        if let Some(max) = max_lines
            && lines.len() > max
        {
            lines.truncate(max);
            if let Some(last) = lines.last_mut() {
                while last.chars().count() + 2 > text_width && last.pop().is_some() {}
                last.truncate(last.trim_end().len());
                last.push_str(" …");
            }
        }
        format!("{start}{}", lines.join(&format!("\n{indentation}")))
    }

    /// A time in the past, as a person says it.
    fn ago(self, micros: i64) -> String {
        let seconds = self.now - micros / 1_000_000;
        match seconds {
            ..MINUTE => "just now".to_owned(),
            MINUTE..HOUR => format!("{} min ago", seconds / MINUTE),
            HOUR..DAY => format!("{} h ago", seconds / HOUR),
            _ if seconds < 2 * DAY => "1 day ago".to_owned(),
            _ if seconds < 14 * DAY => format!("{} days ago", seconds / DAY),
            _ => date_time(micros).chars().take(10).collect(),
        }
    }
}

/// Date and minute, in UTC.
fn date_time(micros: i64) -> String {
    Timestamp(micros / 1_000).to_string().chars().take(16).collect::<String>().replace('T', " ")
}

/// The id of a node in any document.
fn id(node: &Value) -> String {
    node.get("id").or_else(|| node.get("node_id")).map(Value::to_string).unwrap_or_default()
}

/// The text of a node on one line.
fn content(node: &Value) -> String {
    let text = quad_amem::readable_text(node["content"].as_str().unwrap_or_default());
    printable(&text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text without characters that control a terminal: memories come from programs and other people.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}

/// What a link says about the memory at this end.
fn edge_label(edge_type: &str, is_outgoing: bool) -> &str {
    match (edge_type, is_outgoing) {
        ("caused_by", true) => "because of",
        ("caused_by", false) => "reason for",
        ("supports", true) => "supports",
        ("supports", false) => "supported by",
        ("contradicts", true) => "contradicts",
        ("contradicts", false) => "contradicted by",
        ("supersedes", true) => "corrects",
        ("supersedes", false) => "corrected by",
        ("part_of", true) => "part of",
        ("part_of", false) => "contains",
        ("temporal_next", true) => "before",
        ("temporal_next", false) => "after",
        _ => "related to",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: i64 = 1_770_854_400;

    fn screen(width: Option<usize>) -> Screen {
        Screen { width, now: NOW }
    }

    fn node(id: i64, content: &str, seconds_ago: i64) -> Value {
        json!({"id": id, "event_type": "fact", "content": content, "created_at": (NOW - seconds_ago) * 1_000_000})
    }

    #[test]
    fn list_is_wrapped_on_a_terminal_and_one_line_each_elsewhere() {
        let text = "The boiler in the cellar is from 2009 and is serviced every spring by Nordwarm";
        let nodes = json!([node(12, text, 5), node(3, "a\nb\u{1b}[31m", 3 * DAY)]);
        assert_eq!(
            screen(Some(60)).list(&nodes),
            "  12  fact  just now    The boiler in the cellar is from\n\
             \x20                       2009 and is serviced every spring by\n\
             \x20                       Nordwarm\n\
             \x20  3  fact  3 days ago  a b\u{fffd}[31m\n"
        );
        assert_eq!(
            screen(None).list(&nodes),
            format!("  12  fact  just now    {text}\n   3  fact  3 days ago  a b\u{fffd}[31m\n")
        );
    }

    #[test]
    fn long_text_is_cut_after_three_lines() {
        let list = screen(Some(50)).list(&json!([node(1, &"word ".repeat(60), 5)]));
        assert_eq!(list.lines().count(), LIST_LINES);
        assert!(list.ends_with(" …\n") && list.lines().all(|line| line.chars().count() <= 50), "{list}");
    }

    #[test]
    fn times_are_relative_for_two_weeks() {
        let ago = |seconds: i64| screen(None).ago((NOW - seconds) * 1_000_000);
        assert_eq!(
            [-5, 5, 61, 7_200, DAY + 5, 3 * DAY, 20 * DAY].map(ago),
            ["just now", "just now", "1 min ago", "2 h ago", "1 day ago", "3 days ago", "2026-01-23"]
        );
    }

    #[test]
    fn node_shows_its_links_in_words() {
        let shown = json!({"id": 3, "event_type": "episode", "content": "Talked", "created_at": NOW * 1_000_000,
            "session_id": 1, "confidence": 1.0, "access_count": 1,
            "outgoing_edges": [{"target_id": 4, "edge_type": "temporal_next"}, {"target_id": 1, "edge_type": "supersedes"}],
            "incoming_edges": [{"source_id": 2, "edge_type": "caused_by"}],
            "links": [{"from": "brain://article/1", "to": "amem://node/3", "relation": "cites"}]});
        let neighbors = json!([node(1, "old", 5), node(2, "new", 5)]);
        assert_eq!(
            screen(None).node(&shown, &neighbors),
            "Memory 3, an episode\n\n  Talked\n\n\
             \x20 added        2026-02-12 00:00 UTC (just now), in session 1\n\
             \x20 sure         1.0 of 1\n\
             \x20 read         once, now\n\
             \x20 corrects     1  old\n\
             \x20 reason for   2  new\n\
             \x20 linked from  brain://article/1 (cites)\n\
             \x20 before       4\n"
        );
    }
}
