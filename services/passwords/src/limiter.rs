//! Limits concurrent password checks, and decides which login is next.
//!
//! Logins without a free slot wait for a few seconds at most, in one of two bounded queues:
//! accounts that have logged in before in the first, all other names in the second. The first queue
//! goes first, except for every fourth turn. So a flood of invented names does not delay existing
//! users, and first logins still get a turn. An account has only a few places in the first queue:
//! further logins to it, most of them guesses, wait in the second.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{sync::oneshot, time};
use ziggurat_runtime::lock;

/// Limit on logins to one account in the first queue.
const PER_ACCOUNT: usize = 4;

/// Every turn with this interval serves the second queue first.
const SECOND_QUEUE_INTERVAL: usize = 4;

/// Limits concurrent and waiting logins. Clones share the limits.
#[derive(Clone, Debug)]
pub struct LoginLimiter {
    queues: Arc<Mutex<Queues>>,
    max_wait: Duration,
}

#[derive(Debug)]
struct Queues {
    /// Number of free slots; 0 while a login waits.
    free: usize,
    /// Limit on the logins in each queue.
    max_waiting: usize,
    known: VecDeque<Waiting>,
    others: VecDeque<Waiting>,
    turns: usize,
}

#[derive(Debug)]
struct Waiting {
    account: Option<Arc<str>>,
    slot: oneshot::Sender<Slot>,
}

/// A slot for a password check, released on drop.
#[derive(Debug)]
pub struct Slot {
    /// `None` for a slot that was passed to a cancelled login.
    limiter: Option<LoginLimiter>,
}

/// The queue is full, or the wait was too long.
#[derive(Debug)]
pub struct QueueFull;

// === impl LoginLimiter ===

impl LoginLimiter {
    /// Admits this many checks at the same time, and lets this many logins of each queue wait for
    /// this time at most.
    #[must_use]
    pub fn new(slots: usize, max_waiting: usize, max_wait: Duration) -> Self {
        let queues = Queues {
            free: slots.max(1),
            max_waiting,
            known: VecDeque::new(),
            others: VecDeque::new(),
            turns: 0,
        };
        Self {
            queues: Arc::new(Mutex::new(queues)),
            max_wait,
        }
    }

    /// Waits for a slot; `account` is `None` if the account has not logged in before.
    ///
    /// # Errors
    /// Fails if too many wait, or the wait was too long.
    pub async fn enter(&self, account: Option<Arc<str>>) -> Result<Slot, QueueFull> {
        let entered = lock(&self.queues).enter(account);
        let Some(slot) = entered? else {
            return Ok(self.slot());
        };
        // Dropping the receiver leaves the queue.
        let slot = time::timeout(self.max_wait, slot).await;
        slot.map_err(|_| QueueFull)?.map_err(|_| QueueFull)
    }

    fn slot(&self) -> Slot {
        let limiter = Some(self.clone());
        Slot { limiter }
    }

    /// Passes a released slot to the next login.
    fn pass_on(&self) {
        loop {
            let next = lock(&self.queues).next();
            let Some(next) = next else {
                return;
            };
            match next.slot.send(self.slot()) {
                Ok(()) => return,
                // That login was cancelled. With its limiter, the dropped slot would release the
                // slot twice.
                Err(mut slot) => slot.limiter = None,
            }
        }
    }
}

// === impl Queues ===

impl Queues {
    /// Takes a free slot (`None`), or a place in a queue.
    fn enter(
        &mut self,
        account: Option<Arc<str>>,
    ) -> Result<Option<oneshot::Receiver<Slot>>, QueueFull> {
        if let Some(left) = self.free.checked_sub(1) {
            self.free = left;
            return Ok(None);
        }
        let own = self.known.iter().filter(|other| other.account == account);
        let is_known = account.is_some() && own.count() < PER_ACCOUNT;
        let queue = if is_known {
            &mut self.known
        } else {
            &mut self.others
        };
        if queue.len() >= self.max_waiting {
            queue.retain(|other| !other.slot.is_closed());
        }
        if queue.len() >= self.max_waiting {
            return Err(QueueFull);
        }
        let (slot, receiver) = oneshot::channel();
        queue.push_back(Waiting { account, slot });
        Ok(Some(receiver))
    }

    /// Removes the next login from its queue, or counts the slot as free.
    fn next(&mut self) -> Option<Waiting> {
        self.turns = self.turns.wrapping_add(1);
        let (first, second) = if self.turns.is_multiple_of(SECOND_QUEUE_INTERVAL) {
            (&mut self.others, &mut self.known)
        } else {
            (&mut self.known, &mut self.others)
        };
        let next = first.pop_front().or_else(|| second.pop_front());
        if next.is_none() {
            self.free += 1;
        }
        next
    }
}

// === impl Slot ===

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(limiter) = self.limiter.take() {
            limiter.pass_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio_test::{assert_pending, assert_ready, task};

    use super::*;

    const SECONDS: Duration = Duration::from_secs(5);

    #[tokio::test(start_paused = true)]
    async fn one_login_runs_one_waits_and_one_is_refused() {
        let gate = LoginLimiter::new(1, 1, SECONDS);
        let first = assert_ready!(task::spawn(gate.enter(None)).poll()).expect("empty");
        let mut second = task::spawn(gate.enter(None));
        assert_pending!(second.poll());
        assert!(assert_ready!(task::spawn(gate.enter(None)).poll()).is_err());

        drop(first);
        assert!(second.is_woken());
        let second = assert_ready!(second.poll()).expect("its turn");
        let mut third = task::spawn(gate.enter(None));
        assert_pending!(third.poll());
        // A cancelled login leaves the queue.
        drop(third);
        let mut fourth = task::spawn(gate.enter(None));
        assert_pending!(fourth.poll());
        drop(second);
        assert!(assert_ready!(fourth.poll()).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_ends_after_some_seconds_and_releases_its_slot() {
        let gate = LoginLimiter::new(1, 4, SECONDS);
        let inside = gate.enter(None).await.expect("empty");
        assert!(gate.enter(None).await.is_err());
        assert!(gate.enter(Some("alice".into())).await.is_err());
        drop(inside);
        let _inside = gate.enter(None).await.expect("free again");
        assert_eq!(lock(&gate.queues).free, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn accounts_that_have_logged_in_go_first_and_others_still_get_turns() {
        let gate = LoginLimiter::new(1, 16, SECONDS);
        let mut inside = gate.enter(None).await.expect("empty");
        let name = |at: usize| Some(Arc::from(format!("user {at}")));
        let mut others: Vec<_> = (0..8).map(|_| task::spawn(gate.enter(None))).collect();
        for other in &mut others {
            assert_pending!(other.poll());
        }
        let mut known: Vec<_> = (0..6).map(|at| task::spawn(gate.enter(name(at)))).collect();
        for one in &mut known {
            assert_pending!(one.poll());
        }
        let (mut known, mut others) = (known.into_iter(), others.into_iter());
        for turn in 1..=8 {
            drop(inside);
            let next = if turn % SECOND_QUEUE_INTERVAL == 0 {
                others.next()
            } else {
                known.next()
            };
            let mut next = next.expect("waiting");
            inside = assert_ready!(next.poll()).expect("its turn");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn guesses_at_one_account_do_not_fill_the_queue_of_the_other_accounts() {
        let gate = LoginLimiter::new(1, 8, SECONDS);
        let inside = gate.enter(None).await.expect("empty");
        let alice = || Some(Arc::from("alice"));
        let mut guesses: Vec<_> = (0..12).map(|_| task::spawn(gate.enter(alice()))).collect();
        for guess in &mut guesses {
            assert_pending!(guess.poll());
        }
        assert!(assert_ready!(task::spawn(gate.enter(alice())).poll()).is_err());
        let mut bob = task::spawn(gate.enter(Some("bob".into())));
        assert_pending!(bob.poll());
        drop(inside);
        drop(guesses);
        assert!(assert_ready!(bob.poll()).is_ok());
    }
}
