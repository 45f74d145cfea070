//! bcrypt that yields the processor to other threads.
//!
//! A digest uses a core for half a second. Without yielding, requests on the same core would wait
//! for whole time slices of several milliseconds; so the thread yields after every round, which
//! takes a tenth of a millisecond. That costs about one percent if no other thread waits.
//!
//! The `bcrypt` crate does not yield: with it, the bench `login_flood` found the 99th percentile of
//! other requests 2.5 to 3.0 times as long during a flood of wrong logins, and 1.1 to 1.2 times with
//! these rounds, on two cores.

use std::thread;

use base64::Engine as _;
use bcrypt::BASE_64;
use blowfish::Blowfish;
use secrecy::zeroize::Zeroizing;

/// Limit of bcrypt on the length of a password.
pub(crate) const MAX_BYTES: usize = 72;

/// Random salt, so that two digests of one password differ.
pub(crate) type Salt = [u8; 16];

/// `OrpheanBeholderScryDoubt`, the text that bcrypt encrypts repeatedly.
const TEXT: [[u32; 2]; 3] = [
    [0x4f72_7068, 0x6561_6e42],
    [0x6568_6f6c, 0x6465_7253],
    [0x6372_7944, 0x6f75_6274],
];

/// Length of the stored digest: the first bcrypt dropped the last byte, and all others follow it.
const DIGEST: usize = 23;

/// Returns the hash to store for a password, of its first 72 bytes at most.
pub(crate) fn kept(password: &str, salt: Salt, cost: u32) -> String {
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

/// Returns the password with its final zero byte, truncated to 72 bytes.
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
    fn a_password_has_the_same_hash_as_with_other_implementations() {
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
        fn every_password_has_the_same_hash_as_with_the_bcrypt_crate(
            password in "\\PC{0,80}|[\\x00-\\x7f]{70,74}",
            salt: Salt,
        ) {
            let theirs = bcrypt::hash_with_salt(&password, 4, salt).expect("hashed");
            prop_assert_eq!(kept(&password, salt, 4), theirs.format_for_version(Version::TwoB));
        }
    }
}
