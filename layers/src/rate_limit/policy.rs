//! The interface between the layer and its policies.

use std::{num::NonZeroU32, time::Duration};

use http::Response;

use crate::{
    rate_limit::{Key, Quota},
    reject::AuthFailed,
};

/// Decides which requests are admitted.
///
/// Called for every request, so an implementation must not block or wait. Clones must count
/// together: every service of a layer has a clone.
///
/// ```
/// use std::{num::NonZeroU32, time::Duration};
/// use ziggurat_layers::rate_limit::{AtOnce, Key, Limited, Policy, RateLimitLayer, Remaining};
///
/// /// Admits no request, for the time of maintenance.
/// #[derive(Clone, Debug)]
/// struct Closed;
///
/// impl Policy for Closed {
///     type Limit = AtOnce;
///     type Permit = Remaining;
///
///     fn limit(&self) -> AtOnce {
///         AtOnce(NonZeroU32::MIN)
///     }
///
///     fn admit(&self, _: Key, _: AtOnce) -> Result<Remaining, Limited> {
///         Err(Limited::new(Duration::from_secs(60)).with_message("The server is being maintained"))
///     }
/// }
///
/// let layer = RateLimitLayer::new(Closed);
/// # let _ = layer;
/// ```
pub trait Policy {
    /// The limit for one client: a [`Quota`], or a number of requests [at once](AtOnce).
    type Limit: Copy + Into<Announcement>;
    /// The state kept for an admitted request until it is answered.
    type Permit: Permit;

    /// The limit for clients that have none of their own.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::{Policy as _, Quota, Steady};
    ///
    /// let quota: Quota = "5 per second".parse()?;
    /// assert_eq!(Steady::new(quota).limit(), quota);
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    fn limit(&self) -> Self::Limit;

    /// Admits a request of the client with this key and limit, or returns the time until the next
    /// attempt.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::{Key, Policy as _, Steady};
    ///
    /// // A limit on something that is not a request.
    /// let mails = Steady::new("1 per minute".parse()?);
    /// let send = |to: &str| mails.admit(Key::of(to), mails.limit()).is_ok();
    /// assert!(send("ali@example.com") && send("bob@example.com"));
    /// assert!(!send("ali@example.com"));
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    fn admit(&self, key: Key, limit: Self::Limit) -> Result<Self::Permit, Limited>;

    /// The name in the header fields, unless the layer sets another. Printable ASCII.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::{FailureWindow, Policy as _, Steady};
    ///
    /// assert_eq!(Steady::new("5/s".parse()?).name(), "requests");
    /// assert_eq!(FailureWindow::new("5/s".parse()?).name(), "failures");
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    fn name(&self) -> &'static str {
        "default"
    }
}

/// An admitted request that is not answered yet.
///
/// Dropped without `settle` if there is no response (the request was abandoned or the service
/// returned an error), or if the permit does not [observe responses](Self::OBSERVES_RESPONSES).
///
/// ```
/// use ziggurat_layers::rate_limit::{FailureWindow, Key, Outcome, Permit as _, Policy as _};
///
/// let failures = FailureWindow::new("3 per hour".parse()?);
/// let permit = failures.admit(Key::UNKNOWN, failures.limit()).expect("the first attempt");
/// assert_eq!(permit.settle(Outcome::Failed).count(), 2);
/// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
/// ```
pub trait Permit {
    /// Returns whether the permit is kept until the response, to learn from it. If not, and no
    /// header field has to be added, responses pass without being read.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::{Attempt, Permit, Remaining};
    ///
    /// fn observes<T: Permit>() -> bool {
    ///     T::OBSERVES_RESPONSES
    /// }
    /// // Failures show in the response; a request counts before there is one.
    /// assert!(observes::<Attempt>() && !observes::<Remaining>());
    /// ```
    const OBSERVES_RESPONSES: bool = true;

    /// Learns the outcome of the request, and returns the rest of the limit after it.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::{FailureWindow, Key, Outcome, Permit as _, Policy as _};
    ///
    /// let logins = FailureWindow::new("3 per hour".parse()?);
    /// let permit = logins.admit(Key::of(&"ali"), logins.limit()).expect("the first");
    /// let left = permit.settle(Outcome::Failed).count();
    /// assert_eq!(format!("{left} more attempts"), "2 more attempts");
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    fn settle(self, outcome: Outcome) -> Remaining;
}

/// The outcome of an admitted request.
///
/// ```
/// use ziggurat_layers::rate_limit::{FailureWindow, Key, Outcome, Permit as _, Policy as _};
///
/// let failures = FailureWindow::new("3 per hour".parse()?).with_forgiveness();
/// for (outcome, left) in [(Outcome::Failed, 2), (Outcome::Neither, 2), (Outcome::Succeeded, 3)] {
///     let permit = failures.admit(Key::UNKNOWN, failures.limit()).expect("less than three failed");
///     assert_eq!(permit.settle(outcome).count(), left);
/// }
/// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The response carries [`AuthFailed`].
    Failed,
    /// The response carries [`AuthSucceeded`], and no [`AuthFailed`].
    Succeeded,
    /// The response says nothing about credentials.
    Neither,
}

/// Marks the response to a request with valid credentials.
///
/// The counterpart of [`AuthFailed`]: put into the extensions of a response by a handler that
/// checked a password. [`FailureWindow`](super::FailureWindow) resets its count for it if
/// [told so](super::FailureWindow::with_forgiveness).
///
/// ```
/// use http::Response;
/// use ziggurat_layers::rate_limit::AuthSucceeded;
///
/// let mut response = Response::new("welcome");
/// response.extensions_mut().insert(AuthSucceeded);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuthSucceeded;

/// A limit on requests that are served at the same time.
///
/// ```
/// use std::num::NonZeroU32;
/// use ziggurat_layers::rate_limit::{AtOnce, Concurrency};
///
/// let four = AtOnce(NonZeroU32::new(4).unwrap());
/// let policy = Concurrency::new(four);
/// # let _ = policy;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AtOnce(pub NonZeroU32);

/// A limit as the header fields announce it.
///
/// ```
/// use ziggurat_layers::rate_limit::{Announcement, Quota};
///
/// let quota: Quota = "10 per minute".parse()?;
/// let announced = Announcement::from(quota);
/// assert_eq!(announced, quota.into());
/// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announcement {
    pub(super) count: u32,
    /// `None`: the count is of requests at the same time.
    pub(super) window: Option<Duration>,
}

/// A refusal by a policy.
///
/// ```
/// use std::time::Duration;
/// use ziggurat_layers::rate_limit::Limited;
///
/// let limited = Limited::new(Duration::from_secs(5)).with_message("One order in five seconds");
/// assert_eq!(limited.retry_after(), Duration::from_secs(5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Limited {
    retry_after: Duration,
    pub(super) message: &'static str,
}

/// The rest of a client's limit.
///
/// ```
/// use std::time::Duration;
/// use ziggurat_layers::rate_limit::Remaining;
///
/// let remaining = Remaining::new(3).with_reset(Duration::from_secs(60));
/// assert_eq!((remaining.count(), remaining.reset()), (3, Some(Duration::from_secs(60))));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remaining {
    count: u32,
    reset: Option<Duration>,
}

// === impl Outcome ===

impl Outcome {
    pub(super) fn of<B>(response: &Response<B>) -> Self {
        let said = response.extensions();
        if said.get::<AuthFailed>().is_some() {
            Self::Failed
        } else if said.get::<AuthSucceeded>().is_some() {
            Self::Succeeded
        } else {
            Self::Neither
        }
    }
}

// === impl Announcement ===

impl From<Quota> for Announcement {
    fn from(quota: Quota) -> Self {
        Self {
            count: quota.count(),
            window: Some(quota.period()),
        }
    }
}

impl From<AtOnce> for Announcement {
    fn from(AtOnce(count): AtOnce) -> Self {
        Self {
            count: count.get(),
            window: None,
        }
    }
}

// === impl Permit ===

/// The permit of a policy that learns nothing from responses.
impl Permit for Remaining {
    const OBSERVES_RESPONSES: bool = false;

    fn settle(self, _: Outcome) -> Remaining {
        self
    }
}

// === impl Limited ===

impl Limited {
    /// Refuses until this time has passed. The header rounds it up to seconds.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ziggurat_layers::rate_limit::Limited;
    ///
    /// let limited = Limited::new(Duration::from_millis(1500));
    /// assert_eq!(limited.retry_after().as_secs_f32(), 1.5);
    /// ```
    pub fn new(retry_after: Duration) -> Self {
        Self {
            retry_after,
            message: "Rate limit exceeded",
        }
    }

    /// Replaces the sentence for the client, unless the layer sets another.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ziggurat_layers::rate_limit::Limited;
    ///
    /// let limited = Limited::new(Duration::from_secs(60)).with_message("One export per minute");
    /// # let _ = limited;
    /// ```
    pub fn with_message(mut self, message: &'static str) -> Self {
        self.message = message;
        self
    }

    /// The time until the client may send the next request.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::{Key, Policy as _, Steady};
    ///
    /// let steady = Steady::new("1 per minute".parse()?);
    /// assert!(steady.admit(Key::UNKNOWN, steady.limit()).is_ok());
    /// let limited = steady.admit(Key::UNKNOWN, steady.limit()).expect_err("the second");
    /// assert!(limited.retry_after().as_secs() < 60);
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    #[must_use]
    pub fn retry_after(&self) -> Duration {
        self.retry_after
    }
}

// === impl Remaining ===

impl Remaining {
    /// Leaves this many requests, or failures, to the client.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::Remaining;
    ///
    /// assert_eq!(Remaining::new(3).reset(), None);
    /// ```
    #[must_use]
    pub fn new(count: u32) -> Self {
        Self { count, reset: None }
    }

    /// Adds the time until the whole limit is available again.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ziggurat_layers::rate_limit::Remaining;
    ///
    /// let until_midnight = Duration::from_secs(3 * 3600);
    /// let remaining = Remaining::new(0).with_reset(until_midnight);
    /// assert_eq!(remaining.reset(), Some(until_midnight));
    /// ```
    #[must_use]
    pub fn with_reset(mut self, reset: Duration) -> Self {
        self.reset = Some(reset);
        self
    }

    /// The number of requests, or failures, that are left.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::{Key, Policy as _, Steady};
    ///
    /// let steady = Steady::new("10 per minute".parse()?);
    /// let remaining = steady.admit(Key::UNKNOWN, steady.limit()).expect("the first of ten");
    /// assert_eq!(remaining.count(), 9);
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The time until the whole limit is available again, if any of it is used and time alone
    /// brings it back.
    ///
    /// ```
    /// use ziggurat_layers::{clock::ManualClock, rate_limit::{Key, Policy as _, Steady}};
    ///
    /// let steady = Steady::new("60 per minute".parse()?).with_clock(ManualClock::new());
    /// let remaining = steady.admit(Key::UNKNOWN, steady.limit()).expect("the first of sixty");
    /// assert_eq!(remaining.reset().map(|time| time.as_secs()), Some(1));
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    #[must_use]
    pub fn reset(&self) -> Option<Duration> {
        self.reset
    }
}
