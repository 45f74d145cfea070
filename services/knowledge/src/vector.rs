//! Vectors in the format of the file, and the vector of a question.

/// Maximum length; a longer vector is no embedding of a text.
pub(super) const MAX_DIMENSIONS: usize = 1 << 16;

/// The vector of a question: normalized, and also quantized to integers.
#[derive(Clone, Debug)]
pub(super) struct QueryVector {
    unit: Vec<f64>,
    /// `unit` in steps of `step`.
    pub(super) codes: Vec<i16>,
    pub(super) step: f64,
    /// Distance of the codes from `unit`.
    pub(super) error: f64,
}

// === impl QueryVector ===

impl QueryVector {
    /// Normalizes the vector of a question; `None` for a zero vector.
    pub(super) fn new(vector: &[f32]) -> Option<Self> {
        if vector.len() > MAX_DIMENSIONS {
            return None;
        }
        let length = length(vector.iter().copied())?;
        let unit: Vec<f64> = vector
            .iter()
            .map(|value| f64::from(*value) / length)
            .collect();
        let largest = unit
            .iter()
            .fold(0.0_f64, |most, value| most.max(value.abs()));
        let step = largest / f64::from(steps(vector.len()));
        let codes: Vec<i16> = unit.iter().map(|value| code(value / step)).collect();
        let error = distance(&unit, codes.iter().map(|code| f64::from(*code) * step));
        Some(Self {
            unit,
            codes,
            step,
            error,
        })
    }

    pub(super) fn dimensions(&self) -> usize {
        self.unit.len()
    }

    /// Returns the cosine of the question and a vector of the file; `None` for a zero vector or
    /// another length.
    pub(super) fn similarity(&self, bytes: &[u8]) -> Option<f64> {
        if dimensions(bytes)? != self.unit.len() {
            return None;
        }
        let length = length(values(bytes))?;
        let product: f64 = values(bytes)
            .zip(&self.unit)
            .map(|(value, unit)| f64::from(value) * unit)
            .sum();
        Some((product / length).clamp(-1.0, 1.0))
    }
}

/// Returns the dimension of a vector of the file; `None` if it is invalid.
pub(super) fn dimensions(bytes: &[u8]) -> Option<usize> {
    let (numbers, rest) = bytes.as_chunks::<4>();
    let is_vector = rest.is_empty() && (1..=MAX_DIMENSIONS).contains(&numbers.len());
    is_vector.then_some(numbers.len())
}

/// Returns the numbers of a vector of the file.
pub(super) fn values(bytes: &[u8]) -> impl Iterator<Item = f32> {
    let (numbers, _) = bytes.as_chunks::<4>();
    numbers.iter().map(|number| f32::from_le_bytes(*number))
}

/// Encodes a vector for the file.
pub(super) fn bytes(vector: &[f32]) -> Vec<u8> {
    vector
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

/// Returns the norm of a vector; `None` for a zero vector.
pub(super) fn length(values: impl Iterator<Item = f32>) -> Option<f64> {
    let squares: f64 = values.map(|value| f64::from(value).powi(2)).sum();
    let length = squares.sqrt();
    (length > 0.0 && length.is_finite()).then_some(length)
}

/// Returns the distance of two vectors.
pub(super) fn distance(one: &[f64], two: impl Iterator<Item = f64>) -> f64 {
    let squares: f64 = one.iter().zip(two).map(|(a, b)| (a - b).powi(2)).sum();
    squares.sqrt()
}

/// Returns the number of steps for the largest number of a question: the maximum for which the sum
/// of all products with one-byte codes does not overflow.
fn steps(dimensions: usize) -> i16 {
    /// More steps do not help, because the codes of the vectors are coarser.
    const MAX_STEPS: i32 = 8191;
    let dimensions = i32::try_from(dimensions).unwrap_or(i32::MAX);
    let steps = (i32::MAX / 128 / dimensions.max(1)).clamp(1, MAX_STEPS);
    i16::try_from(steps).unwrap_or(i16::MAX)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "it is within the steps of the largest number, and casts saturate"
)]
fn code(value: f64) -> i16 {
    value.round() as i16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_similarity_is_the_cosine() {
        let question = QueryVector::new(&[3.0, 4.0]).expect("it points somewhere");
        for (vector, expected) in [
            ([3.0, 4.0], Some(1.0)),
            ([-30.0, -40.0], Some(-1.0)),
            ([4.0, -3.0], Some(0.0)),
            ([1.0, 0.0], Some(0.6)),
            ([0.0, 0.0], None),
            ([f32::NAN, 1.0], None),
            ([f32::INFINITY, 1.0], None),
        ] {
            let found = question.similarity(&bytes(&vector));
            let is_near = match (found, expected) {
                (Some(a), Some(b)) => (a - b).abs() < 1e-12,
                (a, b) => a == b,
            };
            assert!(is_near, "{vector:?}: {found:?}");
        }
    }

    #[test]
    fn a_vector_of_another_length_is_not_compared() {
        let question = QueryVector::new(&[1.0, 0.0]).expect("it points somewhere");
        for other in [&[1.0][..], &[1.0, 0.0, 0.0], &[]] {
            assert_eq!(question.similarity(&bytes(other)), None);
        }
        assert_eq!(question.similarity(&[0, 0, 0x80, 0x3f, 0, 0, 0]), None);
    }

    #[test]
    fn a_zero_vector_is_no_question() {
        for vector in [&[][..], &[0.0, 0.0], &[f32::NAN], &[f32::INFINITY, 1.0]] {
            assert!(QueryVector::new(vector).is_none(), "{vector:?}");
        }
        assert!(QueryVector::new(&vec![1.0; MAX_DIMENSIONS + 1]).is_none());
    }

    #[test]
    fn the_sum_of_all_products_does_not_overflow() {
        for dimensions in [1, 2, 768, 3072, MAX_DIMENSIONS] {
            let most = i64::from(steps(dimensions)) * 127;
            let sum = most * i64::try_from(dimensions).expect("small");
            assert!(i32::try_from(sum).is_ok(), "{dimensions}: {sum}");
            assert!(steps(dimensions) >= 200, "{dimensions}");
        }
    }
}
