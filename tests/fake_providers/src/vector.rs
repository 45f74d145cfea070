//! Deterministic vectors.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Each word counts in one dimension; the norm is one, or zero without words.
pub(crate) fn of(text: &str, dimensions: usize) -> Vec<f32> {
    let mut vector = vec![0.0_f32; dimensions];
    let text = text.to_lowercase();
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        if word.is_empty() {
            continue;
        }
        let mut hasher = DefaultHasher::new();
        word.hash(&mut hasher);
        let at = hasher.finish() % dimensions as u64;
        vector[usize::try_from(at).expect("below the dimensions")] += 1.0;
    }
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        for value in &mut vector {
            *value /= length;
        }
    }
    vector
}
