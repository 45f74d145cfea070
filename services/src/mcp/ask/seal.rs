//! What goes to a client and comes back, and is nobody's but ours.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rand::{TryRng as _, rngs::SysRng};
use sha2::{Digest as _, Sha256};

/// Time to answer a question.
const LIFETIME: Duration = Duration::from_mins(10);

/// The block of SHA-256 (RFC 2104).
const BLOCK: usize = 64;

const MAC: usize = 32;
const EXPIRY: usize = 8;

/// Proves that a state came from here, for this caller and this call, and not long ago.
///
/// Replicas of a server share a key, or a client has to come back to the one that asked.
#[derive(Clone)]
pub struct Seal {
    key: Arc<[u8; BLOCK]>,
}

/// What a state is good for: one call of one caller.
pub(in crate::mcp) struct Sealed<'a> {
    pub(in crate::mcp) principal: &'a [u8],
    pub(in crate::mcp) method: &'a str,
    /// What is called, and with what.
    pub(in crate::mcp) params: [u8; 32],
}

// === impl Seal ===

impl Seal {
    /// Makes a key that nobody else has.
    ///
    /// # Panics
    /// Panics on a system without random numbers.
    #[must_use]
    pub fn random() -> Self {
        let mut key = [0; BLOCK];
        let filled = SysRng.try_fill_bytes(&mut key);
        filled.expect("the system makes random numbers");
        Self { key: Arc::new(key) }
    }

    /// Makes the key of a secret.
    #[must_use]
    pub fn of(secret: &[u8]) -> Self {
        let mut key = [0; BLOCK];
        let digest = Sha256::digest([b"ziggurat request state\0", secret].concat());
        key[..MAC].copy_from_slice(&digest);
        Self { key: Arc::new(key) }
    }

    /// Makes of a state what the client gets.
    pub(in crate::mcp) fn close(&self, state: &str, sealed: &Sealed<'_>) -> String {
        self.close_at(state, sealed, now())
    }

    /// The state, if what the client sends is what it got, and it is not too late.
    pub(in crate::mcp) fn open(&self, text: &str, sealed: &Sealed<'_>) -> Option<String> {
        self.open_at(text, sealed, now())
    }

    fn close_at(&self, state: &str, sealed: &Sealed<'_>, now: u64) -> String {
        let expiry = (now + LIFETIME.as_secs()).to_be_bytes();
        let mac = self.mac(&expiry, state.as_bytes(), sealed);
        URL_SAFE_NO_PAD.encode([&expiry[..], &mac, state.as_bytes()].concat())
    }

    fn open_at(&self, text: &str, sealed: &Sealed<'_>, now: u64) -> Option<String> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (expiry, rest) = bytes.split_first_chunk::<EXPIRY>()?;
        let (mac, state) = rest.split_first_chunk::<MAC>()?;
        let is_ours = is_same(mac, &self.mac(expiry, state, sealed));
        let is_fresh = now < u64::from_be_bytes(*expiry);
        if !is_ours || !is_fresh {
            return None;
        }
        String::from_utf8(state.to_vec()).ok()
    }

    /// HMAC-SHA-256 over everything, each part with its length before it.
    fn mac(&self, expiry: &[u8], state: &[u8], sealed: &Sealed<'_>) -> [u8; MAC] {
        let parts = [
            expiry,
            sealed.principal,
            sealed.method.as_bytes(),
            &sealed.params,
            state,
        ];
        let mut inner = Sha256::new();
        inner.update(self.key.map(|byte| byte ^ 0x36));
        for part in parts {
            inner.update((part.len() as u64).to_be_bytes());
            inner.update(part);
        }
        let mut outer = Sha256::new();
        outer.update(self.key.map(|byte| byte ^ 0x5c));
        outer.update(inner.finalize());
        outer.finalize().into()
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seal").finish_non_exhaustive()
    }
}

/// Takes as long for any two.
fn is_same(a: &[u8; MAC], b: &[u8; MAC]) -> bool {
    let differences = a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b));
    differences == 0
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: Sealed<'static> = Sealed {
        principal: b"ann",
        method: "tools/call",
        params: [7; 32],
    };

    #[test]
    fn a_state_is_good_for_one_call_of_one_caller_for_a_while() {
        let seal = Seal::of(b"secret");
        let text = seal.close_at("state", &CALL, 1000);
        let open = |seal: &Seal, text: &str, call: &Sealed<'_>, now| seal.open_at(text, call, now);
        assert_eq!(open(&seal, &text, &CALL, 1599).as_deref(), Some("state"));
        assert_eq!(open(&seal, &text, &CALL, 1600), None, "too late");
        assert_eq!(open(&Seal::of(b"other"), &text, &CALL, 1000), None);
        assert_eq!(open(&Seal::random(), &text, &CALL, 1000), None);
        let others = [
            Sealed {
                principal: b"bob",
                ..CALL
            },
            Sealed {
                method: "prompts/get",
                ..CALL
            },
            Sealed {
                params: [8; 32],
                ..CALL
            },
            // Nothing moves from one part to the next.
            Sealed {
                principal: b"anntools",
                method: "/call",
                ..CALL
            },
        ];
        for other in others {
            assert_eq!(open(&seal, &text, &other, 1000), None);
        }
    }

    #[test]
    fn a_state_with_any_character_changed_is_refused() {
        let seal = Seal::random();
        let text = seal.close("a state", &CALL);
        assert_eq!(seal.open(&text, &CALL).as_deref(), Some("a state"));
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).expect("ASCII");
            assert_eq!(seal.open(&changed, &CALL), None, "{at}");
        }
        for text in [
            "",
            "AAAA",
            "=",
            &format!("{text}="),
            &text[..text.len() - 1],
        ] {
            assert_eq!(seal.open(text, &CALL), None, "{text}");
        }
    }
}
