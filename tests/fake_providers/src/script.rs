//! The scripted answers.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{Api, Turn, vector};

/// Shorter vectors would be equal for many texts.
const DIMENSIONS: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct Script {
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    next: HashMap<Option<Api>, VecDeque<Turn>>,
    always: HashMap<Option<Api>, Turn>,
    dimensions: Option<usize>,
    vectors: HashMap<String, Vec<f32>>,
}

// === impl Script ===

impl Script {
    pub(crate) fn push(&self, api: Option<Api>, turn: Turn) {
        self.entries().next.entry(api).or_default().push_back(turn);
    }

    pub(crate) fn set_default(&self, api: Option<Api>, turn: Turn) {
        self.entries().always.insert(api, turn);
    }

    pub(crate) fn set_dimensions(&self, dimensions: usize) {
        self.entries().dimensions = Some(dimensions);
    }

    pub(crate) fn set_vector(&self, text: &str, vector: &[f32]) {
        self.entries()
            .vectors
            .insert(text.to_owned(), vector.to_vec());
    }

    /// Takes the script of this provider first, then the script of all providers.
    pub(crate) fn turn(&self, api: Api) -> Turn {
        let mut entries = self.entries();
        let keys = [Some(api), None];
        let next = keys
            .iter()
            .find_map(|key| entries.next.get_mut(key)?.pop_front());
        next.or_else(|| keys.iter().find_map(|key| entries.always.get(key).cloned()))
            .unwrap_or_default()
    }

    pub(crate) fn vector(&self, text: &str) -> Vec<f32> {
        let entries = self.entries();
        let given = entries.vectors.get(text).cloned();
        given.unwrap_or_else(|| vector::of(text, entries.dimensions.unwrap_or(DIMENSIONS)))
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
