//! Finds the bytes in a text that have to be escaped, eight bytes at a time.
//!
//! The texts are fields and lines, most of them short and with nothing to escape.

/// A byte in each of eight places.
const ONES: u64 = u64::from_le_bytes([1; 8]);

/// The sign bit of each of eight bytes.
const SIGNS: u64 = u64::from_le_bytes([0x80; 8]);

/// The first control character (below 0x20).
pub fn control(text: &str) -> Option<usize> {
    first(text.as_bytes(), controls, |byte| byte < 0x20)
}

/// The first byte that cannot stand in a JSON string as it is (RFC 8259, section 7).
#[must_use]
pub fn special(text: &str) -> Option<usize> {
    let specials = |word| controls(word) | equal(word, b'"') | equal(word, b'\\');
    let is_special = |byte| byte < 0x20 || byte == b'"' || byte == b'\\';
    first(text.as_bytes(), specials, is_special)
}

/// Whether all of it is printable ASCII without a quote or a backslash: no format has to escape
/// any of it.
#[must_use]
pub fn is_plain(bytes: &[u8]) -> bool {
    let unfit = |word| controls(word) | equal(word, b'"') | equal(word, b'\\') | word & SIGNS;
    let is_fit = |word: [u8; 8]| unfit(u64::from_le_bytes(word)) == 0;
    let (words, rest) = bytes.as_chunks::<8>();
    if let Some(last) = bytes.last_chunk::<8>() {
        // What is behind the last whole word is in the last eight bytes.
        return words.iter().all(|word| is_fit(*word)) && is_fit(*last);
    }
    let mut word = [b'x'; 8];
    word[..rest.len()].copy_from_slice(rest);
    is_fit(word)
}

/// The sign bits of `found` are those of what is looked for; behind the first of them it may
/// find too much, since what is subtracted there borrows.
fn first(bytes: &[u8], found: impl Fn(u64) -> u64, is_it: impl Fn(u8) -> bool) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let found = found(u64::from_le_bytes(*word));
        if found != 0 {
            let place = found.trailing_zeros() / 8;
            return Some(at * 8 + usize::try_from(place).unwrap_or(0));
        }
    }
    let place = rest.iter().position(|&byte| is_it(byte))?;
    Some(words.len() * 8 + place)
}

/// Bytes below 0x20.
fn controls(word: u64) -> u64 {
    word.wrapping_sub(ONES * 0x20) & !word & SIGNS
}

/// Bytes that are this one.
fn equal(word: u64, byte: u8) -> u64 {
    let difference = word ^ (ONES * u64::from(byte));
    difference.wrapping_sub(ONES) & !difference & SIGNS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_byte_is_found_or_passed_over_in_every_place() {
        for code in 0..=u8::MAX {
            for place in 0..20 {
                let mut text = "x".repeat(place);
                text.push(char::from(code));
                text.push_str("\u{1f}tail \t\"");
                let at = |is_it: fn(u8) -> bool| text.bytes().position(is_it);
                assert_eq!(control(&text), at(|b| b < 0x20), "{code} at {place}");
                let expected = at(|b| b < 0x20 || b == b'"' || b == b'\\');
                assert_eq!(special(&text), expected, "{code} at {place}");

                let mut bytes = [b'x'; 20];
                bytes[place] = code;
                let is_fit = matches!(code, b' '..=0x7f) && code != b'"' && code != b'\\';
                for length in place + 1..=bytes.len() {
                    assert_eq!(is_plain(&bytes[..length]), is_fit, "{code} at {place}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_as_byte_by_byte(text: String) {
            prop_assert_eq!(control(&text), text.bytes().position(|b| b < 0x20));
            let is_special = |b| b < 0x20 || b == b'"' || b == b'\\';
            prop_assert_eq!(special(&text), text.bytes().position(is_special));
        }
    }
}
