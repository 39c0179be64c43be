//! Our own format, which loses nothing: a header line, then one node, edge or session per line.
//!
//! ```text
//! {"format":"quadrivium-memory","version":1}
//! {"type":"node","id":0,"event_type":"fact","session_id":1,"created_at":1740700000000000,"confidence":0.95,…}
//! {"type":"edge","source_id":1,"target_id":0,"edge_type":"caused_by","weight":0.9,"created_at":1740700000000000}
//! {"type":"session","session_id":1,"started_at":1740700000000000}
//! ```
//! Decay scores and `superseded_by` are not included: the first follows from the accesses, the second from the
//! edges.

use std::io::{BufRead, Write};

use quad_core::Result;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::bad_lines::BadLines;
use super::item::{EDGE_TYPES, EVENT_TYPES, EdgeItem, Item, NodeItem, SessionItem};
use super::limits::{CONTENT_BYTES, MAX_DIMENSION};
use super::line_reader::{Line, LineReader};
use super::parse_error;
use crate::vectors;

const FORMAT: &str = "quadrivium-memory";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct HeaderLine {
    format: String,
    version: u32,
}

#[derive(Deserialize)]
struct TypeOnly<'a> {
    #[serde(rename = "type", borrow)]
    kind: std::borrow::Cow<'a, str>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeLine<F> {
    #[serde(rename = "type")]
    kind: String,
    id: u64,
    event_type: String,
    session_id: u32,
    created_at: i64,
    confidence: F,
    access_count: u32,
    last_accessed: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    created_by: Option<String>,
    content: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    vector: Option<Vec<f32>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EdgeLine<F> {
    #[serde(rename = "type")]
    kind: String,
    source_id: u64,
    target_id: u64,
    edge_type: String,
    weight: F,
    created_at: i64,
}

#[derive(Serialize, Deserialize)]
struct SessionLine {
    #[serde(rename = "type")]
    kind: String,
    #[serde(flatten)]
    session: SessionItem,
}

/// Writes items as lines.
pub struct JsonlWriter<W> {
    out: W,
}

impl<W: Write> JsonlWriter<W> {
    /// Begins a file with its header.
    pub fn begin(mut out: W) -> Result<JsonlWriter<W>> {
        write_line(&mut out, &HeaderLine { format: FORMAT.to_owned(), version: VERSION })?;
        Ok(JsonlWriter { out })
    }

    /// Adds a line.
    pub fn write(&mut self, item: &Item) -> Result<()> {
        match item {
            Item::Node(node) => write_line(
                &mut self.out,
                &NodeLine {
                    kind: "node".to_owned(),
                    id: node.id,
                    event_type: type_name(&EVENT_TYPES, node.event_type)?,
                    session_id: node.session_id,
                    created_at: node.created_at,
                    confidence: node.confidence,
                    access_count: node.access_count,
                    last_accessed: node.last_accessed,
                    created_by: node.created_by.clone(),
                    content: node.content.clone(),
                    vector: node.vector.clone(),
                },
            ),
            Item::Edge(edge) => write_line(
                &mut self.out,
                &EdgeLine {
                    kind: "edge".to_owned(),
                    source_id: edge.source_id,
                    target_id: edge.target_id,
                    edge_type: type_name(&EDGE_TYPES, edge.edge_type)?,
                    weight: edge.weight,
                    created_at: edge.created_at,
                },
            ),
            Item::Session(session) => write_line(
                &mut self.out,
                &SessionLine { kind: "session".to_owned(), session: session.clone() },
            ),
        }
    }

    /// Ends the file.
    pub fn finish(mut self) -> Result<W> {
        self.out.flush().map_err(parse_error::io_error)?;
        Ok(self.out)
    }
}

fn write_line<W: Write, T: Serialize>(out: &mut W, line: &T) -> Result<()> {
    let mut text = serde_json::to_vec(line).map_err(quad_core::Error::internal)?;
    text.push(b'\n');
    out.write_all(&text).map_err(parse_error::io_error)
}

fn type_name(names: &[&str], type_number: u8) -> Result<String> {
    let name = names.get(usize::from(type_number)).copied();
    name.map(str::to_owned)
        .ok_or_else(|| quad_core::Error::internal(format!("type number {type_number} has no name")))
}

/// Reads a file of this format. An invalid line is reported and left out, and so is an edge of a node that was left
/// out.
pub struct JsonlReader<R> {
    lines: LineReader<R>,
    /// The ids of the nodes read so far, ascending, to check the ends of edges.
    ids: Vec<u64>,
    bad_lines: BadLines,
    failed: bool,
}

impl<R: BufRead> JsonlReader<R> {
    /// Reads the header.
    pub fn open(file: R) -> Result<JsonlReader<R>> {
        let mut lines = LineReader::new(file);
        let header: Option<HeaderLine> = match lines.next_line()? {
            Some(Line::Text(text)) => serde_json::from_str(text).ok(),
            _ => None,
        };
        match header {
            Some(header) if header.format == FORMAT && header.version == VERSION => {}
            Some(header) if header.format == FORMAT => {
                let version = header.version;
                return Err(parse_error::at_line(
                    1,
                    format!("version {version} of the format is not supported, only {VERSION}"),
                ));
            }
            _ => {
                return Err(parse_error::at_line(1, format!("the header must name the format {FORMAT}")));
            }
        }
        Ok(JsonlReader { lines, ids: Vec::new(), bad_lines: BadLines::default(), failed: false })
    }

    /// The lines rejected so far.
    pub fn bad_lines(&self) -> &BadLines {
        &self.bad_lines
    }

    fn read(&mut self) -> Result<Option<Item>> {
        loop {
            let line = self.lines.next_line()?.map(|line| match line {
                Line::Text(text) if text.trim().is_empty() => Ok(None),
                Line::Text(text) => parse(text).map(Some),
                Line::Invalid(reason) => Err(reason.to_owned()),
            });
            let Some(line) = line else { return Ok(None) };
            let item = line.and_then(|item| {
                item.as_ref().map_or(Ok(()), |item| self.check_references(item))?;
                Ok(item)
            });
            match item {
                Ok(Some(item)) => return Ok(Some(item)),
                Ok(None) => {}
                Err(reason) => self.bad_lines.add(self.lines.number(), reason),
            }
        }
    }

    /// Checks an item against the items before it.
    fn check_references(&mut self, item: &Item) -> Result<(), String> {
        match item {
            Item::Node(node) => {
                if self.ids.last().is_some_and(|last| *last >= node.id) {
                    return Err(format!("node {} follows a node whose id is not less", node.id));
                }
                self.ids.push(node.id);
                Ok(())
            }
            Item::Edge(edge) => {
                self.check_node_seen(edge.source_id).and_then(|()| self.check_node_seen(edge.target_id))
            }
            Item::Session(session) => session.episode_id.map_or(Ok(()), |id| self.check_node_seen(id)),
        }
    }

    fn check_node_seen(&self, id: u64) -> Result<(), String> {
        self.ids.binary_search(&id).map(drop).map_err(|_| format!("node {id} is not in the lines before"))
    }
}

impl<R: BufRead> Iterator for JsonlReader<R> {
    type Item = Result<Item>;

    fn next(&mut self) -> Option<Result<Item>> {
        if self.failed {
            return None;
        }
        let result = self.read().transpose()?;
        self.failed = result.is_err();
        Some(result)
    }
}

fn parse(text: &str) -> Result<Item, String> {
    let kind: TypeOnly<'_> = from_json(text)?;
    match kind.kind.as_ref() {
        "node" => from_json::<NodeLine<Box<RawValue>>>(text).and_then(parse_node),
        "edge" => from_json::<EdgeLine<Box<RawValue>>>(text).and_then(parse_edge),
        "session" => from_json::<SessionLine>(text).map(|line| Item::Session(line.session)),
        other => Err(format!("{other:?} is not node, edge or session")),
    }
}

fn from_json<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn parse_node(line: NodeLine<Box<RawValue>>) -> Result<Item, String> {
    if i64::try_from(line.id).is_err() {
        return Err(format!("{} is too large for a node's id", line.id));
    }
    if line.content.len() > CONTENT_BYTES {
        return Err(format!("a text has {} bytes; the maximum is {CONTENT_BYTES}", line.content.len()));
    }
    if line.vector.as_deref().is_some_and(|vector| !vectors::is_valid(vector)) {
        return Err(format!("the vector must have 1 to {MAX_DIMENSION} finite numbers, not all zero"));
    }
    Ok(Item::Node(NodeItem {
        id: line.id,
        event_type: type_number(&EVENT_TYPES, &line.event_type, "event type")?,
        session_id: line.session_id,
        created_at: line.created_at,
        confidence: parse_ratio(&line.confidence, "confidence")?,
        access_count: line.access_count,
        last_accessed: line.last_accessed,
        created_by: line.created_by,
        content: line.content,
        vector: line.vector,
    }))
}

fn parse_edge(line: EdgeLine<Box<RawValue>>) -> Result<Item, String> {
    if line.source_id == line.target_id {
        return Err(format!("an edge from node {} to itself", line.source_id));
    }
    Ok(Item::Edge(EdgeItem {
        source_id: line.source_id,
        target_id: line.target_id,
        edge_type: type_number(&EDGE_TYPES, &line.edge_type, "edge type")?,
        weight: parse_ratio(&line.weight, "weight")?,
        created_at: line.created_at,
    }))
}

fn type_number(names: &[&str], name: &str, type_kind: &str) -> Result<u8, String> {
    let index = names.iter().position(|candidate| *candidate == name);
    index
        .map(|number| number as u8)
        .ok_or_else(|| format!("{name:?} is not an {type_kind}; use one of {}", names.join(", ")))
}

/// A number from 0 to 1, exactly as written: the JSON parser alone may lose an f64's last bit.
fn parse_ratio(raw: &RawValue, field: &str) -> Result<f64, String> {
    match raw.get().parse::<f64>() {
        Ok(ratio) if (0.0..=1.0).contains(&ratio) => Ok(ratio),
        _ => Err(format!("{field} must be a number from 0 to 1")),
    }
}
