//! The arithmetic of bcrypt, which makes way for everybody else.
//!
//! A digest takes a processor for half a second. Left alone it would take it by whole time slices,
//! milliseconds that a request on the same processor waits for; so it offers the processor to
//! whoever wants it after every round, which is a tenth of a millisecond. Where nobody does, that
//! costs about one part in a hundred.

use std::thread;

use base64::Engine as _;
use bcrypt::BASE_64;
use blowfish::Blowfish;
use secrecy::zeroize::Zeroizing;

/// bcrypt reads no more of a password.
pub(super) const MAX_BYTES: usize = 72;

/// What makes two digests of one password different.
pub(super) type Salt = [u8; 16];

/// `OrpheanBeholderScryDoubt`, which is encrypted over and over.
const TEXT: [[u32; 2]; 3] = [
    [0x4f72_7068, 0x6561_6e42],
    [0x6568_6f6c, 0x6465_7253],
    [0x6372_7944, 0x6f75_6274],
];

/// How much of the digest counts: a byte was forgotten in the first bcrypt, and is ever since.
const DIGEST: usize = 23;

/// The text that is kept of a password: of its first 72 bytes, if there are more.
pub(super) fn kept(password: &str, salt: Salt, cost: u32) -> String {
    let digest = digest(password, salt, cost);
    let [salt, digest] = [&salt[..], &digest[..DIGEST]].map(|bytes| BASE_64.encode(bytes));
    format!("$2b${cost:02}${salt}{digest}")
}

fn digest(password: &str, salt: Salt, cost: u32) -> [u8; 24] {
    let key = key(password);
    let mut state = Blowfish::bc_init_state();
    state.salted_expand_key(&salt, &key);
    for _ in 0..1_u64 << cost {
        state.bc_expand_key(&key);
        state.bc_expand_key(&salt);
        thread::yield_now();
    }
    let mut words = TEXT;
    for pair in &mut words {
        for _ in 0..64 {
            *pair = state.bc_encrypt(*pair);
        }
    }
    let mut digest = [0; 24];
    let (places, _) = digest.as_chunks_mut();
    for (place, word) in places.iter_mut().zip(words.as_flattened()) {
        *place = word.to_be_bytes();
    }
    digest
}

/// The password with the zero that ends it, as far as it counts.
fn key(password: &str) -> Zeroizing<Vec<u8>> {
    let mut key = Zeroizing::new(Vec::with_capacity(MAX_BYTES));
    key.extend(password.bytes().chain([0]).take(MAX_BYTES));
    key
}

#[cfg(test)]
mod tests {
    use bcrypt::Version;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_password_has_the_hash_everybody_else_makes_of_it() {
        for (password, hash) in [
            (
                "",
                "$2b$06$DCq7YPn5Rq63x1Lad4cll.TV4S6ytwfsfvkgY8jIucDrjc8deX1s.",
            ),
            (
                "a",
                "$2b$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe",
            ),
            (
                "abcdefghijklmnopqrstuvwxyz",
                "$2b$08$aTsUwsyowQuzRrDqFflhgekJ8d9/7Z3GV3UcgvzQW3J5zMyrTvlz.",
            ),
        ] {
            let parts: bcrypt::HashParts = hash.parse().expect("a hash");
            let made = kept(password, parts.get_salt_raw(), parts.get_cost());
            assert_eq!(made, hash, "{password}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn every_password_is_hashed_as_the_library_does_it(
            password in "\\PC{0,80}|[\\x00-\\x7f]{70,74}",
            salt: Salt,
        ) {
            let theirs = bcrypt::hash_with_salt(&password, 4, salt).expect("hashed");
            prop_assert_eq!(kept(&password, salt, 4), theirs.format_for_version(Version::TwoB));
        }
    }
}
