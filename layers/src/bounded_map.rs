//! A map with a fixed maximum of keys.
//!
//! The keys are spread over shards, each with its own lock and its share of the maximum. A shard is
//! a slab of entries, linked from the oldest to the newest, so finding, adding, renewing and
//! evicting all take constant time. A lock is held for a few memory accesses only, and never while
//! other code runs.

use std::{
    collections::{HashMap, hash_map::RandomState},
    fmt,
    hash::{BuildHasher as _, BuildHasherDefault, Hash, Hasher},
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

const MAX_SHARDS: usize = 16;

/// With fewer keys per shard, the keys would not spread evenly over the shards.
const MIN_KEYS_PER_SHARD: usize = 64;

/// A map that evicts its oldest key when it is full.
pub(crate) struct BoundedMap<K, V> {
    shards: Box<[Mutex<Shard<K, V>>]>,
    /// Randomly seeded, so that a client cannot choose keys that hash to one shard.
    hasher: RandomState,
}

/// A part of the store, with its own maximum.
#[derive(Debug)]
pub(crate) struct Shard<K, V> {
    slots: HashMap<HashedKey<K>, Slot, BuildHasherDefault<AsHashed>>,
    entries: Vec<Entry<K, V>>,
    max_keys: usize,
    oldest: Option<Slot>,
    newest: Option<Slot>,
    /// The first unused entry; the others follow through `newer`.
    vacant: Option<Slot>,
    inserted: u64,
}

/// Index of an entry. Valid until the shard is unlocked, or an entry is inserted or removed.
pub(crate) type Slot = u32;

/// A key with its hash, which chooses the shard and the position in it. Hashing is most of the cost
/// of a look-up, so it is done once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HashedKey<K> {
    key: K,
    hash: u64,
}

/// Hasher that returns a hash computed before.
#[derive(Default)]
struct AsHashed(u64);

#[derive(Debug)]
struct Entry<K, V> {
    key: HashedKey<K>,
    value: V,
    serial: u64,
    older: Option<Slot>,
    newer: Option<Slot>,
}

// === impl Store ===

impl<K: Copy + Eq + Hash, V: Default> BoundedMap<K, V> {
    /// Makes an empty store for at least one key.
    pub(crate) fn new(max_keys: usize) -> Self {
        let max_keys = max_keys.clamp(1, Slot::MAX as usize);
        let shards = (max_keys / MIN_KEYS_PER_SHARD).clamp(1, MAX_SHARDS);
        let (share, rest) = (max_keys / shards, max_keys % shards);
        Self {
            shards: (0..shards)
                .map(|shard| Mutex::new(Shard::new(share + usize::from(shard < rest))))
                .collect(),
            hasher: RandomState::new(),
        }
    }

    /// Hashes a key, once for all operations on it.
    pub(crate) fn hashed(&self, key: K) -> HashedKey<K> {
        let hash = self.hasher.hash_one(key);
        HashedKey { key, hash }
    }

    /// Locks the shard a key belongs to.
    pub(crate) fn lock(&self, key: &HashedKey<K>) -> MutexGuard<'_, Shard<K, V>> {
        // The map inside a shard uses the lowest and the highest bits of the hash.
        let place = usize::from(u16::try_from(key.hash >> 32 & 0xffff).expect("16 bits are left"));
        // Spreads keys as evenly as a remainder would, without a division.
        lock(&self.shards[(place * self.shards.len()) >> 16])
    }

    /// Removes the entries that `is_kept` does not accept, one shard after the other.
    #[cfg(feature = "access-token")]
    pub(crate) fn retain(&self, is_kept: impl Fn(&V) -> bool) {
        for shard in &self.shards {
            let mut shard = lock(shard);
            let mut next = shard.oldest;
            while let Some(slot) = next {
                next = shard.entry(slot).newer;
                if !is_kept(shard.value(slot)) {
                    shard.remove(slot);
                }
            }
        }
    }

    /// Counts the keys, one shard after the other.
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).len()).sum()
    }
}

impl<K: Copy + Eq + Hash, V: Default> fmt::Debug for BoundedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The keys are left out: they identify people, and there are many.
        f.debug_struct("BoundedMap")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

fn lock<K, V>(shard: &Mutex<Shard<K, V>>) -> MutexGuard<'_, Shard<K, V>> {
    // No code in this crate panics in the middle of a change.
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl HashedKey ===

impl<K: PartialEq> PartialEq for HashedKey<K> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<K: Eq> Eq for HashedKey<K> {}

impl<K> Hash for HashedKey<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

// === impl AsHashed ===

impl Hasher for AsHashed {
    fn write(&mut self, _: &[u8]) {
        unreachable!("a hashed key writes one number");
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

// === impl Shard ===

impl<K: Copy + Eq + Hash, V: Default> Shard<K, V> {
    fn new(max_keys: usize) -> Self {
        Self {
            slots: HashMap::default(),
            entries: Vec::new(),
            max_keys,
            oldest: None,
            newest: None,
            vacant: None,
            inserted: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    #[inline]
    pub(crate) fn find(&self, key: &HashedKey<K>) -> Option<Slot> {
        // The client of the last request often sends the next one, too.
        let newest = self.newest.filter(|&slot| self.entry(slot).key == *key);
        newest.or_else(|| self.slots.get(key).copied())
    }

    /// The entry that was inserted or renewed least recently.
    pub(crate) fn oldest(&self) -> Option<Slot> {
        self.oldest
    }

    pub(crate) fn value(&self, slot: Slot) -> &V {
        &self.entry(slot).value
    }

    pub(crate) fn value_mut(&mut self, slot: Slot) -> &mut V {
        &mut self.entry_mut(slot).value
    }

    /// Identifies this entry among all that ever were, even under the same key.
    pub(crate) fn serial(&self, slot: Slot) -> u64 {
        self.entry(slot).serial
    }

    /// Adds a key that is not there yet, and evicts the oldest if the shard is full.
    #[cfg(any(feature = "access-token", feature = "rate-limit", test))]
    pub(crate) fn insert(&mut self, key: HashedKey<K>, value: V) -> Slot {
        let slot = self.insert_held(key, value);
        let slot = slot.expect("an entry that is not held is evicted");
        self.link_newest(slot);
        slot
    }

    /// Adds a key that is not there yet, and is not evicted before it is renewed. Fails if the
    /// shard is full of such keys.
    pub(crate) fn insert_held(&mut self, key: HashedKey<K>, value: V) -> Option<Slot> {
        debug_assert!(!self.slots.contains_key(&key), "the key is there already");
        if self.len() >= self.max_keys {
            drop(self.remove(self.oldest?));
        }
        self.inserted += 1;
        let entry = Entry {
            key,
            value,
            serial: self.inserted,
            older: None,
            newer: None,
        };
        let slot = if let Some(slot) = self.vacant {
            self.vacant = self.entry(slot).newer;
            *self.entry_mut(slot) = entry;
            slot
        } else {
            let slot = Slot::try_from(self.entries.len()).expect("the cap fits into a slot");
            self.entries.push(entry);
            slot
        };
        self.slots.insert(key, slot);
        Some(slot)
    }

    /// Makes an entry the newest. One that was held can be evicted from now on.
    pub(crate) fn renew(&mut self, slot: Slot) {
        if self.newest != Some(slot) {
            self.unlink(slot);
            self.link_newest(slot);
        }
    }

    /// Removes an entry, and returns its value.
    pub(crate) fn remove(&mut self, slot: Slot) -> V {
        self.unlink(slot);
        let key = self.entry(slot).key;
        self.slots.remove(&key);
        let vacant = self.vacant.replace(slot);
        let entry = self.entry_mut(slot);
        entry.newer = vacant;
        mem::take(&mut entry.value)
    }

    fn link_newest(&mut self, slot: Slot) {
        let older = self.newest.replace(slot);
        match older {
            Some(older) => self.entry_mut(older).newer = Some(slot),
            None => self.oldest = Some(slot),
        }
        let entry = self.entry_mut(slot);
        entry.older = older;
        entry.newer = None;
    }

    fn unlink(&mut self, slot: Slot) {
        let Entry { older, newer, .. } = *self.entry(slot);
        // A held entry is not linked: it has no neighbours, and is at neither end.
        match older {
            Some(older) => self.entry_mut(older).newer = newer,
            None if self.oldest == Some(slot) => self.oldest = newer,
            None => {}
        }
        match newer {
            Some(newer) => self.entry_mut(newer).older = older,
            None if self.newest == Some(slot) => self.newest = older,
            None => {}
        }
    }

    fn entry(&self, slot: Slot) -> &Entry<K, V> {
        &self.entries[slot as usize]
    }

    fn entry_mut(&mut self, slot: Slot) -> &mut Entry<K, V> {
        &mut self.entries[slot as usize]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ten_thousand_keys_never_take_more_than_the_thousand_places() {
        let map = BoundedMap::new(1000);
        for n in 0..10_000 {
            let key = map.hashed(n);
            map.lock(&key).insert(key, n);
            assert!(map.len() <= 1000, "after {n}");
        }
        // Every shard is full by now, so all places are used.
        assert_eq!(map.len(), 1000);
    }

    #[test]
    fn the_shares_of_the_shards_add_up_to_the_cap() {
        for (max_keys, expected) in [
            (0, 1),
            (1, 1),
            (127, 127),
            (128, 128),
            (1000, 1000),
            (10_007, 10_007),
        ] {
            let map = BoundedMap::<u32, ()>::new(max_keys);
            let sum: usize = map.shards.iter().map(|shard| lock(shard).max_keys).sum();
            assert_eq!(sum, expected, "{max_keys}");
        }
    }

    #[test]
    fn an_entry_that_is_held_is_not_evicted_until_it_is_renewed() {
        let map = BoundedMap::new(2);
        let mut shard = map.lock(&map.hashed(0));
        let held = shard.insert_held(map.hashed(0), 0).expect("there is space");
        shard.insert(map.hashed(1), 1);
        assert!(shard.insert_held(map.hashed(2), 2).is_some());
        assert!(shard.find(&map.hashed(1)).is_none());
        assert!(shard.insert_held(map.hashed(3), 3).is_none());
        shard.renew(held);
        assert!(shard.insert_held(map.hashed(3), 3).is_some());
        assert!(shard.find(&map.hashed(0)).is_none());
    }

    #[test]
    fn a_small_map_evicts_the_oldest_first() {
        let map = BoundedMap::new(3);
        let mut shard = map.lock(&map.hashed(0));
        for n in 0..3 {
            shard.insert(map.hashed(n), n);
        }
        let renewed = shard.find(&map.hashed(0)).expect("just inserted");
        shard.renew(renewed);
        shard.insert(map.hashed(3), 3);
        let left: Vec<_> = (0..4)
            .filter(|&n| shard.find(&map.hashed(n)).is_some())
            .collect();
        assert_eq!(left, [0, 2, 3]);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Insert(u32),
        InsertHeld(u32),
        Renew(u32),
        Remove(u32),
    }

    fn step() -> impl Strategy<Value = Step> {
        let n = 0..12_u32;
        prop_oneof![
            n.clone().prop_map(Step::Insert),
            n.clone().prop_map(Step::InsertHeld),
            n.clone().prop_map(Step::Renew),
            n.prop_map(Step::Remove),
        ]
    }

    proptest! {
        #[test]
        fn no_interleaving_of_keys_exceeds_the_cap_or_loses_the_order(
            cap in 1..8_usize,
            steps in prop::collection::vec(step(), 0..200),
        ) {
            let map = BoundedMap::new(cap);
            let mut shard = map.lock(&map.hashed(0));
            let (mut model, mut held) = (VecDeque::new(), Vec::new());
            for step in steps {
                let (Step::Insert(n) | Step::InsertHeld(n) | Step::Renew(n) | Step::Remove(n)) = step;
                let is_known = model.contains(&n) || held.contains(&n);
                prop_assert_eq!(shard.find(&map.hashed(n)).is_some(), is_known);
                let is_full = model.len() + held.len() == cap;
                match (step, shard.find(&map.hashed(n))) {
                    (Step::Insert(_), None) if held.len() < cap => {
                        if is_full {
                            model.pop_front();
                        }
                        model.push_back(n);
                        shard.insert(map.hashed(n), n);
                    }
                    (Step::InsertHeld(_), None) => {
                        let inserted = shard.insert_held(map.hashed(n), n);
                        prop_assert_eq!(inserted.is_some(), held.len() < cap);
                        if inserted.is_some() {
                            if is_full {
                                model.pop_front();
                            }
                            held.push(n);
                        }
                    }
                    (Step::Renew(_), Some(slot)) => {
                        held.retain(|&other| other != n);
                        model.retain(|&other| other != n);
                        model.push_back(n);
                        shard.renew(slot);
                    }
                    (Step::Remove(_), Some(slot)) => {
                        held.retain(|&other| other != n);
                        model.retain(|&other| other != n);
                        shard.remove(slot);
                    }
                    _ => {}
                }
                prop_assert!(held.iter().all(|&n| shard.find(&map.hashed(n)).is_some()));
                let mut order = Vec::new();
                let mut at = shard.oldest();
                while let Some(slot) = at {
                    order.push(*shard.value(slot));
                    at = shard.entry(slot).newer;
                }
                prop_assert_eq!(&order, model.make_contiguous());
                prop_assert!(shard.len() <= cap && shard.entries.len() <= cap);
                prop_assert_eq!(shard.newest.map(|slot| *shard.value(slot)), order.last().copied());
            }
        }
    }
}
