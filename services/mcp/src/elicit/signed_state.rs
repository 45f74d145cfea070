//! State that travels through a client, signed so that no client can forge it.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use aws_lc_rs::{constant_time::verify_slices_are_equal, hmac};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::Extensions;
use rand::{TryRng as _, rngs::SysRng};
use sha2::{Digest as _, Sha256};
use ziggurat_state::{Shared, StoreError};

use super::replay_guard::{ReplayGuard, Ticket};

/// Time to answer a question.
pub(super) const LIFETIME: Duration = Duration::from_mins(10);

/// Length of a signature in bytes.
const MAC: usize = 32;

/// Proves that this server made a state, for this caller and this call, and that it has not
/// expired.
///
/// Replicas of a server share a key; otherwise a client has to return to the replica that asked.
///
/// It also records the states that were used up, so that an action that must not happen twice runs
/// in one call only. By default one process records its own and refuses all states that are older
/// than itself. Replicas that share a key should [share the record](Self::with_shared) as well, or
/// each of them accepts such a state once.
#[derive(Clone)]
pub struct StateSigner {
    key: Arc<hmac::Key>,
    spent: ReplayGuard,
    principal: fn(&Extensions) -> String,
}

/// A verified state that a client returned.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) state: String,
    ticket: Ticket,
}

/// The scope of a state: one call of one caller.
pub(crate) struct StateScope<'a> {
    pub(crate) principal: &'a [u8],
    pub(crate) method: &'a str,
    /// Digest of the params of the call.
    pub(crate) params: [u8; 32],
}

// === impl StateSigner ===

impl StateSigner {
    /// Makes a random key.
    ///
    /// # Panics
    /// Panics on a system without random numbers.
    #[must_use]
    pub fn random() -> Self {
        let mut key = [0; MAC];
        let filled = SysRng.try_fill_bytes(&mut key);
        filled.expect("the system makes random numbers");
        Self::with(&key)
    }

    /// Derives the key from a secret.
    #[must_use]
    pub fn of(secret: &[u8]) -> Self {
        Self::with(&Sha256::digest(
            [b"ziggurat request state\0", secret].concat(),
        ))
    }

    fn with(key: &[u8]) -> Self {
        Self {
            key: Arc::new(hmac::Key::new(hmac::HMAC_SHA256, key)),
            spent: ReplayGuard::here(now()),
            principal: |_| String::new(),
        }
    }

    /// Sets the function that identifies a caller by the extensions that layers left in its
    /// request. By default all callers are the same, which is correct only for a server without
    /// authentication.
    #[must_use]
    pub fn with_principal(mut self, principal: fn(&Extensions) -> String) -> Self {
        self.principal = principal;
        self
    }

    pub(crate) fn principal(&self, extensions: &Extensions) -> String {
        (self.principal)(extensions)
    }

    /// Shares the record of used states with other replicas.
    #[must_use]
    pub fn with_shared(mut self, shared: Shared) -> Self {
        self.spent = ReplayGuard::Shared(shared);
        self
    }

    /// Uses up a state. Returns whether it was still valid.
    pub(crate) async fn spend(
        &self,
        opened: &Opened,
        principal: &[u8],
    ) -> Result<bool, StoreError> {
        self.spent.spend(opened.ticket, principal, now()).await
    }

    /// Signs a state for the client.
    pub(crate) fn close(&self, state: &str, sealed: &StateScope<'_>) -> String {
        self.close_at(state, sealed, now())
    }

    /// Returns the state, if its signature is valid for this call and it has not expired.
    pub(crate) fn open(&self, text: &str, sealed: &StateScope<'_>) -> Option<Opened> {
        self.open_at(text, sealed, now())
    }

    fn close_at(&self, state: &str, sealed: &StateScope<'_>, now: u64) -> String {
        let ticket = Ticket::at(now + millis(LIFETIME));
        let bytes = ticket.to_bytes();
        let mac = self.mac(&bytes, state.as_bytes(), sealed);
        URL_SAFE_NO_PAD.encode([&bytes[..], mac.as_ref(), state.as_bytes()].concat())
    }

    fn open_at(&self, text: &str, sealed: &StateScope<'_>, now: u64) -> Option<Opened> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (ticket, rest) = bytes.split_first_chunk()?;
        let (mac, state) = rest.split_first_chunk::<MAC>()?;
        let expected = self.mac(ticket, state, sealed);
        // In constant time, so that a client cannot guess the signature byte by byte.
        let is_ours = verify_slices_are_equal(mac, expected.as_ref()).is_ok();
        let ticket = Ticket::from_bytes(ticket);
        if !is_ours || ticket.is_over(now) {
            return None;
        }
        let state = String::from_utf8(state.to_vec()).ok()?;
        Some(Opened { state, ticket })
    }

    /// Computes HMAC-SHA-256 over all parts, each after its length.
    fn mac(&self, ticket: &[u8], state: &[u8], sealed: &StateScope<'_>) -> hmac::Tag {
        let parts = [
            ticket,
            sealed.principal,
            sealed.method.as_bytes(),
            &sealed.params,
            state,
        ];
        let mut mac = hmac::Context::with_key(&self.key);
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac.sign()
    }
}

impl fmt::Debug for StateSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateSigner").finish_non_exhaustive()
    }
}

/// Returns the time in milliseconds since the Unix epoch.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, millis)
}

pub(super) fn millis(time: Duration) -> u64 {
    time.as_millis().try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: StateScope<'static> = StateScope {
        principal: b"ann",
        method: "tools/call",
        params: [7; 32],
    };

    #[test]
    fn a_state_is_valid_for_one_call_of_one_caller_until_it_expires() {
        let seal = StateSigner::of(b"secret");
        let text = seal.close_at("state", &CALL, 1000);
        let open = |seal: &StateSigner, text: &str, call: &StateScope<'_>, now| {
            let opened = seal.open_at(text, call, now);
            opened.map(|opened| opened.state)
        };
        let end = 1000 + millis(LIFETIME);
        assert_eq!(open(&seal, &text, &CALL, end - 1).as_deref(), Some("state"));
        assert_eq!(open(&seal, &text, &CALL, end), None, "too late");
        assert_eq!(open(&StateSigner::of(b"other"), &text, &CALL, 1000), None);
        assert_eq!(open(&StateSigner::random(), &text, &CALL, 1000), None);
        let others = [
            StateScope {
                principal: b"bob",
                ..CALL
            },
            StateScope {
                method: "prompts/get",
                ..CALL
            },
            StateScope {
                params: [8; 32],
                ..CALL
            },
            // Bytes that move from one part to the next change the signature.
            StateScope {
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
    fn no_two_states_are_the_same() {
        let seal = StateSigner::of(b"secret");
        let close = || seal.close_at("state", &CALL, 1000);
        assert_ne!(close(), close());
    }

    #[test]
    fn a_state_with_any_character_changed_is_refused() {
        let seal = StateSigner::random();
        let text = seal.close("a state", &CALL);
        let open = |text: &str| seal.open(text, &CALL).map(|opened| opened.state);
        assert_eq!(open(&text).as_deref(), Some("a state"));
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).expect("ASCII");
            assert_eq!(open(&changed), None, "{at}");
        }
        for text in [
            "",
            "AAAA",
            "=",
            &format!("{text}="),
            &text[..text.len() - 1],
        ] {
            assert_eq!(open(text), None, "{text}");
        }
    }
}
