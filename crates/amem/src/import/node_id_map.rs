//! Maps node ids of a file to local ids.

use crate::node::NodeId;

/// Runs of nodes with consecutive ids in the file and in the graph. Most files are one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NodeIdMap {
    runs: Vec<IdRun>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct IdRun {
    first_file_id: u64,
    first_node_id: NodeId,
    count: u64,
}

impl NodeIdMap {
    /// Adds a node. File ids must ascend.
    pub fn insert(&mut self, file_id: u64, node_id: NodeId) {
        if let Some(last) = self.runs.last_mut()
            && last.first_file_id + last.count == file_id
            && last.first_node_id.0 + last.count as i64 == node_id.0
        {
            last.count += 1;
            return;
        }
        self.runs.push(IdRun { first_file_id: file_id, first_node_id: node_id, count: 1 });
    }

    /// The local id of a node, if it was imported.
    pub fn get(&self, file_id: u64) -> Option<NodeId> {
        let run_index = self.runs.partition_point(|run| run.first_file_id <= file_id);
        let run = self.runs.get(run_index.checked_sub(1)?)?;
        let offset = file_id - run.first_file_id;
        (offset < run.count).then(|| NodeId(run.first_node_id.0 + offset as i64))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn consecutive_ids_are_one_run() {
        let mut id_map = NodeIdMap::default();
        (0..1_000).for_each(|id| id_map.insert(id, NodeId(id as i64 + 7)));
        assert_eq!(id_map.runs.len(), 1);
        assert_eq!(
            (id_map.get(0), id_map.get(999), id_map.get(1_000)),
            (Some(NodeId(7)), Some(NodeId(1_006)), None)
        );
    }

    proptest! {
        #[test]
        fn lookup_matches_btree_map(steps in prop::collection::vec((1u64..4, 0i64..1_000), 0..60)) {
            let (mut id_map, mut expected, mut id) = (NodeIdMap::default(), std::collections::BTreeMap::new(), 0);
            for (step, node) in steps {
                id += step;
                id_map.insert(id, NodeId(node));
                expected.insert(id, NodeId(node));
            }
            for id in 0..id + 3 {
                prop_assert_eq!(id_map.get(id), expected.get(&id).copied());
            }
        }
    }
}
