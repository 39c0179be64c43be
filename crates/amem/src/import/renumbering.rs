//! Which node of a file is which node here.

use crate::node::NodeId;

/// Runs of nodes that follow each other in the file and here. Most files are one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Renumbering {
    runs: Vec<Run>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    file_id: u64,
    node: NodeId,
    count: u64,
}

impl Renumbering {
    /// Adds a node. Ids of a file ascend.
    pub fn add(&mut self, file_id: u64, node: NodeId) {
        if let Some(last) = self.runs.last_mut()
            && last.file_id + last.count == file_id
            && last.node.0 + last.count as i64 == node.0
        {
            last.count += 1;
            return;
        }
        self.runs.push(Run { file_id, node, count: 1 });
    }

    /// The node here, if it came in.
    pub fn get(&self, file_id: u64) -> Option<NodeId> {
        let after = self.runs.partition_point(|run| run.file_id <= file_id);
        let run = self.runs.get(after.checked_sub(1)?)?;
        let offset = file_id - run.file_id;
        (offset < run.count).then(|| NodeId(run.node.0 + offset as i64))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_dense_file_is_one_run() {
        let mut numbers = Renumbering::default();
        (0..1_000).for_each(|id| numbers.add(id, NodeId(id as i64 + 7)));
        assert_eq!(numbers.runs.len(), 1);
        assert_eq!(
            (numbers.get(0), numbers.get(999), numbers.get(1_000)),
            (Some(NodeId(7)), Some(NodeId(1_006)), None)
        );
    }

    proptest! {
        #[test]
        fn every_node_is_found_and_no_other(steps in prop::collection::vec((1u64..4, 0i64..1_000), 0..60)) {
            let (mut numbers, mut plain, mut id) = (Renumbering::default(), std::collections::BTreeMap::new(), 0);
            for (step, node) in steps {
                id += step;
                numbers.add(id, NodeId(node));
                plain.insert(id, NodeId(node));
            }
            for id in 0..id + 3 {
                prop_assert_eq!(numbers.get(id), plain.get(&id).copied());
            }
        }
    }
}
