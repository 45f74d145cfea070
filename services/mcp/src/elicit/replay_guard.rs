//! States that were used up.

use std::{
    collections::{BTreeMap, HashMap},
    error::Error,
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use sha2::{Digest as _, Sha256};
use tracing::warn;

use crate::elicit::signed_state::{LIFETIME, millis};

/// Limit on states that are used up within the lifetime of a state. Beyond it, a caller is asked
/// again and has to retry later: an entry that is removed early could be used once more.
const MAX_USED: usize = 1 << 16;

/// Limit on entries of one caller, so that one caller cannot fill the guard for all.
const MAX_USED_BY_CALLER: usize = 1 << 12;

/// Time that replicas keep a used state, long enough for clocks that differ by minutes.
const KEEP_TIME: Duration = Duration::from_secs(60 * 60);

const EXPIRY: usize = 8;
const NONCE: usize = 16;

type BoxError = Box<dyn Error + Send + Sync>;

/// Record of the answers that were used up, shared by the replicas of a server.
///
/// ```
/// use std::{collections::HashSet, error::Error, pin::Pin, sync::Mutex, time::Duration};
/// use ziggurat_mcp::{StateSigner, UsedAnswers};
///
/// /// A database would do the same for several processes.
/// #[derive(Default)]
/// struct InMemory(Mutex<HashSet<[u8; 16]>>);
///
/// impl UsedAnswers for InMemory {
///     fn use_up(
///         &self,
///         id: [u8; 16],
///         _: Duration,
///     ) -> Pin<Box<dyn Future<Output = Result<bool, Box<dyn Error + Send + Sync>>> + Send + '_>> {
///         let is_new = self.0.lock().map(|mut used| used.insert(id));
///         let is_new = is_new.map_err(|_| "the lock is poisoned".into());
///         Box::pin(async move { is_new })
///     }
/// }
///
/// let signer = StateSigner::of(b"the secret of all replicas").with_used_answers(InMemory::default());
/// # let _ = signer;
/// ```
pub trait UsedAnswers: Send + Sync {
    /// Uses up the answer with this id, which expires after `time`. Returns whether it was still
    /// unused: of all attempts at all replicas, only one may get `true`.
    // Boxed: called once for each answer of a user.
    fn use_up(
        &self,
        id: [u8; 16],
        time: Duration,
    ) -> Pin<Box<dyn Future<Output = Result<bool, BoxError>> + Send + '_>>;
}

/// The record of used answers cannot be reached.
#[derive(Debug)]
pub struct RecordUnreachable(BoxError);

/// Identifies a state; ordered by expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StateId {
    /// Milliseconds since the Unix epoch.
    expiry: u64,
    nonce: [u8; NONCE],
}

/// The states that were used up, each until it expires.
#[derive(Clone)]
pub(super) enum ReplayGuard {
    /// For this replica alone.
    Local(Arc<LocalGuard>),
    /// Shared by all replicas.
    Replicated(Arc<dyn UsedAnswers>),
}

pub(super) struct LocalGuard {
    /// Start of this guard; states used before it are unknown.
    since: u64,
    used: Mutex<UsedStates>,
}

#[derive(Default)]
struct UsedStates {
    /// The caller of each id.
    states: BTreeMap<StateId, Principal>,
    held: HashMap<Principal, usize>,
    /// The latest time seen: a clock that is set back does not make used states valid again.
    now: u64,
}

/// A digest, so that every caller takes the same space.
type Principal = [u8; 32];

// === impl StateId ===

impl StateId {
    /// Makes a unique id.
    pub(super) fn at(expiry: u64) -> Self {
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).expect("the system makes random numbers");
        Self { expiry, nonce }
    }

    pub(super) fn has_expired(self, now: u64) -> bool {
        self.expiry <= now
    }

    pub(super) fn to_bytes(self) -> [u8; EXPIRY + NONCE] {
        let mut bytes = [0; EXPIRY + NONCE];
        let (expiry, nonce) = bytes.split_at_mut(EXPIRY);
        expiry.copy_from_slice(&self.expiry.to_be_bytes());
        nonce.copy_from_slice(&self.nonce);
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; EXPIRY + NONCE]) -> Self {
        let (expiry, nonce) = bytes.split_first_chunk().expect("there is more than that");
        Self {
            expiry: u64::from_be_bytes(*expiry),
            nonce: nonce.try_into().expect("this is the rest"),
        }
    }
}

// === impl ReplayGuard ===

impl ReplayGuard {
    pub(super) fn local(now: u64) -> Self {
        Self::Local(Arc::new(LocalGuard {
            since: now,
            used: Mutex::default(),
        }))
    }

    /// Uses up a state. Returns whether it was still valid.
    pub(super) async fn use_up(
        &self,
        id: StateId,
        principal: &[u8],
        now: u64,
    ) -> Result<bool, RecordUnreachable> {
        match self {
            Self::Local(local) => Ok(local.use_up(id, principal, now)),
            Self::Replicated(shared) => {
                let used = shared.use_up(id.nonce, KEEP_TIME).await;
                used.map_err(RecordUnreachable)
            }
        }
    }
}

// === impl RecordUnreachable ===

impl fmt::Display for RecordUnreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the record of used answers cannot be reached")
    }
}

impl Error for RecordUnreachable {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}

// === impl LocalGuard ===

impl LocalGuard {
    fn use_up(&self, id: StateId, principal: &[u8], now: u64) -> bool {
        // States signed before this guard existed may have been used in an earlier process.
        if id.expiry < self.since.saturating_add(millis(LIFETIME)) {
            return false;
        }
        let principal = Sha256::digest(principal).into();
        // No code leaves it half changed, so a panic does not make it unusable.
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.use_up(id, principal, now)
    }
}

// === impl UsedStates ===

impl UsedStates {
    fn use_up(&mut self, id: StateId, principal: Principal, now: u64) -> bool {
        self.now = self.now.max(now);
        self.drop_expired();
        if id.has_expired(self.now) || self.states.contains_key(&id) {
            return false;
        }
        let held = self.held.get(&principal).copied().unwrap_or_default();
        if held >= MAX_USED_BY_CALLER || self.states.len() >= MAX_USED {
            warn!(
                held,
                all = self.states.len(),
                "too many confirmations were used recently; no more can be accepted now"
            );
            return false;
        }
        self.states.insert(id, principal);
        self.held.insert(principal, held + 1);
        true
    }

    /// Drops expired states.
    fn drop_expired(&mut self) {
        while let Some(first) = self.states.first_entry() {
            if !first.key().has_expired(self.now) {
                return;
            }
            let principal = first.remove();
            let held = self.held.get(&principal).copied().unwrap_or_default();
            if held > 1 {
                self.held.insert(principal, held - 1);
            } else {
                self.held.remove(&principal);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: Principal = [1; 32];
    const BOB: Principal = [2; 32];

    #[test]
    fn a_ticket_is_the_same_when_it_comes_back() {
        let id = StateId::at(7);
        assert_eq!(StateId::from_bytes(&id.to_bytes()), id);
        assert_ne!(StateId::at(7), id);
    }

    #[test]
    fn a_ticket_is_used_up_once_and_forgotten_when_it_expires() {
        let mut used = UsedStates::default();
        let (early, late) = (StateId::at(100), StateId::at(200));
        assert!(used.use_up(late, ANN, 1));
        assert!(used.use_up(early, ANN, 1));
        for now in [1, 99, 100, 101] {
            assert!(!used.use_up(early, ANN, now), "{now}");
        }
        assert_eq!((used.states.len(), used.held[&ANN]), (1, 1));
        // The clock was set back.
        assert!(!used.use_up(early, ANN, 1));
        assert!(!used.use_up(late, BOB, 1));
        assert!(!used.use_up(late, ANN, 200));
        assert!(used.states.is_empty() && used.held.is_empty());
    }

    #[test]
    fn one_caller_cannot_use_up_the_limit_of_all_callers() {
        let mut used = UsedStates::default();
        for _ in 0..MAX_USED_BY_CALLER {
            assert!(used.use_up(StateId::at(100), ANN, 1));
        }
        assert!(!used.use_up(StateId::at(100), ANN, 99));
        assert!(used.use_up(StateId::at(200), BOB, 99));
        assert_eq!(used.states.len(), MAX_USED_BY_CALLER + 1);
        assert!(used.use_up(StateId::at(200), ANN, 100));
        assert_eq!(used.states.len(), 2);
    }

    #[test]
    fn a_full_ledger_removes_no_ticket_that_is_valid() {
        let mut used = UsedStates::default();
        let first = StateId::at(100);
        assert!(used.use_up(first, ANN, 1));
        let callers = (0_u32..).map(|number| {
            let mut caller = [3; 32];
            caller[..4].copy_from_slice(&number.to_be_bytes());
            caller
        });
        for caller in callers.take(MAX_USED - 1) {
            assert!(used.use_up(StateId::at(100), caller, 1));
        }
        assert!(!used.use_up(StateId::at(200), BOB, 99));
        assert!(!used.use_up(first, ANN, 99));
        assert!(used.use_up(StateId::at(200), BOB, 100));
    }

    #[test]
    fn a_state_signed_before_this_process_started_counts_as_used_up() {
        let guard = LocalGuard {
            since: 1000,
            used: Mutex::default(),
        };
        let signed_at = |now| StateId::at(now + millis(LIFETIME));
        assert!(!guard.use_up(signed_at(999), b"ann", 1001));
        assert!(guard.use_up(signed_at(1000), b"ann", 1001));
    }
}
