//! Words that were meant by words with a typing error.

/// Returns whether a distance is small enough for a typing error.
pub(crate) fn is_near(distance: usize, word: &str) -> bool {
    distance <= (word.len() / 3).clamp(1, 3)
}
