//! The short code that a person reads on a device and types in a browser (RFC 8628).

use crate::keys::{KeyError, digest, letters};

/// Letters of a code: without vowels, so that no words come out.
const LETTERS: &[u8] = b"BCDFGHJKLMNPQRSTVWXZ";

/// Number of letters.
const LENGTH: usize = 8;

/// Returns a new code, with a dash in the middle.
pub(crate) fn new() -> Result<String, KeyError> {
    let letters: [u8; LENGTH] = letters(LETTERS)?;
    let mut code: String = letters.map(char::from).into_iter().collect();
    code.insert(LENGTH / 2, '-');
    Ok(code)
}

/// Returns the letters of a code as a person typed it; case, blanks and dashes count nothing.
pub(crate) fn read(typed: &str) -> Option<String> {
    let letters = typed.chars().filter(|c| !c.is_whitespace() && *c != '-');
    let code: String = letters.map(|c| c.to_ascii_uppercase()).collect();
    let is_letter = |byte| LETTERS.contains(&byte);
    (code.len() == LENGTH && code.bytes().all(is_letter)).then_some(code)
}

/// Returns the digest of a code as a person typed it.
pub(crate) fn hash(typed: &str) -> Option<[u8; 32]> {
    read(typed).map(|code| digest(code.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_however_a_person_types_it() {
        let code = new().expect("random letters");
        assert_eq!(code.len(), LENGTH + 1);
        assert!(read(&code).is_some(), "{code}");
        for typed in ["BCDF-GHJK", "bcdfghjk", " b c d f - g h j k "] {
            assert_eq!(read(typed).as_deref(), Some("BCDFGHJK"), "{typed}");
        }
        for typed in [
            "",
            "BCDF-GHJ",
            "BCDF-GHJKL",
            "BCDF-GHJA",
            "BCDF-GHJ\u{212a}",
            "ßßßß",
        ] {
            assert_eq!(read(typed), None, "{typed}");
        }
        assert_ne!(new(), new());
    }
}
