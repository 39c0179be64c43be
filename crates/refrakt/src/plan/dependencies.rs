//! Dependencies between entities, from the sections *Blocked by* and *Blocks*.

use std::collections::{HashMap, HashSet};

use super::entity::{Direction, Entity};
use super::index::PlanIndex;
use crate::limits::CYCLES_MAX;

/// The dependency graph of a plan. Nodes are positions in the index. A reference to an unknown id is a mistake that
/// validation reports; it blocks nothing and makes no edge.
pub(crate) struct Dependencies<'a> {
    index: &'a PlanIndex,
    /// Position → positions that it depends on, from its own *Blocked by* and from *Blocks* of others.
    blocked_by: HashMap<usize, Vec<usize>>,
}

impl<'a> Dependencies<'a> {
    pub(crate) fn new(index: &'a PlanIndex) -> Dependencies<'a> {
        let mut blocked_by: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut known_edges = HashSet::new();
        for entity in index.entities().filter(|entity| !entity.dependencies.is_empty()) {
            let Some(entity_index) = entity.id().and_then(|id| index.index_of(id)) else { continue };
            for dependency in &entity.dependencies {
                let Some(other_index) = index.index_of(&dependency.id) else { continue };
                let (dependent, blocker) = match dependency.direction {
                    Direction::BlockedBy => (entity_index, other_index),
                    Direction::Blocks => (other_index, entity_index),
                };
                if known_edges.insert((dependent, blocker)) {
                    blocked_by.entry(dependent).or_default().push(blocker);
                }
            }
        }
        Dependencies { index, blocked_by }
    }

    fn blocker_indexes(&self, index: usize) -> &[usize] {
        self.blocked_by.get(&index).map_or(&[], Vec::as_slice)
    }

    /// The dependencies of an entity that are not achieved yet.
    pub(crate) fn open_blockers(&self, entity: &Entity) -> Vec<&'a Entity> {
        let blockers = self.blockers(entity).into_iter();
        blockers.filter(|blocker| !blocker.kind.unblocks_dependents(blocker.status())).collect()
    }

    /// The dependencies of an entity, achieved or not.
    pub(crate) fn blockers(&self, entity: &Entity) -> Vec<&'a Entity> {
        let index = entity.id().and_then(|id| self.index.index_of(id));
        let blocker_indexes = index.map_or(&[][..], |index| self.blocker_indexes(index));
        blocker_indexes.iter().filter_map(|&index| self.index.entity_at(index)).collect()
    }

    /// The entities that depend on an entity, in the order of the files.
    pub(crate) fn dependents(&self, entity: &Entity) -> Vec<&'a Entity> {
        let Some(index) = entity.id().and_then(|id| self.index.index_of(id)) else { return Vec::new() };
        let edges_to_entity =
            self.blocked_by.iter().filter(|(_, blocker_indexes)| blocker_indexes.contains(&index));
        let mut indexes: Vec<usize> = edges_to_entity.map(|(dependent, _)| *dependent).collect();
        indexes.sort_unstable();
        indexes.into_iter().filter_map(|index| self.index.entity_at(index)).collect()
    }

    /// The dependency cycles of tasks, at most [`CYCLES_MAX`]. Each starts where a traversal in the order of the files
    /// enters it.
    pub(crate) fn cycles(&self) -> Vec<Vec<&'a str>> {
        let is_task = |index: usize| self.index.entity_at(index).is_some_and(|entity| entity.kind.is_task());
        let mut visited: HashSet<usize> = HashSet::new();
        let mut reported: HashSet<Vec<usize>> = HashSet::new();
        let mut cycles = Vec::new();
        for start in (0..self.index.files().len()).filter(|index| is_task(*index)) {
            // The current path; for each step, how many of its edges have been followed.
            let mut path: Vec<(usize, usize)> =
                if visited.contains(&start) { Vec::new() } else { vec![(start, 0)] };
            let mut path_positions: HashMap<usize, usize> =
                path.iter().map(|(index, _)| (*index, 0)).collect();
            while let Some((index, edges_followed)) = path.last_mut() {
                let Some(&blocker) = self.blocker_indexes(*index).get(*edges_followed) else {
                    visited.insert(*index);
                    path_positions.remove(index);
                    path.pop();
                    continue;
                };
                *edges_followed += 1;
                if let Some(&cycle_start) = path_positions.get(&blocker) {
                    let cycle: Vec<usize> = path[cycle_start..].iter().map(|(index, _)| *index).collect();
                    let mut members = cycle.clone();
                    members.sort_unstable();
                    if reported.insert(members) {
                        let entities = cycle.iter().filter_map(|index| self.index.entity_at(*index));
                        cycles.push(entities.map(Entity::label).collect());
                    }
                    if cycles.len() == CYCLES_MAX {
                        return cycles;
                    }
                } else if is_task(blocker) && !visited.contains(&blocker) {
                    path_positions.insert(blocker, path.len());
                    path.push((blocker, 0));
                }
            }
        }
        cycles
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each entry: id, status, what it is blocked by, what it blocks.
    fn index(items: &[(&str, &str, &[&str], &[&str])]) -> PlanIndex {
        let ref_list =
            |ids: &[&str]| ids.iter().map(|id| format!("- {{% ref \"{id}\" /%}}\n")).collect::<String>();
        let texts: Vec<(String, String)> = items
            .iter()
            .map(|(id, status, blocked_by, blocks)| {
                let tag = if id.starts_with("SPEC") { "spec" } else { "work" };
                let text = format!(
                    "{{% {tag} id=\"{id}\" status=\"{status}\" %}}\n# T\n\n## Blocked by\n\n{}\n## Blocks\n\n{}\n{{% /{tag} %}}\n",
                    ref_list(blocked_by),
                    ref_list(blocks)
                );
                (format!("{id}.md"), text)
            })
            .collect();
        PlanIndex::from_texts(texts.iter().map(|(path, text)| (path.as_str(), text.as_str())))
    }

    #[test]
    fn blocked_by_and_blocks_sections_create_edges() {
        let index = index(&[
            ("A", "ready", &["B", "NOWHERE", "D"], &[]),
            ("B", "ready", &[], &[]),
            ("C", "draft", &[], &["A"]),
            ("D", "done", &[], &[]),
        ]);
        let dependencies = Dependencies::new(&index);
        let blockers = dependencies.open_blockers(index.entity("A").unwrap());
        assert_eq!(blockers.into_iter().filter_map(Entity::id).collect::<Vec<_>>(), ["B", "C"]);
        assert!(dependencies.cycles().is_empty());
    }

    #[test]
    fn accepted_spec_does_not_block() {
        let blockers = |status: &str| {
            let index = index(&[("A", "ready", &["SPEC-1"], &[]), ("SPEC-1", status, &[], &[])]);
            Dependencies::new(&index).open_blockers(index.entity("A").unwrap()).len()
        };
        assert_eq!((blockers("accepted"), blockers("draft")), (0, 1));
    }

    #[test]
    fn each_cycle_is_reported_once() {
        let assert_cycles = |items: &[(&str, &str, &[&str], &[&str])], expected: &[&[&str]]| {
            assert_eq!(Dependencies::new(&index(items)).cycles(), expected);
        };
        assert_cycles(&[("A", "", &["A"], &[])], &[&["A"]]);
        assert_cycles(
            &[("A", "", &["B"], &[]), ("B", "", &["C"], &[]), ("C", "", &["A"], &[])],
            &[&["A", "B", "C"]],
        );
        assert_cycles(&[("A", "", &[], &["B"]), ("B", "", &[], &["A"])], &[&["A", "B"]]);
        assert_cycles(
            &[
                ("A", "", &["B", "C"], &[]),
                ("B", "", &["D"], &[]),
                ("C", "", &["D"], &[]),
                ("D", "", &[], &[]),
            ],
            &[],
        );
        assert_cycles(
            &[("X", "", &["A"], &[]), ("A", "", &["B"], &[]), ("B", "", &["A"], &[])],
            &[&["A", "B"]],
        );
    }

    #[test]
    fn long_cycle_is_found_without_recursion() {
        let ids: Vec<String> = (0..5_000).map(|number| format!("W{number:05}")).collect();
        let items: Vec<(String, String)> = ids
            .iter()
            .zip(ids.iter().cycle().skip(1))
            .map(|(id, next)| {
                let text = format!(
                    "{{% work id=\"{id}\" %}}\n## Blocked by\n\n{{% ref \"{next}\" /%}}\n{{% /work %}}\n"
                );
                (format!("{id}.md"), text)
            })
            .collect();
        let index = PlanIndex::from_texts(items.iter().map(|(path, text)| (path.as_str(), text.as_str())));
        let cycles = Dependencies::new(&index).cycles();
        assert_eq!((cycles.len(), cycles[0].len()), (1, 5_000));
    }
}
