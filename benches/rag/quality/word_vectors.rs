//! Vectors of words from the words near them, as a stand-in for an embedding model.
//!
//! Words that stand near the same words get similar vectors. For each pair of words that occur
//! near each other, a matrix has the positive pointwise mutual information; its vectors are
//! projected on the directions of the largest eigenvalues. The vector of a text is the sum
//! of the vectors of its words; rare words weigh more.

use std::collections::{BTreeMap, HashMap};

use super::{
    collection::number,
    random::{Random, add, normalize},
};

/// Number of dimensions of a vector.
const DIMENSIONS: usize = 96;

/// Words at most this far apart are near each other.
const WINDOW: usize = 6;

/// Number of occurrences that a word needs.
const LEAST: u32 = 3;

/// Rounds of the power iteration.
const ROUNDS: usize = 8;

/// Frequency above which a word counts less in a text.
const COMMON: f64 = 1e-3;

/// The vectors of words, and their weights in a text.
#[derive(Debug)]
pub(super) struct WordVectors {
    words: HashMap<String, (Vec<f64>, f64)>,
    /// The mean of all words, which says nothing about a text.
    mean: Vec<f64>,
}

/// A sparse symmetric matrix: for each row the columns and their values.
type Matrix = Vec<Vec<(usize, f64)>>;

// === impl WordVectors ===

impl WordVectors {
    /// Learns from texts.
    pub(super) fn learn(texts: &[&str]) -> Self {
        let texts: Vec<Vec<String>> = texts.iter().map(|text| words(text)).collect();
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        for word in texts.iter().flatten() {
            *counts.entry(word).or_default() += 1;
        }
        counts.retain(|_, count| *count >= LEAST);
        let places: HashMap<&str, usize> = counts.keys().copied().zip(0..).collect();
        let frequencies: Vec<f64> = counts.values().copied().map(f64::from).collect();
        let vectors = project(&information(&texts, &places, &frequencies));
        let total: f64 = frequencies.iter().sum();
        let weighted = vectors.into_iter().zip(frequencies);
        let weighted = weighted.map(|(vector, f)| (vector, COMMON / (COMMON + f / total)));
        let words = counts.keys().map(|word| (*word).to_owned());
        let words: BTreeMap<String, (Vec<f64>, f64)> = words.zip(weighted).collect();
        let mut mean = vec![0.0; DIMENSIONS];
        for (vector, weight) in words.values() {
            add(&mut mean, vector, weight / number(words.len()));
        }
        let words = words.into_iter().collect();
        Self { words, mean }
    }

    /// Returns the vector of a text; words that were not learned are left out.
    pub(super) fn embed(&self, text: &str) -> Vec<f64> {
        let mut sum = vec![0.0; DIMENSIONS];
        // No text has a zero vector, which has no angle to any other.
        sum[0] = 1e-6;
        for word in words(text) {
            if let Some((vector, weight)) = self.words.get(&word) {
                add(&mut sum, vector, *weight);
                add(&mut sum, &self.mean, -weight);
            }
        }
        normalize(&mut sum);
        sum
    }
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| word.len() > 1)
        .map(str::to_lowercase)
        .collect()
}

/// Returns the positive pointwise mutual information of words that stand near each other.
fn information(
    texts: &[Vec<String>],
    places: &HashMap<&str, usize>,
    frequencies: &[f64],
) -> Matrix {
    let mut near: Vec<BTreeMap<usize, f64>> = vec![BTreeMap::new(); places.len()];
    for text in texts {
        let text: Vec<_> = text.iter().filter_map(|word| places.get(&**word)).collect();
        for (at, &&one) in text.iter().enumerate() {
            for (distance, &&two) in (1..=WINDOW).zip(&text[at + 1..]) {
                let weight = 1.0 / number(distance);
                *near[one].entry(two).or_default() += weight;
                *near[two].entry(one).or_default() += weight;
            }
        }
    }
    let sums: Vec<f64> = near.iter().map(|row| row.values().sum()).collect();
    // Rare neighbours would have too much information without it.
    let smoothed: Vec<f64> = frequencies.iter().map(|f| f.powf(0.75)).collect();
    let total: f64 = smoothed.iter().sum();
    let rows = near.into_iter().zip(sums);
    rows.map(|(row, sum)| {
        let values = row.into_iter().map(|(column, count)| {
            let expected = sum * smoothed[column] / total;
            (column, (count / expected).ln())
        });
        values.filter(|(_, value)| *value > 0.0).collect()
    })
    .collect()
}

/// Projects the rows on the directions of the largest eigenvalues.
fn project(matrix: &Matrix) -> Vec<Vec<f64>> {
    let mut random = Random::new(96);
    let mut basis: Vec<Vec<f64>> = (0..DIMENSIONS)
        .map(|_| random.direction(matrix.len()))
        .collect();
    for _ in 0..ROUNDS {
        basis = basis.iter().map(|vector| times(matrix, vector)).collect();
        orthogonalize(&mut basis);
    }
    let images: Vec<_> = basis.iter().map(|vector| times(matrix, vector)).collect();
    let rows = (0..matrix.len()).map(|row| {
        // The roots of the eigenvalues: the largest directions, which all words share, count less.
        let values = images.iter().map(|image| {
            let length = image.iter().map(|x| x * x).sum::<f64>().sqrt();
            image[row] / length.max(f64::MIN_POSITIVE).sqrt()
        });
        let mut vector: Vec<_> = values.collect();
        normalize(&mut vector);
        vector
    });
    rows.collect()
}

fn times(matrix: &Matrix, vector: &[f64]) -> Vec<f64> {
    let rows = matrix.iter();
    rows.map(|row| row.iter().map(|(at, x)| x * vector[*at]).sum())
        .collect()
}

/// Makes the vectors orthogonal to each other, and their length one.
fn orthogonalize(basis: &mut [Vec<f64>]) {
    for at in 0..basis.len() {
        let (before, rest) = basis.split_at_mut(at);
        let vector = &mut rest[0];
        for other in before.iter() {
            let product: f64 = vector.iter().zip(other).map(|(a, b)| a * b).sum();
            add(vector, other, -product);
        }
        normalize(vector);
    }
}
