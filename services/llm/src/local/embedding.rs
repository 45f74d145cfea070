//! Vectors of texts without a model: hashed features.
//!
//! Each word, each pair of neighbouring words and each run of three letters is hashed to one of 256
//! dimensions and added there with a sign from the hash; the sum is normalized. Texts that share
//! words, or stems of words, get similar vectors, and the same text has the same vector on every
//! machine. Meaning does not count: *frost* and *ice* are unrelated.

/// Number of dimensions of a vector of [`Embedder::local`](crate::Embedder::local).
pub const DIMENSIONS: usize = 256;

/// Weight of a pair of words; a word has weight one.
const PAIR_WEIGHT: f32 = 0.5;

/// Weight of a run of three letters; a word has weight one.
const TRIGRAM: f32 = 0.5;

/// Words that nearly every text contains.
const STOP_WORDS: [&str; 40] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "do", "does", "for", "from", "has",
    "how", "i", "if", "in", "is", "it", "its", "my", "no", "not", "of", "on", "or", "so", "than",
    "that", "the", "then", "there", "to", "was", "what", "when", "which", "with", "you",
];

/// Computes the vector of a text: of length one, or all zeros if it has no words.
pub(crate) fn embed(text: &str) -> [f32; DIMENSIONS] {
    let mut vector = [0.0; DIMENSIONS];
    let text = text.to_lowercase();
    let words = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && !STOP_WORDS.contains(word));
    let mut previous = None;
    for word in words {
        add(&mut vector, ["word", word, ""], 1.0);
        if let Some(previous) = previous {
            add(&mut vector, ["pair", previous, word], PAIR_WEIGHT);
        }
        previous = Some(word);
        for trigram in trigrams(word) {
            add(&mut vector, ["run", &trigram, ""], TRIGRAM);
        }
    }
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        for value in &mut vector {
            *value /= length;
        }
    }
    vector
}

/// Returns the runs of three letters; the boundaries of a word count as letters.
fn trigrams(word: &str) -> Vec<String> {
    let letters: Vec<char> = format!("<{word}>").chars().collect();
    letters.windows(3).map(String::from_iter).collect()
}

/// Adds a feature in the dimension, and with the sign, that its hash gives.
fn add(vector: &mut [f32; DIMENSIONS], feature: [&str; 3], weight: f32) {
    let hash = hash(feature);
    let at = usize::from(hash.to_le_bytes()[0]);
    let is_negative = hash >> 63 == 1;
    vector[at] += if is_negative { -weight } else { weight };
}

/// FNV-1a over the parts, mixed at the end because its low bits alone are weak.
fn hash(parts: [&str; 3]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        // No text contains this byte, so that "ab", "c" and "a", "bc" differ.
        for byte in part.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ hash >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn similarity(a: &str, b: &str) -> f32 {
        embed(a).iter().zip(embed(b)).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn a_vector_has_length_one_for_any_text() {
        for text in ["frost", "Wool gloves", "¿Qué? Ärger! 雪が降る", "x"] {
            let length = similarity(text, text);
            assert!((length - 1.0).abs() < 1e-5, "{text}: {length}");
        }
    }

    #[test]
    fn a_text_without_words_has_a_zero_vector() {
        for text in ["", " … ", "and of the"] {
            assert!(embed(text).iter().all(|value| *value == 0.0), "{text}");
        }
    }

    #[test]
    fn case_and_punctuation_do_not_matter() {
        assert!(similarity("Cast-iron PAN!", "cast iron pan") > 0.999);
    }

    #[test]
    fn texts_with_words_or_stems_in_common_are_closer() {
        let question = "how do I return a broken hammock";
        let near = "Returns: a hammock that arrived broken";
        let far = "Basil wants a warm wall and dry feet";
        assert!(similarity(question, near) > 0.3 + similarity(question, far));
        assert!(similarity("sharpening knives", "sharpen a knife") > 0.2);
    }

    #[test]
    fn vectors_are_stable_across_versions() {
        // Stored vectors are compared with vectors of later versions.
        let places: Vec<_> = embed("frost")
            .into_iter()
            .enumerate()
            .filter(|(_, value)| *value != 0.0)
            .map(|(at, value)| (at, value > 0.0))
            .collect();
        let expected = [
            (33, true),
            (36, false),
            (43, false),
            (104, true),
            (179, false),
            (239, true),
        ];
        assert_eq!(places, expected);
    }
}
