//! The Merkle tree of RFC 6962 with SHA-256: roots, appends, inclusion proofs. No I/O.
//!
//! The leaves are the hashes of the events in chain order. A node is identified by its height and its index among the
//! nodes of that height. A node that covers 2^height leaves never changes. So the tree can be stored in append-only
//! rows, and a [`Frontier`] of a few hashes is enough to extend it.

use std::collections::HashMap;

use crate::hash::Hash;

/// The hash of a leaf.
pub fn leaf_hash(data: &[u8]) -> Hash {
    Hash::compute_parts(&[&[0], data])
}

/// The hash of an inner node.
pub fn node_hash(left: &Hash, right: &Hash) -> Hash {
    Hash::compute_parts(&[&[1], left.as_bytes(), right.as_bytes()])
}

/// The right edge of a tree: the roots of its complete subtrees, largest first. It is enough to extend the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frontier {
    size: u64,
    nodes: Vec<Hash>,
}

/// A node that covers 2^height leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompleteNode {
    /// The height; 0 for a leaf.
    pub height: u32,
    /// The index among the nodes of this height, from 0.
    pub index: u64,
    /// The hash.
    pub hash: Hash,
}

impl Frontier {
    /// The number of leaves.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Appends a leaf. Passes every node that this completes to `completed`, lowest first.
    pub fn append(&mut self, leaf: Hash, mut completed: impl FnMut(CompleteNode)) {
        let (mut hash, mut height) = (leaf, 0);
        while self.size >> height & 1 == 1 {
            let Some(left) = self.nodes.pop() else { break };
            hash = node_hash(&left, &hash);
            height += 1;
            completed(CompleteNode { height, index: self.size >> height, hash });
        }
        self.nodes.push(hash);
        self.size += 1;
    }

    /// The root of the tree.
    pub fn root(&self) -> Hash {
        let mut nodes = self.nodes.iter().rev();
        let Some(last) = nodes.next() else { return Hash::compute(&[]) };
        nodes.fold(*last, |right, left| node_hash(left, &right))
    }

    /// The complete subtrees, largest first.
    pub fn complete_nodes(&self) -> impl Iterator<Item = CompleteNode> {
        let heights = (0..u64::BITS).rev().filter(|height| self.size >> height & 1 == 1);
        // A subtree of height h begins where the larger ones end, so its index is the bits of the size above h,
        // without bit h.
        heights.zip(&self.nodes).map(|(height, hash)| CompleteNode {
            height,
            index: (self.size >> height) - 1,
            hash: *hash,
        })
    }

    /// The hashes, concatenated. They are stored beside the size.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.nodes.iter().flat_map(|hash| *hash.as_bytes()).collect()
    }

    /// The frontier of a tree of `size` leaves from its stored hashes.
    pub fn from_bytes(size: u64, bytes: &[u8]) -> Option<Frontier> {
        let hashes = bytes.chunks(32).map(Hash::from_slice).collect::<Option<Vec<_>>>()?;
        Frontier::from_hashes(size, hashes)
    }

    /// The frontier of a tree of `size` leaves: as many hashes as the size has bits set.
    pub fn from_hashes(size: u64, nodes: Vec<Hash>) -> Option<Frontier> {
        (nodes.len() == size.count_ones() as usize).then_some(Frontier { size, nodes })
    }

    /// The hashes.
    pub fn hashes(&self) -> &[Hash] {
        &self.nodes
    }
}

/// Some nodes of a tree: enough to prove one leaf.
#[derive(Debug)]
pub struct NodeSet {
    size: u64,
    nodes: HashMap<(u32, u64), Hash>,
}

impl NodeSet {
    /// A tree of which only the right edge is known.
    pub fn new(frontier: &Frontier) -> NodeSet {
        let mut set = NodeSet { size: frontier.size(), nodes: HashMap::new() };
        frontier.complete_nodes().for_each(|node| set.add(node));
        set
    }

    /// Adds a node.
    pub fn add(&mut self, CompleteNode { height, index, hash }: CompleteNode) {
        self.nodes.insert((height, index), hash);
    }

    /// The inclusion proof of leaf `index`: the sibling hashes on its path, lowest first. `None` if nodes are
    /// missing, or if there is no such leaf.
    pub fn inclusion_proof(&self, index: u64) -> Option<Vec<Hash>> {
        if index >= self.size {
            return None;
        }
        let (mut first, mut end) = (0, self.size);
        let mut path = Vec::new();
        while end - first > 1 {
            let middle = first + split_point(end - first);
            if index < middle {
                path.push(self.range_root(middle, end)?);
                end = middle;
            } else {
                path.push(self.range_root(first, middle)?);
                first = middle;
            }
        }
        path.reverse();
        Some(path)
    }

    /// The root of the leaves from `first` to `end` (exclusive).
    fn range_root(&self, first: u64, end: u64) -> Option<Hash> {
        let width = end - first;
        if width.is_power_of_two() {
            let height = width.trailing_zeros();
            return self.subtree_root(height, first >> height);
        }
        let middle = first + split_point(width);
        Some(node_hash(&self.range_root(first, middle)?, &self.range_root(middle, end)?))
    }

    fn subtree_root(&self, height: u32, index: u64) -> Option<Hash> {
        if let Some(hash) = self.nodes.get(&(height, index)) {
            return Some(*hash);
        }
        let below = height.checked_sub(1)?;
        Some(node_hash(&self.subtree_root(below, index * 2)?, &self.subtree_root(below, index * 2 + 1)?))
    }
}

/// The largest power of two below `width`. `width` is at least 2.
fn split_point(width: u64) -> u64 {
    1 << (width - 1).ilog2()
}

/// The root that a proof of leaf `index` in a tree of `size` leaves leads to; `None` if the proof has the wrong
/// length.
pub fn root_from_proof(leaf: Hash, index: u64, size: u64, path: &[Hash]) -> Option<Hash> {
    if index >= size {
        return None;
    }
    let (mut position, mut last, mut hash) = (index, size - 1, leaf);
    for sibling in path {
        if last == 0 {
            return None;
        }
        if position & 1 == 1 || position == last {
            hash = node_hash(sibling, &hash);
            // At the right edge a node without a sibling moves up unchanged.
            while position & 1 == 0 && position != 0 {
                position >>= 1;
                last >>= 1;
            }
        } else {
            hash = node_hash(&hash, sibling);
        }
        position >>= 1;
        last >>= 1;
    }
    (last == 0).then_some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tree as RFC 6962 defines it, by recursion over all leaves. It shares only SHA-256 with the code above.
    fn naive_root(leaves: &[Vec<u8>]) -> [u8; 32] {
        let sha = |bytes: &[u8]| *Hash::compute(bytes).as_bytes();
        match leaves {
            [] => sha(&[]),
            [only] => sha(&[&[0u8][..], only].concat()),
            _ => {
                let mut k = 1;
                while k * 2 < leaves.len() {
                    k *= 2;
                }
                sha(&[&[1u8][..], &naive_root(&leaves[..k]), &naive_root(&leaves[k..])].concat())
            }
        }
    }

    fn naive_path(index: usize, leaves: &[Vec<u8>]) -> Vec<[u8; 32]> {
        if leaves.len() == 1 {
            return Vec::new();
        }
        let mut k = 1;
        while k * 2 < leaves.len() {
            k *= 2;
        }
        let (mut path, sibling) = if index < k {
            (naive_path(index, &leaves[..k]), naive_root(&leaves[k..]))
        } else {
            (naive_path(index - k, &leaves[k..]), naive_root(&leaves[..k]))
        };
        path.push(sibling);
        path
    }

    fn build_frontier(leaves: &[Vec<u8>]) -> Frontier {
        let mut frontier = Frontier::default();
        leaves.iter().for_each(|data| frontier.append(leaf_hash(data), |_| {}));
        frontier
    }

    /// The leaves and roots of the Certificate Transparency test suites.
    #[test]
    fn roots_match_certificate_transparency_vectors() {
        let leaves = [
            "",
            "00",
            "10",
            "2021",
            "3031",
            "40414243",
            "5051525354555657",
            "606162636465666768696a6b6c6d6e6f",
        ];
        let roots = [
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
            "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
            "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
            "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
            "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
            "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
        ];
        let mut tree = Frontier::default();
        assert_eq!(
            tree.root().to_string(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        for (data, root) in leaves.iter().zip(roots) {
            tree.append(leaf_hash(&crate::hash::decode_hex(data).unwrap()), |_| {});
            assert_eq!(tree.root().to_string(), root);
        }
    }

    #[test]
    fn inclusion_proofs_match_naive_tree_for_every_size() {
        let leaves: Vec<Vec<u8>> = (0..200u32).map(|n| n.to_be_bytes().to_vec()).collect();
        let mut complete_nodes = Vec::new();
        let mut grown = Frontier::default();
        for size in 1..=leaves.len() {
            let tree = &leaves[..size];
            grown.append(leaf_hash(&leaves[size - 1]), |node| complete_nodes.push(node));
            let root = naive_root(tree);
            assert_eq!(grown.root().as_bytes(), &root, "size {size}");
            assert_eq!(Frontier::from_bytes(size as u64, &grown.to_bytes()).as_ref(), Some(&grown));
            let mut node_set = NodeSet::new(&grown);
            complete_nodes.iter().for_each(|node| node_set.add(*node));
            for (index, data) in tree.iter().enumerate() {
                node_set.add(CompleteNode { height: 0, index: index as u64, hash: leaf_hash(data) });
            }
            for (index, data) in tree.iter().enumerate() {
                let path = node_set.inclusion_proof(index as u64).unwrap();
                let expect = naive_path(index, tree);
                assert!(path.iter().map(Hash::as_bytes).eq(&expect), "leaf {index} of {size}");
                let computed = root_from_proof(leaf_hash(data), index as u64, size as u64, &path);
                assert_eq!(computed.as_ref().map(Hash::as_bytes), Some(&root), "leaf {index} of {size}");
            }
        }
    }

    #[test]
    fn proof_is_valid_only_for_its_leaf_index_and_size() {
        let leaves: Vec<Vec<u8>> = (0..37u8).map(|n| vec![n]).collect();
        let tree = build_frontier(&leaves);
        let mut node_set = NodeSet::new(&tree);
        for (index, data) in leaves.iter().enumerate() {
            node_set.add(CompleteNode { height: 0, index: index as u64, hash: leaf_hash(data) });
        }
        for (index, data) in leaves.iter().enumerate() {
            let path = node_set.inclusion_proof(index as u64).unwrap();
            let leads_to_root = |data: &[u8], index: usize, size: u64, path: &[Hash]| {
                root_from_proof(leaf_hash(data), index as u64, size, path) == Some(tree.root())
            };
            assert!(leads_to_root(data, index, 37, &path));
            assert!(!leads_to_root(b"other", index, 37, &path));
            for other in (0..37).filter(|other| *other != index) {
                assert!(!leads_to_root(data, other, 37, &path), "leaf {index} passes as {other}");
            }
            for position in 0..path.len() {
                let mut changed = path.clone();
                changed[position] = Hash::compute(b"changed");
                assert!(!leads_to_root(data, index, 37, &changed));
                changed.remove(position);
                assert!(!leads_to_root(data, index, 37, &changed));
            }
            let longer = [path.clone(), vec![Hash::compute(b"more")]].concat();
            assert!(!leads_to_root(data, index, 37, &longer));
        }
        assert_eq!(node_set.inclusion_proof(37), None);
        assert_eq!(root_from_proof(leaf_hash(b""), 0, 0, &[]), None);
    }

    #[test]
    fn frontier_with_later_leaves_proves_only_later_leaves() {
        let leaves: Vec<Vec<u8>> = (0..100u8).map(|n| vec![n]).collect();
        let (before, whole) = (build_frontier(&leaves[..45]), build_frontier(&leaves));
        let mut node_set = NodeSet::new(&whole);
        before.complete_nodes().for_each(|node| node_set.add(node));
        for (index, data) in leaves.iter().enumerate().skip(45) {
            node_set.add(CompleteNode { height: 0, index: index as u64, hash: leaf_hash(data) });
        }
        for index in 0..100u64 {
            let path = node_set.inclusion_proof(index);
            match path {
                Some(path) => {
                    let computed = root_from_proof(leaf_hash(&leaves[index as usize]), index, 100, &path);
                    assert_eq!(computed, Some(whole.root()), "leaf {index}");
                }
                // Leaf 44 is a subtree of its own in the frontier, so it is known as well.
                None => assert!(index < 44, "leaf {index} lies after the edge"),
            }
        }
    }
}
