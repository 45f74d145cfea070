//! Hexadecimal text.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, Read as _},
};

/// Writes two digits for each byte.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        write!(out, "{byte:02x}").expect("a string takes everything");
    }
    out
}

/// Cryptographically random bytes, as text.
pub(crate) fn random(bytes: usize) -> io::Result<String> {
    let mut random = vec![0; bytes];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(encode(&random))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_becomes_two_digits() {
        assert_eq!(encode(&[0, 1, 0x7f, 0xff]), "00017fff");
        assert_eq!(encode(&[]), "");
    }

    #[test]
    fn random_texts_differ() {
        let text = || random(16).expect("every Unix has /dev/urandom");
        assert_eq!(text().len(), 32);
        assert_ne!(text(), text());
    }
}
