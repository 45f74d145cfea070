//! A budget of bytes that many bodies share.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, Hash, RandomState},
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError},
};

/// A body up to this size may use all of a share or budget, and a larger one only three quarters,
/// so that large bodies never refuse the small ones.
const SMALL: u64 = 64 << 10;

/// Limits the bytes that bodies hold at once, in all and for each caller.
///
/// Clones share the bytes. A body that is larger than a limit takes all of it, so that any body
/// fits while there is no other.
///
/// ```
/// use ziggurat_layers::body_limit::{ByteBudget, Exhausted};
///
/// let budget = ByteBudget::new(1000, 400);
/// let alice = ByteBudget::caller(&"alice");
/// let held = budget.take(alice, 300)?;
/// assert_eq!(budget.take(alice, 200).err(), Some(Exhausted::Share));
/// assert!(budget.take(ByteBudget::caller(&"bob"), 200).is_ok());
/// drop(held);
/// assert!(budget.take(alice, 200).is_ok());
/// # Ok::<_, Exhausted>(())
/// ```
#[derive(Clone, Debug)]
pub struct ByteBudget {
    total: u64,
    share: u64,
    taken: Arc<Mutex<Taken>>,
}

/// Bytes of a [`ByteBudget`], given back on drop.
///
/// ```
/// use ziggurat_layers::body_limit::{BytePermit, Exhausted};
///
/// /// Reads a piece of a body of unknown size.
/// fn read(piece: &[u8], permit: &mut BytePermit) -> Result<(), Exhausted> {
///     permit.grow(piece.len() as u64)
/// }
/// # let _ = read;
/// ```
#[derive(Debug)]
#[must_use]
pub struct BytePermit {
    budget: ByteBudget,
    caller: u64,
    /// Bytes of the body, of which the limits may have been less.
    size: u64,
    taken: u64,
}

/// The limit of a [`ByteBudget`] that has no bytes left.
///
/// ```
/// use ziggurat_layers::body_limit::Exhausted;
///
/// /// The status of a refusal.
/// fn status(exhausted: Exhausted) -> u16 {
///     match exhausted {
///         Exhausted::Share => 429,
///         Exhausted::Total => 503,
///     }
/// }
/// # let _ = status;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exhausted {
    /// The bodies of this caller hold its share.
    Share,
    /// The bodies of all callers hold the budget.
    Total,
}

#[derive(Debug, Default)]
struct Taken {
    total: u64,
    /// Of the callers that hold bytes.
    by_caller: HashMap<u64, u64>,
}

// === impl ByteBudget ===

impl ByteBudget {
    /// Allows `total` bytes at once, and `share` bytes to each caller.
    ///
    /// ```
    /// use ziggurat_layers::body_limit::ByteBudget;
    ///
    /// let budget = ByteBudget::new(40 << 20, 20 << 20);
    /// # let _ = budget;
    /// ```
    #[must_use]
    pub fn new(total: u64, share: u64) -> Self {
        Self {
            total,
            share: share.min(total),
            taken: Arc::default(),
        }
    }

    /// Returns the number that stands for a caller: a user, a token or an address. The hash is
    /// seeded anew for each process, so a client cannot choose the number of another one.
    ///
    /// ```
    /// use ziggurat_layers::body_limit::ByteBudget;
    ///
    /// assert_eq!(ByteBudget::caller(&"alice"), ByteBudget::caller(&"alice"));
    /// assert_ne!(ByteBudget::caller(&"alice"), ByteBudget::caller(&"bob"));
    /// ```
    #[must_use]
    pub fn caller<T: Hash + ?Sized>(identity: &T) -> u64 {
        static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        SEED.hash_one(identity)
    }

    /// Takes the bytes of a body.
    ///
    /// ```
    /// use ziggurat_layers::body_limit::{ByteBudget, Exhausted};
    ///
    /// let budget = ByteBudget::new(1000, 1000);
    /// let held = budget.take(1, 600);
    /// assert_eq!(budget.take(2, 600).err(), Some(Exhausted::Total));
    /// # drop(held);
    /// ```
    ///
    /// # Errors
    /// Fails if the share of the caller or the budget has less left.
    pub fn take(&self, caller: u64, size: u64) -> Result<BytePermit, Exhausted> {
        let mut permit = BytePermit {
            budget: self.clone(),
            caller,
            size: 0,
            taken: 0,
        };
        permit.grow(size)?;
        Ok(permit)
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl BytePermit ===

impl BytePermit {
    /// Takes the bytes of another piece of the body.
    ///
    /// ```
    /// use ziggurat_layers::body_limit::{ByteBudget, Exhausted};
    ///
    /// let budget = ByteBudget::new(1000, 1000);
    /// let mut body = budget.take(1, 100)?;
    /// let other = budget.take(2, 800)?;
    /// assert!(body.grow(200).is_err());
    /// drop(other);
    /// assert!(body.grow(200).is_ok());
    /// # Ok::<_, Exhausted>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the share of the caller or the budget has less left. Earlier bytes stay taken.
    pub fn grow(&mut self, bytes: u64) -> Result<(), Exhausted> {
        let size = self.size.saturating_add(bytes);
        let of = |limit: u64| if size <= SMALL { limit } else { limit / 4 * 3 };
        let (total, share) = (of(self.budget.total), of(self.budget.share));
        let needed = size.min(share).saturating_sub(self.taken);
        let mut taken = self.budget.lock();
        let own = taken.by_caller.get(&self.caller).copied().unwrap_or(0);
        if own + needed > share {
            return Err(Exhausted::Share);
        }
        if taken.total + needed > total {
            return Err(Exhausted::Total);
        }
        taken.total += needed;
        taken.by_caller.insert(self.caller, own + needed);
        self.size = size;
        self.taken += needed;
        Ok(())
    }
}

impl Drop for BytePermit {
    fn drop(&mut self) {
        let mut taken = self.budget.lock();
        taken.total -= self.taken;
        if let Some(own) = taken.by_caller.get_mut(&self.caller) {
            *own -= self.taken;
            if *own == 0 {
                taken.by_caller.remove(&self.caller);
            }
        }
    }
}
