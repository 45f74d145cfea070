//! State that travels through a client, signed so that no client can forge it.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac_sha256::HMAC;
use sha2::{Digest as _, Sha256};
use ziggurat_layers::json_rpc::Call;

use crate::{
    Caller,
    elicit::replay_guard::{RecordUnreachable, ReplayGuard, StateId, UsedAnswers},
    params,
};

/// Time to answer a question.
pub(super) const LIFETIME: Duration = Duration::from_secs(10 * 60);

/// Length of a signature in bytes.
const MAC: usize = 32;

/// Proves that this server made a state, for this caller and this call, and that it has not
/// expired.
///
/// Replicas of a server share a key; otherwise a client has to return to the replica that asked.
///
/// It also records the states that were used up, so that an action that must not happen twice runs
/// in one call only. By default one process records its own and refuses all states that are older
/// than itself. Replicas that share a key should [share the record](Self::with_used_answers) as well, or
/// each of them accepts such a state once.
#[derive(Clone)]
pub struct StateSigner {
    /// Keyed, and cloned for each signature.
    mac: HMAC,
    used_states: ReplayGuard,
    principal: fn(&Caller) -> String,
}

/// A verified state that a client returned.
#[derive(Clone)]
pub(crate) struct SignedState {
    pub(crate) text: String,
    id: StateId,
}

/// The scope of a state: one call of one caller.
pub(super) struct StateScope<'a> {
    principal: &'a [u8],
    method: &'a str,
    /// Digest of the params of the call.
    params: [u8; 32],
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
        getrandom::fill(&mut key).expect("the system makes random numbers");
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
            mac: HMAC::new(key),
            used_states: ReplayGuard::local(now()),
            principal: |_| String::new(),
        }
    }

    /// Sets the function that identifies a caller. By default all callers are the same, which is
    /// correct only for a server without authentication.
    #[must_use]
    pub fn with_principal(mut self, principal: fn(&Caller) -> String) -> Self {
        self.principal = principal;
        self
    }

    /// Shares the record of used answers with other replicas.
    #[must_use]
    pub fn with_used_answers(mut self, used: impl UsedAnswers + 'static) -> Self {
        self.used_states = ReplayGuard::Replicated(Arc::new(used));
        self
    }

    /// Seals the consent to an action that is no call of the protocol. The seal is valid for ten
    /// minutes, for one run of this action by this principal, with these facts.
    ///
    /// ```
    /// use ziggurat_mcp::StateSigner;
    ///
    /// # tokio_test::block_on(async {
    /// let signer = StateSigner::random();
    /// let seal = signer.seal("ann", "delete", b"row 7");
    /// assert!(!signer.redeem(&seal, "bob", "delete", b"row 7").await?);
    /// assert!(signer.redeem(&seal, "ann", "delete", b"row 7").await?);
    /// assert!(!signer.redeem(&seal, "ann", "delete", b"row 7").await?, "it is used up");
    /// # Ok::<_, ziggurat_mcp::RecordUnreachable>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn seal(&self, principal: &str, action: &str, facts: &[u8]) -> String {
        let scope = StateScope::of_action(principal, action, facts);
        self.sign_at("", &scope, now())
    }

    /// Uses up a seal. Returns whether it was valid and unused.
    ///
    /// # Errors
    /// Fails if it is not known whether it was used before.
    pub async fn redeem(
        &self,
        seal: &str,
        principal: &str,
        action: &str,
        facts: &[u8],
    ) -> Result<bool, RecordUnreachable> {
        let scope = StateScope::of_action(principal, action, facts);
        let Some(state) = self.verify_at(seal, &scope, now()) else {
            return Ok(false);
        };
        self.use_up_by(&state, principal.as_bytes()).await
    }

    /// Uses up a state. Returns whether it was still valid.
    pub(crate) async fn use_up(
        &self,
        state: &SignedState,
        caller: &Caller,
    ) -> Result<bool, RecordUnreachable> {
        let principal = self.principal_of(caller);
        self.use_up_by(state, principal.as_bytes()).await
    }

    pub(super) async fn use_up_by(
        &self,
        state: &SignedState,
        principal: &[u8],
    ) -> Result<bool, RecordUnreachable> {
        self.used_states.use_up(state.id, principal, now()).await
    }

    pub(crate) fn principal_of(&self, caller: &Caller) -> String {
        (self.principal)(caller)
    }

    /// Returns the start of a keyed hash.
    pub(super) fn keyed(&self) -> HMAC {
        self.mac.clone()
    }

    /// Signs a state for the client.
    pub(crate) fn sign(&self, state: &str, caller: &Caller, call: &Call) -> String {
        let principal = (self.principal)(caller);
        self.sign_at(state, &StateScope::new(&principal, call), now())
    }

    /// Returns the state, if its signature is valid for this call and it has not expired.
    pub(crate) fn verify(&self, text: &str, caller: &Caller, call: &Call) -> Option<SignedState> {
        let principal = (self.principal)(caller);
        self.verify_at(text, &StateScope::new(&principal, call), now())
    }

    pub(super) fn sign_at(&self, state: &str, scope: &StateScope<'_>, now: u64) -> String {
        let id = StateId::at(now + millis(LIFETIME));
        let bytes = id.to_bytes();
        let mac = self.mac(&bytes, state.as_bytes(), scope).finalize();
        URL_SAFE_NO_PAD.encode([&bytes[..], &mac, state.as_bytes()].concat())
    }

    pub(super) fn verify_at(
        &self,
        text: &str,
        scope: &StateScope<'_>,
        now: u64,
    ) -> Option<SignedState> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (id, rest) = bytes.split_first_chunk()?;
        let (mac, state) = rest.split_first_chunk::<MAC>()?;
        // In constant time, so that a client cannot guess the signature byte by byte.
        let is_ours = self.mac(id, state, scope).finalize_verify(mac);
        let id = StateId::from_bytes(id);
        if !is_ours || id.has_expired(now) {
            return None;
        }
        let text = String::from_utf8(state.to_vec()).ok()?;
        Some(SignedState { text, id })
    }

    /// Computes HMAC-SHA-256 over all parts, each after its length.
    fn mac(&self, id: &[u8], state: &[u8], scope: &StateScope<'_>) -> HMAC {
        let parts = [
            id,
            scope.principal,
            scope.method.as_bytes(),
            &scope.params,
            state,
        ];
        let mut mac = self.mac.clone();
        for part in parts {
            mac.update((part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac
    }
}

impl fmt::Debug for StateSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateSigner").finish_non_exhaustive()
    }
}

// === impl StateScope ===

impl<'a> StateScope<'a> {
    fn new(principal: &'a str, call: &'a Call) -> Self {
        Self {
            principal: principal.as_bytes(),
            method: call.method(),
            params: params::digest(call),
        }
    }

    pub(super) fn of_action(principal: &'a str, action: &'a str, facts: &[u8]) -> Self {
        Self {
            principal: principal.as_bytes(),
            method: action,
            params: Sha256::digest(facts).into(),
        }
    }
}

/// Returns the time in milliseconds since the Unix epoch.
pub(super) fn now() -> u64 {
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
        let signer = StateSigner::of(b"secret");
        let text = signer.sign_at("state", &CALL, 1000);
        let verify = |signer: &StateSigner, text: &str, call: &StateScope<'_>, now| {
            let verified = signer.verify_at(text, call, now);
            verified.map(|verified| verified.text)
        };
        let end = 1000 + millis(LIFETIME);
        assert_eq!(
            verify(&signer, &text, &CALL, end - 1).as_deref(),
            Some("state")
        );
        assert_eq!(verify(&signer, &text, &CALL, end), None, "too late");
        assert_eq!(verify(&StateSigner::of(b"other"), &text, &CALL, 1000), None);
        assert_eq!(verify(&StateSigner::random(), &text, &CALL, 1000), None);
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
            assert_eq!(verify(&signer, &text, &other, 1000), None);
        }
    }

    #[test]
    fn no_two_states_are_the_same() {
        let signer = StateSigner::of(b"secret");
        let sign = || signer.sign_at("state", &CALL, 1000);
        assert_ne!(sign(), sign());
    }

    #[test]
    fn a_state_with_any_character_changed_is_refused() {
        let signer = StateSigner::random();
        let text = signer.sign_at("a state", &CALL, 1000);
        let verify = |text: &str| {
            signer
                .verify_at(text, &CALL, 1000)
                .map(|verified| verified.text)
        };
        assert_eq!(verify(&text).as_deref(), Some("a state"));
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).expect("ASCII");
            assert_eq!(verify(&changed), None, "{at}");
        }
        for text in [
            "",
            "AAAA",
            "=",
            &format!("{text}="),
            &text[..text.len() - 1],
        ] {
            assert_eq!(verify(text), None, "{text}");
        }
    }
}
