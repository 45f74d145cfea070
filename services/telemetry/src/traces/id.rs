//! Ids of traces and spans.

use std::{
    cell::RefCell,
    fmt,
    hash::{BuildHasher as _, RandomState},
    num::{NonZeroU64, NonZeroU128},
};

use rand::{
    Rng as _, SeedableRng as _,
    rngs::{SmallRng, SysRng},
};
use serde::{Serialize, Serializer};

thread_local! {
    /// Ids have to be unique, not secret, so that no call asks the operating system for them.
    static RANDOM: RefCell<SmallRng> = RefCell::new(seeded());
}

/// Id of a trace: 16 bytes, never all zero. It is displayed as 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceId(NonZeroU128);

/// Id of a span: 8 bytes, never all zero. It is displayed as 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpanId(NonZeroU64);

// === impl TraceId ===

impl TraceId {
    pub(super) fn random() -> Self {
        let random = || u128::from(next()) << 64 | u128::from(next());
        Self(first(random, NonZeroU128::new))
    }

    pub(super) fn new(id: u128) -> Option<Self> {
        NonZeroU128::new(id).map(Self)
    }

    /// Returns the bytes that samplers decide by, which senders have to choose at random.
    pub(super) const fn low(self) -> u64 {
        #[expect(clippy::cast_possible_truncation, reason = "the low half is asked for")]
        let low = self.0.get() as u64;
        low
    }
}

impl From<TraceId> for u128 {
    fn from(id: TraceId) -> Self {
        id.0.get()
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl Serialize for TraceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

// === impl SpanId ===

impl SpanId {
    pub(super) fn random() -> Self {
        Self(first(next, NonZeroU64::new))
    }

    pub(super) fn new(id: u64) -> Option<Self> {
        NonZeroU64::new(id).map(Self)
    }

    pub(super) const fn low(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Serialize for SpanId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Draws until an id is not zero.
fn first<T, I>(draw: impl Fn() -> T, id: impl Fn(T) -> Option<I>) -> I {
    loop {
        if let Some(id) = id(draw()) {
            return id;
        }
    }
}

fn next() -> u64 {
    RANDOM.with_borrow_mut(SmallRng::next_u64)
}

/// Makes the generator. Without random numbers of the operating system, the random keys of hash
/// maps are good enough.
fn seeded() -> SmallRng {
    SmallRng::try_from_rng(&mut SysRng)
        .unwrap_or_else(|_| SmallRng::seed_from_u64(RandomState::new().hash_one(())))
}
