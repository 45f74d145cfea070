//! Trees of digests, as in RFC 9162, section 2.1.

use crate::{Digest, Sha};

/// Returns the leaf of a payload.
pub(crate) fn leaf(payload: &[u8]) -> Digest {
    let mut sha = Sha::default();
    sha.update(&[0]);
    sha.update(payload);
    sha.finish()
}

fn node(left: &Digest, right: &Digest) -> Digest {
    let mut sha = Sha::default();
    sha.update(&[1]);
    sha.update(left);
    sha.update(right);
    sha.finish()
}

/// Returns the root of a tree with at least one leaf, and the path from each leaf to it.
pub(crate) fn grow(leaves: &[Digest]) -> (Digest, Vec<Vec<Digest>>) {
    let mut paths = vec![Vec::new(); leaves.len()];
    let root = grow_part(leaves, &mut paths);
    (root, paths)
}

fn grow_part(leaves: &[Digest], paths: &mut [Vec<Digest>]) -> Digest {
    if let [leaf] = leaves {
        return *leaf;
    }
    // The left part is the largest full tree that leaves something for the right one.
    let split = leaves.len().next_power_of_two() / 2;
    let (left_leaves, right_leaves) = leaves.split_at(split);
    let (left_paths, right_paths) = paths.split_at_mut(split);
    let left = grow_part(left_leaves, left_paths);
    let right = grow_part(right_leaves, right_paths);
    for path in left_paths {
        path.push(right);
    }
    for path in right_paths {
        path.push(left);
    }
    node(&left, &right)
}

/// Returns the root of a tree of this size that has a leaf at this place with this path; `None` if
/// there is no such tree.
pub(crate) fn root(leaf: Digest, place: u64, size: u64, path: &[Digest]) -> Option<Digest> {
    let (mut place, mut last) = (place, size.checked_sub(1)?);
    if place > last {
        return None;
    }
    let mut root = leaf;
    for sibling in path {
        if last == 0 {
            return None;
        }
        if place & 1 == 1 || place == last {
            root = node(sibling, &root);
            while place & 1 == 0 && place != 0 {
                place >>= 1;
                last >>= 1;
            }
        } else {
            root = node(&root, sibling);
        }
        place >>= 1;
        last >>= 1;
    }
    (last == 0).then_some(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_leaf_of_each_batch_leads_to_the_root_and_to_no_other() {
        for size in (1..=70).chain([127, 128, 129, 500, 1000]) {
            let leaves: Vec<_> = (0..size).map(|it: u64| leaf(&it.to_be_bytes())).collect();
            let (top, paths) = grow(&leaves);
            for (place, path) in (0..).zip(&paths) {
                let own = leaves[usize::try_from(place).expect("small")];
                assert_eq!(root(own, place, size, path), Some(top), "{place} of {size}");
                assert_ne!(root(own, place + 1, size, path), Some(top), "{place}");
                assert_ne!(
                    root(leaf(b"other"), place, size, path),
                    Some(top),
                    "{place}"
                );
                let longer = [&path[..], &[top]].concat();
                assert_eq!(root(own, place, size, &longer), None, "{place} of {size}");
            }
        }
        assert_eq!(root(leaf(b""), 0, 0, &[]), None);
    }

    /// Roots that other programs have for the same leaves (certificate-transparency, `merkle_tree`).
    #[test]
    fn roots_are_those_of_other_programs() {
        let leaves: [&[u8]; 8] = [
            b"",
            &[0],
            &[0x10],
            b" !",
            b"01",
            b"@ABC",
            b"PQRSTUVW",
            b"`abcdefghijklmno",
        ];
        for (size, expected) in [
            (
                1,
                "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
            ),
            (
                2,
                "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
            ),
            (
                3,
                "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
            ),
            (
                8,
                "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
            ),
        ] {
            let leaves: Vec<_> = leaves[..size].iter().map(|it| leaf(it)).collect();
            assert_eq!(crate::hex(&grow(&leaves).0), expected, "{size}");
        }
    }

    #[test]
    fn the_tree_of_seven_leaves_is_the_one_of_the_rfc() {
        let leaves: Vec<_> = (0..7_u8).map(|it| leaf(&[it])).collect();
        let pair = |at: usize| node(&leaves[at], &leaves[at + 1]);
        let left = node(&pair(0), &pair(2));
        let right = node(&pair(4), &leaves[6]);
        let (top, paths) = grow(&leaves);
        assert_eq!(top, node(&left, &right));
        assert_eq!(paths[6], [pair(4), left]);
        assert_eq!(paths[3], [leaves[2], pair(0), right]);
    }
}
