//! Finds the bytes of a text that need an escape, eight bytes at a time.
//!
//! Most of the texts are short fields and lines that need no escape.

/// The value 1 in each of eight bytes.
const ONES: u64 = u64::from_le_bytes([1; 8]);

/// The sign bit of each of eight bytes.
const SIGNS: u64 = u64::from_le_bytes([0x80; 8]);

/// Returns the position of the first control character (below 0x20).
pub fn control(text: &str) -> Option<usize> {
    first(text.as_bytes(), controls, |byte| byte < 0x20)
}

/// Returns the position of the first control character (below 0x20) or backslash.
#[must_use]
pub fn control_or_backslash(text: &str) -> Option<usize> {
    let found = |word| controls(word) | equal(word, b'\\');
    first(text.as_bytes(), found, |byte| byte < 0x20 || byte == b'\\')
}

/// Returns the position of the first byte that JSON strings escape (RFC 8259, section 7).
#[must_use]
pub fn special(text: &str) -> Option<usize> {
    let specials = |word| controls(word) | equal(word, b'"') | equal(word, b'\\');
    let is_special = |byte| byte < 0x20 || byte == b'"' || byte == b'\\';
    first(text.as_bytes(), specials, is_special)
}

/// Returns whether all bytes are printable ASCII without quotes and backslashes, which no format
/// escapes.
#[must_use]
pub fn is_plain(bytes: &[u8]) -> bool {
    let is_fit = |word: u64| {
        let quotes = equal(word, b'"') | equal(word, b'\\');
        (controls(word) | quotes | equal(word, 0x7f) | word & SIGNS) == 0
    };
    let (words, rest) = bytes.as_chunks::<8>();
    let is_plain = |byte: &u8| matches!(byte, b' '..0x7f) && !matches!(byte, b'"' | b'\\');
    // Bytes after the last word are searched with some of that word: together, not one by one.
    let rest_is_fit = || match bytes.last_chunk() {
        Some(last) => rest.is_empty() || is_fit(u64::from_le_bytes(*last)),
        None => rest.iter().all(is_plain),
    };
    words.iter().copied().map(u64::from_le_bytes).all(is_fit) && rest_is_fit()
}

/// Returns the content of a valid JSON string, unless it has escapes.
#[must_use]
pub fn unescaped(json: &str) -> Option<&str> {
    let content = json.strip_prefix('"')?.strip_suffix('"')?;
    (!content.contains('\\')).then_some(content)
}

/// Returns the first match. `found` sets the sign bits of matching bytes; only its first match
/// counts, because the subtraction borrows from later bytes.
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

/// Marks bytes below 0x20.
fn controls(word: u64) -> u64 {
    word.wrapping_sub(ONES * 0x20) & !word & SIGNS
}

/// Marks bytes equal to `byte`.
fn equal(word: u64, byte: u8) -> u64 {
    let difference = word ^ (ONES * u64::from(byte));
    difference.wrapping_sub(ONES) & !difference & SIGNS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_byte_value_is_handled_at_every_position() {
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
                let backslash = at(|b| b < 0x20 || b == b'\\');
                assert_eq!(control_or_backslash(&text), backslash, "{code} at {place}");

                let is_fit = matches!(code, b' '..0x7f) && code != b'"' && code != b'\\';
                for length in place + 1..=bytes.len() {
                    assert_eq!(is_plain(&bytes[..length]), is_fit, "{code} at {place}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_gives_the_same_result_as_a_scan_by_bytes(text: String) {
            prop_assert_eq!(control(&text), text.bytes().position(|b| b < 0x20));
            let is_special = |b| b < 0x20 || b == b'"' || b == b'\\';
            prop_assert_eq!(special(&text), text.bytes().position(is_special));
        }
    }
}
