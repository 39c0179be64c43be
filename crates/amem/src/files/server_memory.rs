//! The JSONL of `@modelcontextprotocol/server-memory`: entities with observations, and relations between them.
//!
//! An entity becomes a *fact*:
//! ```text
//! Ada (person)
//! - wrote the first program
//! ```
//! What does not fit into one node continues in further ones, each `part_of` the first. So does a second entity of
//! the same name.
//!
//! A relation becomes an edge of the nearest type; "contains" and similar names are reversed to `part_of`. Edges
//! have no text. Unless the relation's name *is* an edge type, a fact with the sentence ("Ada works_at Acme") keeps
//! the name, `related_to` both ends. A name without an entity gets a node of its own.
//!
//! The file has no times, sessions or confidences: these are the import's. A malformed line is reported with its
//! number and skipped.

use std::collections::{HashMap, VecDeque};
use std::io::BufRead;

use quad_core::{Error, Kind, Result};
use serde::Deserialize;

use super::bad_lines::BadLines;
use super::item::{EDGE_TYPES, EdgeItem, Item, NodeItem};
use super::limits::{CONTENT_BYTES, ENTITY_NAMES_BYTES};
use super::line_reader::{Line, LineReader};

/// The confidence of an imported fact: the default of `memory_add`.
const DEFAULT_CONFIDENCE: f64 = 0.9;

const RELATED_TO: u8 = 4;
const PART_OF: u8 = 5;

/// Relation names that mean an edge type: name, type, and whether the ends are reversed. Sorted by name.
const EDGE_TYPE_BY_RELATION: [(&str, u8, bool); 46] = [
    ("after", 6, true),
    ("based_on", 0, false),
    ("because_of", 0, false),
    ("before", 6, false),
    ("belongs_to", PART_OF, false),
    ("caused", 0, true),
    ("caused_by", 0, false),
    ("causes", 0, true),
    ("child_of", PART_OF, false),
    ("comes_after", 6, true),
    ("comes_before", 6, false),
    ("confirms", 1, false),
    ("conflicts_with", 2, false),
    ("contains", PART_OF, true),
    ("contradicted_by", 2, true),
    ("contradicts", 2, false),
    ("corrects", 3, false),
    ("depends_on", 0, false),
    ("derived_from", 0, false),
    ("due_to", 0, false),
    ("evidence_for", 1, false),
    ("followed_by", 6, false),
    ("follows", 6, true),
    ("has_member", PART_OF, true),
    ("has_part", PART_OF, true),
    ("includes", PART_OF, true),
    ("is_part_of", PART_OF, false),
    ("leads_to", 0, true),
    ("located_in", PART_OF, false),
    ("member_of", PART_OF, false),
    ("opposes", 2, false),
    ("parent_of", PART_OF, true),
    ("part_of", PART_OF, false),
    ("precedes", 6, false),
    ("proves", 1, false),
    ("refutes", 2, false),
    ("related_to", RELATED_TO, false),
    ("replaced_by", 3, true),
    ("replaces", 3, false),
    ("requires", 0, false),
    ("superseded_by", 3, true),
    ("supersedes", 3, false),
    ("supported_by", 1, true),
    ("supports", 1, false),
    ("temporal_next", 6, false),
    ("updates", 3, false),
];

#[derive(Deserialize)]
struct Entity {
    name: String,
    #[serde(rename = "entityType", default)]
    entity_type: String,
    #[serde(default)]
    observations: Vec<String>,
}

#[derive(Deserialize)]
struct Relation {
    from: String,
    to: String,
    #[serde(rename = "relationType", default)]
    relation_type: String,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum ServerLine {
    Entity(Entity),
    Relation(Relation),
}

/// Reads a file of this format.
pub struct ServerMemoryReader<R> {
    lines: LineReader<R>,
    now: i64,
    session_id: u32,
    next_id: u64,
    /// The first node of each name.
    names: HashMap<String, u64>,
    charged_bytes: usize,
    /// Relations that came before one of their ends.
    pending_relations: VecDeque<Relation>,
    ready_items: VecDeque<Item>,
    bad_lines: BadLines,
    ended: bool,
}

impl<R: BufRead> ServerMemoryReader<R> {
    /// Reads `file` with creation time `now` (microseconds since 1970) in the given session; ids begin at 0.
    pub fn new(file: R, now: i64, session_id: u32) -> ServerMemoryReader<R> {
        ServerMemoryReader {
            lines: LineReader::new(file),
            now,
            session_id,
            next_id: 0,
            names: HashMap::new(),
            charged_bytes: 0,
            pending_relations: VecDeque::new(),
            ready_items: VecDeque::new(),
            bad_lines: BadLines::default(),
            ended: false,
        }
    }

    /// The lines rejected so far.
    pub fn bad_lines(&self) -> &BadLines {
        &self.bad_lines
    }

    fn read(&mut self) -> Result<Option<Item>> {
        loop {
            if let Some(item) = self.ready_items.pop_front() {
                return Ok(Some(item));
            }
            if self.ended {
                // The ends that no entity describes get a node with their name.
                let Some(relation) = self.pending_relations.pop_front() else { return Ok(None) };
                for name in [&relation.from, &relation.to] {
                    if !self.names.contains_key(name) {
                        self.add_entity(&Entity {
                            name: name.clone(),
                            entity_type: String::new(),
                            observations: vec![],
                        })?;
                    }
                }
                self.add_relation(&relation);
                continue;
            }
            let parsed = match self.lines.next_line()? {
                None => {
                    self.ended = true;
                    continue;
                }
                Some(Line::Text(text)) if text.trim().is_empty() => continue,
                Some(Line::Text(text)) => {
                    serde_json::from_str::<ServerLine>(text).map_err(|error| error.to_string())
                }
                Some(Line::Invalid(reason)) => Err(reason.to_owned()),
            };
            match parsed {
                Ok(ServerLine::Entity(entity)) => self.add_entity(&entity)?,
                Ok(ServerLine::Relation(relation)) => {
                    if self.names.contains_key(&relation.from) && self.names.contains_key(&relation.to) {
                        self.add_relation(&relation);
                    } else {
                        self.charge_memory(
                            relation.from.len() + relation.to.len() + relation.relation_type.len(),
                        )?;
                        self.pending_relations.push_back(relation);
                    }
                }
                Err(reason) => self.bad_lines.add(self.lines.number(), reason),
            }
        }
    }

    fn charge_memory(&mut self, bytes: usize) -> Result<()> {
        // The constant covers the map's own entry.
        self.charged_bytes = self.charged_bytes.saturating_add(bytes + 64);
        if self.charged_bytes > ENTITY_NAMES_BYTES {
            return Err(Error::new(
                Kind::Limit,
                "FILE_TOO_LARGE",
                "The file has more names than an import can hold",
            )
            .hint("Split it into files whose relations stay within each"));
        }
        Ok(())
    }

    fn add_entity(&mut self, entity: &Entity) -> Result<()> {
        let title = if entity.entity_type.is_empty() {
            entity.name.clone()
        } else {
            format!("{} ({})", entity.name, entity.entity_type)
        };
        let mut first_id = self.names.get(&entity.name).copied();
        for content in split_content(&title, &entity.observations) {
            let id = self.push_node(content);
            match first_id {
                Some(first_id) => self.push_edge(id, first_id, PART_OF),
                None => {
                    first_id = Some(id);
                    self.charge_memory(entity.name.len())?;
                    self.names.insert(entity.name.clone(), id);
                }
            }
        }
        Ok(())
    }

    fn add_relation(&mut self, relation: &Relation) {
        let ends = (self.names.get(&relation.from).copied(), self.names.get(&relation.to).copied());
        let (Some(from), Some(to)) = ends else { return };
        let (edge_type, reversed) = edge_type_for_relation(&relation.relation_type);
        if from != to {
            let (source, target) = if reversed { (to, from) } else { (from, to) };
            self.push_edge(source, target, edge_type);
            if EDGE_TYPES.get(usize::from(edge_type)) == Some(&relation.relation_type.as_str()) {
                return;
            }
        }
        let sentence = format!("{} {} {}", relation.from, relation.relation_type, relation.to);
        for content in split_content(&sentence, &[]) {
            let id = self.push_node(content);
            self.push_edge(id, from, RELATED_TO);
            if from != to {
                self.push_edge(id, to, RELATED_TO);
            }
        }
    }

    fn push_node(&mut self, content: String) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.ready_items.push_back(Item::Node(NodeItem {
            id,
            event_type: 0,
            session_id: self.session_id,
            created_at: self.now,
            confidence: DEFAULT_CONFIDENCE,
            access_count: 0,
            last_accessed: self.now,
            created_by: None,
            content,
            vector: None,
        }));
        id
    }

    fn push_edge(&mut self, source_id: u64, target_id: u64, edge_type: u8) {
        let created_at = self.now;
        self.ready_items.push_back(Item::Edge(EdgeItem {
            source_id,
            target_id,
            edge_type,
            weight: 1.0,
            created_at,
        }));
    }
}

impl<R: BufRead> Iterator for ServerMemoryReader<R> {
    type Item = Result<Item>;

    fn next(&mut self) -> Option<Result<Item>> {
        let result = self.read().transpose()?;
        if result.is_err() {
            self.ended = true;
            self.pending_relations.clear();
            self.ready_items.clear();
        }
        Some(result)
    }
}

/// The edge type that a relation's name means, and whether its ends are reversed.
fn edge_type_for_relation(name: &str) -> (u8, bool) {
    let mut normalized = String::with_capacity(name.len());
    for character in name.trim().chars() {
        if character.is_alphanumeric() {
            // "partOf" becomes "part_of".
            if character.is_uppercase() && normalized.chars().last().is_some_and(char::is_lowercase) {
                normalized.push('_');
            }
            normalized.extend(character.to_lowercase());
        } else if !normalized.ends_with('_') {
            normalized.push('_');
        }
    }
    match EDGE_TYPE_BY_RELATION.binary_search_by(|(candidate, ..)| (*candidate).cmp(&normalized)) {
        Ok(index) => EDGE_TYPE_BY_RELATION
            .get(index)
            .map_or((RELATED_TO, false), |(_, edge_type, reversed)| (*edge_type, *reversed)),
        Err(_) => (RELATED_TO, false),
    }
}

/// The title and observations as texts that fit into nodes.
fn split_content(title: &str, observations: &[String]) -> Vec<String> {
    let mut texts = vec![String::new()];
    let lines = std::iter::once(title.to_owned()).chain(observations.iter().map(|text| format!("- {text}")));
    for line in lines {
        let mut rest = line.as_str();
        loop {
            let Some(text) = texts.last_mut() else { return texts };
            let remaining = CONTENT_BYTES.saturating_sub(text.len() + usize::from(!text.is_empty()));
            if rest.len() <= remaining {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(rest);
                break;
            }
            if !text.is_empty() {
                texts.push(String::new());
                continue;
            }
            // Longer than a node: split between characters.
            let (head, tail) = rest.split_at(rest.floor_char_boundary(CONTENT_BYTES));
            text.push_str(head);
            rest = tail;
            texts.push(String::new());
        }
    }
    texts
}
