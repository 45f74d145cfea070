//! Refresh tokens: only the generation is kept, in the row of its grant.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};

use crate::{keys::Seal, store::GrantId};

/// Beginning of every refresh token.
const PREFIX: &str = "zrt_";

/// Bytes of the proof.
const PROOF: usize = 24;

/// A refresh token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RefreshToken {
    pub(crate) grant: GrantId,
    pub(crate) generation: u32,
}

// === impl RefreshToken ===

impl RefreshToken {
    /// Reads a token that this server wrote.
    pub(crate) fn read(token: &str, seal: &Seal) -> Option<Self> {
        let bytes = BASE64_URL_SAFE_NO_PAD
            .decode(token.strip_prefix(PREFIX)?)
            .ok()?;
        let (grant, rest) = bytes.split_first_chunk()?;
        let (generation, _) = rest.split_first_chunk()?;
        let found = Self {
            grant: *grant,
            generation: u32::from_be_bytes(*generation),
        };
        // Compared as digests, so that the time says nothing.
        let digest = |text: &str| crate::keys::digest(text.as_bytes());
        (digest(&found.write(seal)) == digest(token)).then_some(found)
    }

    /// Writes the token.
    pub(crate) fn write(self, seal: &Seal) -> String {
        let named = [&self.grant[..], &self.generation.to_be_bytes()].concat();
        let proof = seal.prove("refresh", &named);
        let bytes = [&named, &proof[..PROOF]].concat();
        format!("{PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_bit_of_a_refresh_token_can_be_changed() {
        let seal = Seal::new(&[3; 32]);
        let token = RefreshToken {
            grant: [9; 16],
            generation: 7,
        };
        let text = token.write(&seal);
        assert_eq!(RefreshToken::read(&text, &seal), Some(token));
        for place in 0..text.len() {
            for bit in 0..7 {
                let mut bent = text.clone().into_bytes();
                bent[place] ^= 1 << bit;
                let bent = String::from_utf8(bent).expect("ASCII");
                assert_eq!(RefreshToken::read(&bent, &seal), None, "{place}, {bit}");
            }
        }
        assert_eq!(RefreshToken::read(&text, &Seal::new(&[4; 32])), None);
    }
}
