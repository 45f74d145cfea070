//! Cache of shortened chats.

use std::{
    collections::{HashMap, VecDeque},
    sync::Mutex,
};

use bytes::Bytes;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use ziggurat_runtime::lock;

use crate::compact::request::Rules;

/// Limits on the number of cached answers and on their total size in bytes.
const MAX_ANSWERS: usize = 256;
const MAX_BYTES: usize = 16 << 20;

/// Maximum size of a cached answer, so that one answer does not displace the others.
const MAX_ANSWER: usize = 1 << 20;

/// Cache of answers by request. The oldest are removed first.
#[derive(Debug, Default)]
pub(super) struct Cache {
    answers: Mutex<CachedAnswers>,
}

/// Digest of all inputs of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key([u8; 32]);

#[derive(Debug, Default)]
struct CachedAnswers {
    answers: HashMap<Key, Bytes>,
    /// Oldest first.
    order: VecDeque<Key>,
    bytes: usize,
}

// === impl Cache ===

impl Cache {
    pub(super) fn get(&self, key: &Key) -> Option<Bytes> {
        self.with(|kept| kept.answers.get(key).cloned())
    }

    pub(super) fn put(&self, key: Key, answer: &Bytes) {
        if answer.len() <= MAX_ANSWER {
            self.with(|kept| kept.put(key, answer.clone()));
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut CachedAnswers) -> T) -> T {
        act(&mut lock(&self.answers))
    }
}

// === impl CachedAnswers ===

impl CachedAnswers {
    fn put(&mut self, key: Key, answer: Bytes) {
        self.bytes += answer.len();
        match self.answers.insert(key, answer) {
            // Two requests with the same key ran concurrently.
            Some(same) => self.bytes -= same.len(),
            None => self.order.push_back(key),
        }
        while self.answers.len() > MAX_ANSWERS || self.bytes > MAX_BYTES {
            let Some(oldest) = self.order.pop_front() else {
                return;
            };
            if let Some(answer) = self.answers.remove(&oldest) {
                self.bytes -= answer.len();
            }
        }
    }
}

// === impl Key ===

impl Key {
    pub(super) fn of(messages: &[&RawValue], rules: &Rules) -> Self {
        let mut hash = Sha256::new();
        // Formats all fields, so that no later field is missing from the key.
        hash.update(format!("{rules:?}"));
        for message in messages {
            // The length separates the messages.
            hash.update(message.get().len().to_le_bytes());
            hash.update(message.get());
        }
        Self(hash.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> Key {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&number.to_le_bytes());
        Key(key)
    }

    fn size(cache: &Cache) -> (usize, usize, usize) {
        cache.with(|kept| (kept.answers.len(), kept.order.len(), kept.bytes))
    }

    #[test]
    fn the_oldest_answers_are_removed_when_there_are_too_many() {
        let cache = Cache::default();
        for number in 0..MAX_ANSWERS + 3 {
            cache.put(key(number), &Bytes::from_static(b"answer"));
        }
        assert_eq!(size(&cache), (MAX_ANSWERS, MAX_ANSWERS, MAX_ANSWERS * 6));
        assert_eq!(cache.get(&key(2)), None);
        assert_eq!(cache.get(&key(3)).expect("kept"), "answer");
    }

    #[test]
    fn the_oldest_answers_are_removed_when_they_are_too_large() {
        let cache = Cache::default();
        let large = Bytes::from(vec![0; MAX_ANSWER]);
        for number in 0..20 {
            cache.put(key(number), &large);
        }
        assert_eq!(size(&cache), (16, 16, MAX_BYTES));
        cache.put(key(99), &Bytes::from(vec![0; MAX_ANSWER + 1]));
        assert_eq!(cache.get(&key(99)), None);
        assert!(cache.get(&key(4)).is_some());
    }

    #[test]
    fn an_answer_that_is_cached_again_takes_no_more_space() {
        let cache = Cache::default();
        for _ in 0..3 {
            cache.put(key(1), &Bytes::from_static(b"answer"));
        }
        assert_eq!(size(&cache), (1, 1, 6));
    }
}
