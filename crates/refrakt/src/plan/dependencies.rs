//! Who waits for whom: the edges of *Blocked by* and *Blocks*, both ways.

use std::collections::{HashMap, HashSet};

use super::entity::{Direction, Entity};
use super::index::PlanIndex;
use crate::limits::CYCLES_MAX;

/// The edges of a plan, between places in its index. An id that leads nowhere is somebody's mistake, not a reason to wait, and
/// makes no edge.
pub(crate) struct Dependencies<'a> {
    index: &'a PlanIndex,
    /// Place → places that it waits for, as *Blocked by* here or *Blocks* there says.
    waits_for: HashMap<usize, Vec<usize>>,
}

impl<'a> Dependencies<'a> {
    pub(crate) fn new(index: &'a PlanIndex) -> Dependencies<'a> {
        let mut waits_for: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut seen = HashSet::new();
        for entity in index.entities().filter(|entity| !entity.dependencies.is_empty()) {
            let Some(own) = entity.id().and_then(|id| index.place(id)) else { continue };
            for dependency in &entity.dependencies {
                let Some(other) = index.place(&dependency.id) else { continue };
                let (waiting, first) = match dependency.direction {
                    Direction::BlockedBy => (own, other),
                    Direction::Blocks => (other, own),
                };
                if seen.insert((waiting, first)) {
                    waits_for.entry(waiting).or_default().push(first);
                }
            }
        }
        Dependencies { index, waits_for }
    }

    fn edges(&self, place: usize) -> &[usize] {
        self.waits_for.get(&place).map_or(&[], Vec::as_slice)
    }

    /// What an entity still waits for.
    pub(crate) fn open_blockers(&self, entity: &Entity) -> Vec<&'a Entity> {
        let blockers = self.blockers(entity).into_iter();
        blockers.filter(|blocker| !blocker.kind.is_achieved(blocker.status())).collect()
    }

    /// What an entity waits for, achieved or not.
    pub(crate) fn blockers(&self, entity: &Entity) -> Vec<&'a Entity> {
        let place = entity.id().and_then(|id| self.index.place(id));
        let edges = place.map_or(&[][..], |place| self.edges(place));
        edges.iter().filter_map(|&place| self.index.at(place)).collect()
    }

    /// What waits for an entity, in the order of the files.
    pub(crate) fn waiting(&self, entity: &Entity) -> Vec<&'a Entity> {
        let Some(place) = entity.id().and_then(|id| self.index.place(id)) else { return Vec::new() };
        let waits = self.waits_for.iter().filter(|(_, first)| first.contains(&place));
        let mut waiting: Vec<usize> = waits.map(|(waiting, _)| *waiting).collect();
        waiting.sort_unstable();
        waiting.into_iter().filter_map(|place| self.index.at(place)).collect()
    }

    /// The rings of tasks that wait for one another, each from where a walk in the order of the files enters it; no more than
    /// [`CYCLES_MAX`].
    pub(crate) fn cycles(&self) -> Vec<Vec<&'a str>> {
        let is_task = |place: usize| self.index.at(place).is_some_and(|entity| entity.kind.is_task());
        let mut done: HashSet<usize> = HashSet::new();
        let mut seen: HashSet<Vec<usize>> = HashSet::new();
        let mut cycles = Vec::new();
        for start in (0..self.index.files().len()).filter(|place| is_task(*place)) {
            // The way from the start to here; for each step, how many of its edges have been followed.
            let mut way: Vec<(usize, usize)> =
                if done.contains(&start) { Vec::new() } else { vec![(start, 0)] };
            let mut on_way: HashMap<usize, usize> = way.iter().map(|(place, _)| (*place, 0)).collect();
            while let Some((place, followed)) = way.last_mut() {
                let Some(&edge) = self.edges(*place).get(*followed) else {
                    done.insert(*place);
                    on_way.remove(place);
                    way.pop();
                    continue;
                };
                *followed += 1;
                if let Some(&entered) = on_way.get(&edge) {
                    let cycle: Vec<usize> = way[entered..].iter().map(|(place, _)| *place).collect();
                    let mut members = cycle.clone();
                    members.sort_unstable();
                    if seen.insert(members) {
                        let entities = cycle.iter().filter_map(|place| self.index.at(*place));
                        cycles.push(entities.map(Entity::label).collect());
                    }
                    if cycles.len() == CYCLES_MAX {
                        return cycles;
                    }
                } else if is_task(edge) && !done.contains(&edge) {
                    on_way.insert(edge, way.len());
                    way.push((edge, 0));
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
        let list =
            |ids: &[&str]| ids.iter().map(|id| format!("- {{% ref \"{id}\" /%}}\n")).collect::<String>();
        let texts: Vec<(String, String)> = items
            .iter()
            .map(|(id, status, by, blocks)| {
                let tag = if id.starts_with("SPEC") { "spec" } else { "work" };
                let text = format!(
                    "{{% {tag} id=\"{id}\" status=\"{status}\" %}}\n# T\n\n## Blocked by\n\n{}\n## Blocks\n\n{}\n{{% /{tag} %}}\n",
                    list(by),
                    list(blocks)
                );
                (format!("{id}.md"), text)
            })
            .collect();
        PlanIndex::of_texts(texts.iter().map(|(path, text)| (path.as_str(), text.as_str())))
    }

    #[test]
    fn both_sections_make_edges() {
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
    fn an_accepted_specification_blocks_nobody() {
        let blockers = |status: &str| {
            let index = index(&[("A", "ready", &["SPEC-1"], &[]), ("SPEC-1", status, &[], &[])]);
            Dependencies::new(&index).open_blockers(index.entity("A").unwrap()).len()
        };
        assert_eq!((blockers("accepted"), blockers("draft")), (0, 1));
    }

    #[test]
    fn rings_are_found_once() {
        let check = |items: &[(&str, &str, &[&str], &[&str])], expect: &[&[&str]]| {
            assert_eq!(Dependencies::new(&index(items)).cycles(), expect);
        };
        check(&[("A", "", &["A"], &[])], &[&["A"]]);
        check(&[("A", "", &["B"], &[]), ("B", "", &["C"], &[]), ("C", "", &["A"], &[])], &[&["A", "B", "C"]]);
        check(&[("A", "", &[], &["B"]), ("B", "", &[], &["A"])], &[&["A", "B"]]);
        check(
            &[
                ("A", "", &["B", "C"], &[]),
                ("B", "", &["D"], &[]),
                ("C", "", &["D"], &[]),
                ("D", "", &[], &[]),
            ],
            &[],
        );
        check(&[("X", "", &["A"], &[]), ("A", "", &["B"], &[]), ("B", "", &["A"], &[])], &[&["A", "B"]]);
    }

    #[test]
    fn a_long_chain_is_walked_without_recursion() {
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
        let index = PlanIndex::of_texts(items.iter().map(|(path, text)| (path.as_str(), text.as_str())));
        let cycles = Dependencies::new(&index).cycles();
        assert_eq!((cycles.len(), cycles[0].len()), (1, 5_000));
    }
}
