//! The keys of the objects that are open.

use std::hash::{BuildHasher, RandomState};

use crate::json_rpc::text::{Unescaped, unescape};

/// Number of keys, over all open objects, that are kept without an allocation.
const INLINE: usize = 32;

/// Up to this many keys are compared pairwise, if none has an escape.
const MAX_PAIRWISE: usize = 16;

/// The text between the quotes of a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObjectKey<'a> {
    pub(super) raw: &'a str,
    pub(super) is_escaped: bool,
}

/// A stack of keys: the keys of an inner object lie above the keys of the outer objects.
pub(super) struct Keys<'a> {
    inline: [&'a str; INLINE],
    inline_len: usize,
    /// Holds all keys as soon as they are too many, until the stack is empty again.
    spilled: Vec<&'a str>,
    /// True if a key so far has an escape; until then equal keys are equal bytes.
    any_escaped: bool,
}

// === impl ObjectKey ===

impl ObjectKey<'_> {
    pub(super) fn is(self, name: &str) -> bool {
        if self.is_escaped {
            Unescaped::new(self.raw).eq(name.chars())
        } else {
            self.raw == name
        }
    }

    /// Returns whether a reader that ignores case may take the key for `name`.
    #[cfg(feature = "mcp")]
    pub(super) fn resembles(self, name: &str) -> bool {
        // Simple case folding (Unicode) makes an ASCII letter of two other characters, too.
        let fold = |character| match character {
            '\u{17F}' => 's',
            '\u{212A}' => 'k',
            other => other.to_ascii_lowercase(),
        };
        Unescaped::new(self.raw)
            .map(fold)
            .eq(name.chars().map(fold))
    }
}

// === impl Keys ===

impl<'a> Keys<'a> {
    pub(super) fn new() -> Self {
        Self {
            inline: [""; INLINE],
            inline_len: 0,
            spilled: Vec::new(),
            any_escaped: false,
        }
    }

    pub(super) fn len(&self) -> usize {
        if self.has_spilled() {
            self.spilled.len()
        } else {
            self.inline_len
        }
    }

    pub(super) fn push(&mut self, key: ObjectKey<'a>) {
        self.any_escaped |= key.is_escaped;
        if self.has_spilled() {
            self.spilled.push(key.raw);
        } else if let Some(place) = self.inline.get_mut(self.inline_len) {
            *place = key.raw;
            self.inline_len += 1;
        } else {
            self.spilled.extend_from_slice(&self.inline);
            self.spilled.push(key.raw);
        }
    }

    /// Removes the keys above `opened`; returns whether they are all different.
    pub(super) fn close(&mut self, opened: usize) -> bool {
        let keys = if self.has_spilled() {
            &self.spilled[opened..]
        } else {
            &self.inline[opened..self.inline_len]
        };
        let are_different = match keys.len() {
            0 | 1 => true,
            2..=MAX_PAIRWISE if !self.any_escaped => are_pairwise_different(keys, |a, b| a == b),
            _ => are_different_by_hash(keys),
        };
        self.inline_len = self.inline_len.min(opened);
        self.spilled.truncate(opened);
        are_different
    }

    fn has_spilled(&self) -> bool {
        !self.spilled.is_empty()
    }
}

fn are_pairwise_different<T>(keys: &[T], is_same: impl Fn(&T, &T) -> bool) -> bool {
    let mut rest = keys.iter();
    while let Some(key) = rest.next() {
        if rest.clone().any(|other| is_same(key, other)) {
            return false;
        }
    }
    true
}

/// Reads every key once, even if there are many and all are escaped. The hash is randomly seeded,
/// so that a client cannot cause collisions.
fn are_different_by_hash(keys: &[&str]) -> bool {
    let state = RandomState::new();
    let mut hashed: Vec<_> = keys
        .iter()
        .map(|key| (state.hash_one(unescape(key)), *key))
        .collect();
    hashed.sort_unstable_by_key(|(hash, _)| *hash);
    hashed
        .chunk_by(|(a, _), (b, _)| a == b)
        .all(|alike| are_pairwise_different(alike, |(_, a), (_, b)| unescape(a) == unescape(b)))
}
