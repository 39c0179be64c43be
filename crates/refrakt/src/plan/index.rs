//! The index of a whole plan, and lookup in it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use quad_address::closest_few;
use serde_json::{Map, Value, json};

use super::entity::{Entity, ParsedFile};
use super::entity_type::EntityType;
use crate::project::project_dir::FileEntry;

/// The files of a plan with their entities, depth first, the entries of each folder in byte order.
#[derive(Clone, Debug, Default)]
pub struct PlanIndex {
    files: Vec<IndexedFile>,
    /// Id → position of the first entity with it.
    by_id: HashMap<String, usize>,
    /// By type and the id in the tag.
    by_tag_id: PreferredLookup,
    /// By type and the file name without extension.
    by_file_stem: PreferredLookup,
    /// Positions in the order of a listing.
    listing: Vec<usize>,
}

/// A file and what it held when it was read.
#[derive(Clone, Debug)]
pub(crate) struct IndexedFile {
    pub entry: FileEntry,
    /// When it was read. A change within [`MTIME_RESOLUTION`](crate::limits::MTIME_RESOLUTION) before cannot be seen in
    /// the modification time.
    pub read_at: SystemTime,
    pub parsed: Arc<ParsedFile>,
    /// SHA-256 of its text, in hexadecimal; empty if it could not be read.
    pub hash: Arc<str>,
}

/// Which entities a listing contains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexFilter {
    /// Of this type.
    pub kind: Option<EntityType>,
    /// With this status.
    pub status: Option<String>,
    /// Of this milestone.
    pub milestone: Option<String>,
    /// With this tag.
    pub tag: Option<String>,
    /// Of this assignee.
    pub assignee: Option<String>,
}

/// The type has no entity with this id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityNotFound {
    /// The requested type.
    pub kind: EntityType,
    /// The requested id.
    pub id: String,
    /// Another type that has an entity with this id.
    pub other_type: Option<EntityType>,
    /// Up to three similar ids.
    pub nearest: Vec<String>,
}

impl PlanIndex {
    pub(crate) fn new(files: Vec<IndexedFile>) -> PlanIndex {
        let mut by_id = HashMap::with_capacity(files.len());
        for (index, file) in files.iter().enumerate() {
            if let Some(id) = file.parsed.entity.as_ref().and_then(Entity::id) {
                by_id.entry(id.to_owned()).or_insert(index);
            }
        }
        let (mut by_tag_id, mut by_file_stem) = (PreferredLookup::default(), PreferredLookup::default());
        for (index, file) in files.iter().enumerate() {
            let Some(entity) = &file.parsed.entity else { continue };
            if let Some(id) = entity.id() {
                by_tag_id.insert_if_closer(entity, id, index);
            }
            by_file_stem.insert_if_closer(entity, file_stem(&entity.file), index);
        }
        let mut listing: Vec<usize> = (0..files.len()).collect();
        listing.sort_by(|&a_index, &b_index| {
            npm_listing_order(&files[a_index].entry.path, &files[b_index].entry.path)
        });
        PlanIndex { files, by_id, by_tag_id, by_file_stem, listing }
    }

    /// An index of texts, without a folder.
    pub fn from_texts<'a>(texts: impl IntoIterator<Item = (&'a str, &'a str)>) -> PlanIndex {
        let files = texts.into_iter().map(|(path, text)| IndexedFile {
            entry: FileEntry {
                path: path.to_owned(),
                size: text.len() as u64,
                modified: SystemTime::UNIX_EPOCH,
                is_linked: false,
            },
            read_at: SystemTime::UNIX_EPOCH,
            parsed: Arc::new(super::parse::parse_file(path, text)),
            hash: quad_core::canonical::sha256_hex(text.as_bytes()).into(),
        });
        PlanIndex::new(files.collect())
    }

    pub(crate) fn files(&self) -> &[IndexedFile] {
        &self.files
    }

    /// SHA-256 of a file's text as it was read, in hexadecimal.
    pub fn file_hash(&self, file: &str) -> Option<&str> {
        let index =
            self.files.binary_search_by(|indexed| indexed.entry.path.split('/').cmp(file.split('/'))).ok()?;
        self.files.get(index).map(|indexed| &*indexed.hash)
    }

    /// Whether the plan has a file.
    pub fn has_file(&self, file: &str) -> bool {
        self.files.iter().any(|indexed| indexed.entry.path == file)
    }

    /// Every entity, in the order of the files.
    pub fn entities(&self) -> impl Iterator<Item = &Entity> {
        self.files.iter().filter_map(|file| file.parsed.entity.as_ref())
    }

    /// The first entity with an id, of any type.
    pub fn entity(&self, id: &str) -> Option<&Entity> {
        self.by_id
            .get(id)
            .and_then(|&index| self.files.get(index))
            .and_then(|file| file.parsed.entity.as_ref())
    }

    /// The position of the first entity with an id.
    pub(crate) fn index_of(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// The entity at a position.
    pub(crate) fn entity_at(&self, index: usize) -> Option<&Entity> {
        self.files.get(index).and_then(|file| file.parsed.entity.as_ref())
    }

    /// Whether an entity has this id.
    pub fn contains_id(&self, id: &str) -> bool {
        self.by_id.contains_key(id)
    }

    /// The entity of a type by its id: first below `<type>s/`, then below `<type>/`, then anywhere; by the id in the
    /// tag, or else by the exact name of the file.
    pub fn find(&self, kind: EntityType, id: &str) -> Result<&Entity, EntityNotFound> {
        let of_type = || self.entities().filter(|entity| entity.kind == kind);
        let index = self.by_tag_id.get(kind, id).or_else(|| self.by_file_stem.get(kind, id));
        index.and_then(|place| self.entity_at(place)).ok_or_else(|| EntityNotFound {
            kind,
            id: id.to_owned(),
            other_type: self.entity(id).map(|entity| entity.kind),
            nearest: closest_few(id, of_type().filter_map(Entity::id))
                .into_iter()
                .map(str::to_owned)
                .collect(),
        })
    }

    /// The entities whose id, title or file is this text, whatever its case; each id once.
    pub fn named(&self, name: &str, kind: Option<EntityType>) -> Vec<&Entity> {
        let wanted = name.trim().to_lowercase();
        let is_wanted = |text: &str| !wanted.is_empty() && text.to_lowercase() == wanted;
        let mut named: Vec<&Entity> = Vec::new();
        for entity in self.entities().filter(|entity| kind.is_none_or(|kind| entity.kind == kind)) {
            let texts = [entity.id(), entity.title.as_deref(), Some(entity.file.as_str())];
            let is_known = named.iter().any(|known| known.label() == entity.label());
            if !is_known && texts.into_iter().flatten().any(is_wanted) {
                named.push(entity);
            }
        }
        named
    }

    /// The entities that have an id: the files of a folder first, then its subfolders in reverse order.
    pub fn to_json(&self, filter: &IndexFilter) -> Value {
        let in_listing_order =
            self.listing.iter().filter_map(|&index| self.files[index].parsed.entity.as_ref());
        let entities: Vec<Value> = in_listing_order
            .filter(|entity| filter.matches(entity))
            .filter_map(|entity| {
                let mut entry = Map::new();
                entry.insert("id".into(), json!(entity.id()?));
                entry.insert("type".into(), json!(entity.kind.as_str()));
                if let Some(status) = entity.attribute("status") {
                    entry.insert("status".into(), json!(status));
                }
                entry.insert("file".into(), json!(entity.file));
                Some(Value::Object(entry))
            })
            .collect();
        json!({ "entities": entities })
    }
}

impl IndexFilter {
    fn matches(&self, entity: &Entity) -> bool {
        self.kind.is_none_or(|kind| entity.kind == kind)
            && self.status.as_ref().is_none_or(|status| entity.status() == status)
            && self.milestone.as_ref().is_none_or(|name| entity.attribute("milestone") == Some(name))
            && self.tag.as_ref().is_none_or(|tag| entity.list("tags").any(|entity_tag| entity_tag == tag))
            && self.assignee.as_ref().is_none_or(|name| entity.attribute("assignee") == Some(name))
    }
}

/// For each type and name, the position of the entity that is nearest to the usual folder of its type: below
/// `<type>s/`, below `<type>/`, anywhere. Among equals the first wins.
#[derive(Clone, Debug, Default)]
struct PreferredLookup(HashMap<EntityType, HashMap<String, (u8, usize)>>);

impl PreferredLookup {
    fn insert_if_closer(&mut self, entity: &Entity, name: &str, index: usize) {
        let distance = distance_from_type_dir(entity);
        let by_name = self.0.entry(entity.kind).or_default();
        match by_name.get_mut(name) {
            Some(nearest) if nearest.0 > distance => *nearest = (distance, index),
            Some(_) => {}
            None => {
                by_name.insert(name.to_owned(), (distance, index));
            }
        }
    }

    fn get(&self, kind: EntityType, name: &str) -> Option<usize> {
        self.0.get(&kind)?.get(name).map(|(_, index)| *index)
    }
}

/// How far an entity is from the usual folder of its type: below `<type>s/`, below `<type>/`, anywhere.
pub(super) fn distance_from_type_dir(entity: &Entity) -> u8 {
    match entity.file.strip_prefix(entity.kind.as_str()) {
        Some(rest) if rest.starts_with("s/") => 0,
        Some(rest) if rest.starts_with('/') => 1,
        _ => 2,
    }
}

/// `work/WORK-1-form.md` → `WORK-1-form`.
fn file_stem(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.strip_suffix(".md").unwrap_or(name)
}

/// The listing order of the npm package: in each folder the files by name, then the subfolders by name, reversed.
fn npm_listing_order(a: &str, b: &str) -> std::cmp::Ordering {
    let (mut a, mut b) = (a.split('/').peekable(), b.split('/').peekable());
    loop {
        match (a.next(), b.next()) {
            (Some(x), Some(y)) => {
                let (x_is_file, y_is_file) = (a.peek().is_none(), b.peek().is_none());
                let order = match (x_is_file, y_is_file) {
                    (true, true) => x.cmp(y),
                    (false, false) => y.cmp(x),
                    (x_is_file, _) => y_is_file.cmp(&x_is_file),
                };
                if order.is_ne() {
                    return order;
                }
            }
            (x, y) => return x.is_some().cmp(&y.is_some()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(files: &[(&str, &str, &str)]) -> PlanIndex {
        let texts: Vec<(String, String)> = files
            .iter()
            .map(|(path, tag, id)| {
                (path.to_string(), format!("{{% {tag} id=\"{id}\" status=\"ready\" %}}\n{{% /{tag} %}}\n"))
            })
            .collect();
        PlanIndex::from_texts(texts.iter().map(|(path, text)| (path.as_str(), text.as_str())))
    }

    #[test]
    fn find_matches_exact_id_and_prefers_type_directory() {
        let index = index(&[
            ("a.md", "work", "WORK-1"),
            ("work/b.md", "work", "WORK-1"),
            ("works/c.md", "work", "WORK-1"),
            ("works/WORK-100.md", "work", "WORK-100"),
            ("specs/s.md", "spec", "SPEC-1"),
        ]);
        let file = |kind, id: &str| index.find(kind, id).map(|entity| entity.file.as_str());
        assert_eq!(file(EntityType::Work, "WORK-1"), Ok("works/c.md"));
        assert_eq!(file(EntityType::Work, "c"), Ok("works/c.md"), "the file's own name");
        let missing = file(EntityType::Work, "WORK-10").unwrap_err();
        assert_eq!(missing.nearest, ["WORK-1", "WORK-100"]);
        assert_eq!(file(EntityType::Work, "SPEC-1").unwrap_err().other_type, Some(EntityType::Spec));
        assert!(file(EntityType::Work, "").is_err());
        assert!(file(EntityType::Work, "../specs/s").is_err());
    }

    #[test]
    fn named_finds_ids_titles_and_files_in_any_case() {
        let index = PlanIndex::from_texts([
            ("work/a.md", "{% work id=\"WORK-1\" %}\n# Paint the pier\n{% /work %}\n"),
            ("bugs/b.md", "{% bug id=\"BUG-1\" %}\n# Paint the Pier\n{% /bug %}\n"),
        ]);
        let ids = |name: &str, kind| -> Vec<&str> {
            index.named(name, kind).into_iter().map(Entity::label).collect()
        };
        assert_eq!(ids("work-1", None), ["WORK-1"]);
        assert_eq!(ids(" paint the pier", None), ["WORK-1", "BUG-1"]);
        assert_eq!(ids("Paint the pier", Some(EntityType::Bug)), ["BUG-1"]);
        assert_eq!(ids("work/a.md", None), ["WORK-1"]);
        assert!(ids("paint", None).is_empty() && ids("", None).is_empty());
    }

    #[test]
    fn duplicate_id_resolves_to_first_file() {
        let index = index(&[("a.md", "work", "X"), ("b.md", "bug", "X")]);
        assert_eq!(index.entity("X").unwrap().file, "a.md");
    }

    #[test]
    fn npm_listing_order_has_files_first_and_dirs_reversed() {
        let mut paths = ["a/x.md", "b/y/z.md", "b/w.md", "m.md", "b/y/a.md", "a.md"];
        paths.sort_by(|a, b| npm_listing_order(a, b));
        assert_eq!(paths, ["a.md", "m.md", "b/w.md", "b/y/a.md", "b/y/z.md", "a/x.md"]);
    }

    #[test]
    fn index_filter_keeps_only_matches() {
        let index = index(&[("a.md", "work", "W"), ("b.md", "bug", "B")]);
        let count = |filter: &IndexFilter| index.to_json(filter)["entities"].as_array().unwrap().len();
        assert_eq!(count(&IndexFilter::default()), 2);
        assert_eq!(count(&IndexFilter { kind: Some(EntityType::Bug), ..Default::default() }), 1);
        assert_eq!(count(&IndexFilter { status: Some("done".into()), ..Default::default() }), 0);
        assert_eq!(count(&IndexFilter { milestone: Some("m".into()), ..Default::default() }), 0);
    }
}
