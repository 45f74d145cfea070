//! The vectors of a model, read from a file of tensors.

use safetensors::{Dtype, SafeTensors, tensor::TensorInfo};
use ziggurat_runtime::Problem;

/// Length of the field with the size of the header.
const SIZE: usize = 8;

/// Limit on the dimensions of a vector; `pgvector` stores 16,000 at most.
const MAX_DIMENSIONS: usize = 16_000;

/// A vector for each token, or for each group of tokens, in the form of the file.
pub(super) struct Table {
    file: Vec<u8>,
    /// Position of the first vector in the file.
    start: usize,
    numbers: Numbers,
    rows: usize,
    dimensions: usize,
    /// The row of each token, if tokens share rows.
    mapping: Option<Vec<usize>>,
    /// The weight of each token, if they differ.
    weights: Option<Vec<f32>>,
}

/// Form of the numbers of vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbers {
    Single,
    Half,
    Byte,
}

// === impl Table ===

impl Table {
    /// Reads a file for a tokenizer with this many tokens.
    pub(super) fn new(file: Vec<u8>, tokens: usize) -> Result<Self, Problem> {
        let (header, tensors) = SafeTensors::read_metadata(&file).map_err(|e| e.to_string())?;
        let start = SIZE + header;
        let embeddings = tensors.info("embeddings");
        let embeddings = embeddings.ok_or("there is no tensor \"embeddings\"")?;
        let numbers = Numbers::of(embeddings)?;
        let [rows, dimensions] = embeddings.shape[..] else {
            return Err("the tensor \"embeddings\" is no table".into());
        };
        if rows == 0 || !(1..=MAX_DIMENSIONS).contains(&dimensions) {
            return Err(
                format!("a table of {rows} rows and {dimensions} columns has no vectors").into(),
            );
        }
        let data = |info: &TensorInfo| {
            let (from, to) = info.data_offsets;
            file.get(start + from..start + to).unwrap_or_default()
        };
        let mapping = tensors.info("mapping");
        let mapping = mapping
            .map(|info| mapping_of(info, data(info)))
            .transpose()?;
        let weights = tensors.info("weights");
        let weights = weights
            .map(|info| weights_of(info, data(info)))
            .transpose()?;
        let mapped = mapping.as_ref().map_or(rows, Vec::len);
        let weighted = weights.as_ref().map_or(tokens, Vec::len);
        if mapped != tokens || weighted != tokens {
            return Err(format!(
                "it has vectors for {mapped} tokens and weights for {weighted}, and \
                 tokenizer.json has {tokens} tokens: the files are not of one model"
            )
            .into());
        }
        if let Some(row) = mapping.iter().flatten().find(|row| **row >= rows) {
            return Err(format!("a token has the vector {row} of only {rows}").into());
        }
        let start = start + embeddings.data_offsets.0;
        let table = Self {
            file,
            start,
            numbers,
            rows,
            dimensions,
            mapping,
            weights,
        };
        table.check().map(|()| table)
    }

    /// Checks that every vector is in the file and has finite numbers.
    fn check(&self) -> Result<(), Problem> {
        let bytes = self.rows.checked_mul(self.dimensions);
        let bytes = bytes.and_then(|count| count.checked_mul(self.numbers.bytes()));
        let end = bytes.and_then(|bytes| bytes.checked_add(self.start));
        if end.is_none_or(|end| end > self.file.len()) {
            return Err("the tensor \"embeddings\" is cut".into());
        }
        let mut sum = vec![0.0; self.dimensions];
        for row in 0..self.rows {
            sum.fill(0.0);
            self.add_row(row, 1.0, &mut sum);
            if !sum.iter().all(|value| value.is_finite()) {
                return Err(format!("the vector {row} has a number that is not finite").into());
            }
        }
        Ok(())
    }

    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Adds the vector of a token with its weight; an unknown token adds nothing.
    pub(super) fn add(&self, token: usize, sum: &mut [f32]) {
        let row = match &self.mapping {
            Some(mapping) => mapping.get(token).copied(),
            None => Some(token),
        };
        let weight = match &self.weights {
            Some(weights) => weights.get(token).copied(),
            None => Some(1.0),
        };
        if let Some((row, weight)) = row.zip(weight) {
            self.add_row(row, weight, sum);
        }
    }

    fn add_row(&self, row: usize, weight: f32, sum: &mut [f32]) {
        let length = self.dimensions * self.numbers.bytes();
        let start = self.start + row.saturating_mul(length);
        let bytes = self.file.get(start..).and_then(|rest| rest.get(..length));
        let bytes = bytes.unwrap_or_default();
        match self.numbers {
            Numbers::Single => {
                for (sum, number) in sum.iter_mut().zip(bytes.as_chunks().0) {
                    *sum += weight * f32::from_le_bytes(*number);
                }
            }
            Numbers::Half => {
                for (sum, number) in sum.iter_mut().zip(bytes.as_chunks().0) {
                    *sum += weight * single(u16::from_le_bytes(*number));
                }
            }
            Numbers::Byte => {
                for (sum, number) in sum.iter_mut().zip(bytes) {
                    *sum += weight * f32::from(number.cast_signed());
                }
            }
        }
    }
}

// === impl Numbers ===

impl Numbers {
    fn of(info: &TensorInfo) -> Result<Self, Problem> {
        match info.dtype {
            Dtype::F32 => Ok(Self::Single),
            Dtype::F16 => Ok(Self::Half),
            Dtype::I8 => Ok(Self::Byte),
            other => Err(format!(
                "the tensor \"embeddings\" has the type {other:?}; F32, F16 and I8 are read"
            )
            .into()),
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::Single => 4,
            Self::Half => 2,
            Self::Byte => 1,
        }
    }
}

/// Reads the row of each token.
fn mapping_of(info: &TensorInfo, data: &[u8]) -> Result<Vec<usize>, Problem> {
    let unsigned = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
    let numbers = match info.dtype {
        Dtype::I64 => each(data, |bytes| unsigned(i64::from_le_bytes(bytes))),
        Dtype::I32 => each(data, |bytes| unsigned(i32::from_le_bytes(bytes).into())),
        Dtype::U32 => each(data, |bytes| unsigned(u32::from_le_bytes(bytes).into())),
        Dtype::U16 => each(data, |bytes| u16::from_le_bytes(bytes).into()),
        other => return Err(format!("the tensor \"mapping\" has the type {other:?}").into()),
    };
    Ok(numbers)
}

/// Reads the weight of each token.
fn weights_of(info: &TensorInfo, data: &[u8]) -> Result<Vec<f32>, Problem> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "weights need no more precision"
    )]
    let numbers: Vec<f32> = match info.dtype {
        Dtype::F64 => each(data, |bytes| f64::from_le_bytes(bytes) as f32),
        Dtype::F32 => each(data, f32::from_le_bytes),
        Dtype::F16 => each(data, |bytes| single(u16::from_le_bytes(bytes))),
        other => return Err(format!("the tensor \"weights\" has the type {other:?}").into()),
    };
    if numbers.iter().all(|number| number.is_finite()) {
        Ok(numbers)
    } else {
        Err("the tensor \"weights\" has a number that is not finite".into())
    }
}

fn each<const N: usize, T>(data: &[u8], read: impl Fn([u8; N]) -> T) -> Vec<T> {
    let (numbers, _) = data.as_chunks();
    numbers.iter().map(|bytes| read(*bytes)).collect()
}

/// Converts a number of half precision (IEEE 754 binary16).
fn single(half: u16) -> f32 {
    let sign = u32::from(half >> 15) << 31;
    let exponent = u32::from(half >> 10 & 0x1f);
    let fraction = u32::from(half & 0x3ff);
    let bits = match exponent {
        // Zero, and numbers that are smaller than the normal ones: multiples of 2^-24.
        0 => {
            let number = f32::from(half & 0x3ff) * 2.0_f32.powi(-24);
            return if sign == 0 { number } else { -number };
        }
        // Infinity and NaN.
        0x1f => 0xff << 23 | fraction << 13,
        _ => (exponent + 112) << 23 | fraction << 13,
    };
    f32::from_bits(sign | bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_half_precision_are_those_of_the_standard() {
        for (half, expected) in [
            (0x0000, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0001, 5.960_464_5e-8),
            (0x8400, -6.103_515_6e-5),
            (0x3555, 0.333_251_95),
        ] {
            let number = single(half);
            assert!(
                (number - expected).abs() <= f32::EPSILON * expected.abs(),
                "{half:x}: {number}"
            );
        }
        assert!(single(0x7c00).is_infinite() && single(0x7e00).is_nan());
    }
}
