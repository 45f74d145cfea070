//! What happens to which request.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{Face, Turn, vector};

/// As short as vectors can be without most texts being the same.
const DIMENSIONS: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct Script {
    lines: Mutex<Lines>,
}

#[derive(Debug, Default)]
struct Lines {
    next: HashMap<Option<Face>, VecDeque<Turn>>,
    always: HashMap<Option<Face>, Turn>,
    dimensions: Option<usize>,
    vectors: HashMap<String, Vec<f32>>,
}

// === impl Script ===

impl Script {
    pub(crate) fn push(&self, face: Option<Face>, turn: Turn) {
        self.lines().next.entry(face).or_default().push_back(turn);
    }

    pub(crate) fn settle(&self, face: Option<Face>, turn: Turn) {
        self.lines().always.insert(face, turn);
    }

    pub(crate) fn set_dimensions(&self, dimensions: usize) {
        self.lines().dimensions = Some(dimensions);
    }

    pub(crate) fn set_vector(&self, text: &str, vector: &[f32]) {
        self.lines()
            .vectors
            .insert(text.to_owned(), vector.to_vec());
    }

    /// What was said about this provider comes first, then what was said about all.
    pub(crate) fn turn(&self, face: Face) -> Turn {
        let mut lines = self.lines();
        let places = [Some(face), None];
        let next = places
            .iter()
            .find_map(|place| lines.next.get_mut(place)?.pop_front());
        next.or_else(|| {
            places
                .iter()
                .find_map(|place| lines.always.get(place).cloned())
        })
        .unwrap_or_default()
    }

    pub(crate) fn vector(&self, text: &str) -> Vec<f32> {
        let lines = self.lines();
        let given = lines.vectors.get(text).cloned();
        given.unwrap_or_else(|| vector::of(text, lines.dimensions.unwrap_or(DIMENSIONS)))
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
