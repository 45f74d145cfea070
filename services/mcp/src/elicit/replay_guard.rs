//! States that were used up.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rand::{TryRng as _, rngs::SysRng};
use sha2::{Digest as _, Sha256};
use tracing::warn;
use ziggurat_state::{Shared, StoreError};

use super::signed_state::{LIFETIME, millis};

/// Limit on states that are used up within the lifetime of a state. Beyond it, a caller is asked
/// again and has to retry later: an entry that is removed early could be used once more.
const MAX_SPENT: usize = 1 << 16;

/// Limit on entries of one caller, so that one caller cannot fill the guard for all.
const MAX_OF_ONE: usize = 1 << 12;

/// Time that replicas keep a used state, long enough for clocks that differ by minutes.
const KEPT: Duration = Duration::from_hours(1);

const EXPIRY: usize = 8;
const NONCE: usize = 16;

/// Identifies a state; ordered by expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket {
    /// Milliseconds since the Unix epoch.
    expiry: u64,
    nonce: [u8; NONCE],
}

/// The states that were used up, each until it expires.
#[derive(Clone)]
pub(super) enum ReplayGuard {
    /// For this replica alone.
    Here(Arc<Here>),
    /// Shared by all replicas.
    Shared(Shared),
}

pub(super) struct Here {
    /// Start of this guard; states used before it are unknown.
    since: u64,
    ledger: Mutex<Ledger>,
}

#[derive(Default)]
struct Ledger {
    /// The caller of each ticket.
    tickets: BTreeMap<Ticket, Principal>,
    held: HashMap<Principal, usize>,
    /// The latest time seen: a clock that is set back does not make used states valid again.
    now: u64,
}

/// A digest, so that every caller takes the same space.
type Principal = [u8; 32];

// === impl Ticket ===

impl Ticket {
    /// Makes a unique ticket.
    pub(super) fn at(expiry: u64) -> Self {
        let mut nonce = [0; NONCE];
        let filled = SysRng.try_fill_bytes(&mut nonce);
        filled.expect("the system makes random numbers");
        Self { expiry, nonce }
    }

    pub(super) fn is_over(self, now: u64) -> bool {
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
    pub(super) fn here(now: u64) -> Self {
        Self::Here(Arc::new(Here {
            since: now,
            ledger: Mutex::default(),
        }))
    }

    /// Uses up a state. Returns whether it was still valid.
    pub(super) async fn spend(
        &self,
        ticket: Ticket,
        principal: &[u8],
        now: u64,
    ) -> Result<bool, StoreError> {
        match self {
            Self::Here(here) => Ok(here.spend(ticket, principal, now)),
            Self::Shared(shared) => shared.spend(ticket.nonce, KEPT).await,
        }
    }
}

// === impl Here ===

impl Here {
    fn spend(&self, ticket: Ticket, principal: &[u8], now: u64) -> bool {
        // States signed before this guard existed may have been used in an earlier process.
        if ticket.expiry < self.since.saturating_add(millis(LIFETIME)) {
            return false;
        }
        let principal = Sha256::digest(principal).into();
        // No code panics while it holds the lock.
        let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        ledger.spend(ticket, principal, now)
    }
}

// === impl Ledger ===

impl Ledger {
    fn spend(&mut self, ticket: Ticket, principal: Principal, now: u64) -> bool {
        self.now = self.now.max(now);
        self.forget();
        if ticket.is_over(self.now) || self.tickets.contains_key(&ticket) {
            return false;
        }
        let held = self.held.get(&principal).copied().unwrap_or_default();
        if held >= MAX_OF_ONE || self.tickets.len() >= MAX_SPENT {
            warn!(
                held,
                all = self.tickets.len(),
                "too many confirmations are used up to take another"
            );
            return false;
        }
        self.tickets.insert(ticket, principal);
        self.held.insert(principal, held + 1);
        true
    }

    /// Drops expired tickets.
    fn forget(&mut self) {
        while let Some(first) = self.tickets.first_entry() {
            if !first.key().is_over(self.now) {
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
        let ticket = Ticket::at(7);
        assert_eq!(Ticket::from_bytes(&ticket.to_bytes()), ticket);
        assert_ne!(Ticket::at(7), ticket);
    }

    #[test]
    fn a_ticket_is_used_up_once_and_forgotten_when_it_expires() {
        let mut ledger = Ledger::default();
        let (early, late) = (Ticket::at(100), Ticket::at(200));
        assert!(ledger.spend(late, ANN, 1));
        assert!(ledger.spend(early, ANN, 1));
        for now in [1, 99, 100, 101] {
            assert!(!ledger.spend(early, ANN, now), "{now}");
        }
        assert_eq!((ledger.tickets.len(), ledger.held[&ANN]), (1, 1));
        // The clock was set back.
        assert!(!ledger.spend(early, ANN, 1));
        assert!(!ledger.spend(late, BOB, 1));
        assert!(!ledger.spend(late, ANN, 200));
        assert!(ledger.tickets.is_empty() && ledger.held.is_empty());
    }

    #[test]
    fn one_caller_cannot_use_up_the_limit_of_all_callers() {
        let mut ledger = Ledger::default();
        for _ in 0..MAX_OF_ONE {
            assert!(ledger.spend(Ticket::at(100), ANN, 1));
        }
        assert!(!ledger.spend(Ticket::at(100), ANN, 99));
        assert!(ledger.spend(Ticket::at(200), BOB, 99));
        assert_eq!(ledger.tickets.len(), MAX_OF_ONE + 1);
        assert!(ledger.spend(Ticket::at(200), ANN, 100));
        assert_eq!(ledger.tickets.len(), 2);
    }

    #[test]
    fn a_full_ledger_removes_no_ticket_that_is_valid() {
        let mut ledger = Ledger::default();
        let first = Ticket::at(100);
        assert!(ledger.spend(first, ANN, 1));
        let callers = (0_u32..).map(|number| {
            let mut caller = [3; 32];
            caller[..4].copy_from_slice(&number.to_be_bytes());
            caller
        });
        for caller in callers.take(MAX_SPENT - 1) {
            assert!(ledger.spend(Ticket::at(100), caller, 1));
        }
        assert!(!ledger.spend(Ticket::at(200), BOB, 99));
        assert!(!ledger.spend(first, ANN, 99));
        assert!(ledger.spend(Ticket::at(200), BOB, 100));
    }

    #[test]
    fn a_state_signed_before_this_process_started_counts_as_used_up() {
        let here = Here {
            since: 1000,
            ledger: Mutex::default(),
        };
        let sealed_at = |now| Ticket::at(now + millis(LIFETIME));
        assert!(!here.spend(sealed_at(999), b"ann", 1001));
        assert!(here.spend(sealed_at(1000), b"ann", 1001));
    }
}
