//! The client that a request counts for.

use std::{fmt, hash::Hash, marker::PhantomData};

use http::Extensions;

use crate::{client_ip::ClientIp, rate_limit::Key};

/// The client that a request counts for: its key, and its own limit if it has one.
///
/// ```
/// use ziggurat_layers::rate_limit::{Client, Key, Quota};
///
/// let paying: Quota = "1000 per minute".parse()?;
/// let client = Client::new(Key::of(&"acme")).with_limit(paying);
/// # let _ = client;
/// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Client<L> {
    pub(super) key: Key,
    pub(super) limit: Option<L>,
}

/// Finds the client that a request counts for.
///
/// Only the extensions of the request are read: other layers put there what they have proved.
/// Headers are not available, because a client could write a new name into every request.
///
/// Implemented by [`ByAddress`], [`ByExtension`] and every `Fn(&Extensions) -> Client`.
///
/// ```
/// use http::Extensions;
/// use ziggurat_layers::rate_limit::{Client, ClientOf, Key, Quota};
///
/// #[derive(Clone)]
/// struct Customer { number: u64, is_paying: bool }
///
/// let paying: Quota = "1000 per minute".parse()?;
/// let client_of = move |extensions: &Extensions| match extensions.get::<Customer>() {
///     Some(customer) if customer.is_paying => {
///         Client::new(Key::of(&customer.number)).with_limit(paying)
///     }
///     Some(customer) => Client::new(Key::of(&customer.number)),
///     None => Client::new(Key::UNKNOWN),
/// };
///
/// let mut extensions = Extensions::new();
/// assert_eq!(client_of.client(&extensions), Client::new(Key::UNKNOWN));
/// extensions.insert(Customer { number: 7, is_paying: false });
/// assert_eq!(client_of.client(&extensions), Client::new(Key::of(&7_u64)));
/// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
/// ```
pub trait ClientOf<L> {
    /// Returns the client of a request with these extensions.
    ///
    /// ```
    /// use http::Extensions;
    /// use ziggurat_layers::rate_limit::{ByAddress, Client, ClientOf, Key, Quota};
    ///
    /// let unknown: Client<Quota> = ByAddress.client(&Extensions::new());
    /// assert_eq!(unknown, Client::new(Key::UNKNOWN));
    /// ```
    fn client(&self, extensions: &Extensions) -> Client<L>;
}

/// Counts by the address in the [`ClientIp`] extension, IPv6 addresses by their /64.
///
/// Requests without the extension share [`Key::UNKNOWN`].
///
/// ```
/// use http::Extensions;
/// use ziggurat_layers::{client_ip::ClientIp, rate_limit::{ByAddress, Client, ClientOf, Key, Quota}};
///
/// let peer = ClientIp::from_peer("192.0.2.1:4711".parse()?);
/// let mut extensions = Extensions::new();
/// extensions.insert(peer);
/// let client: Client<Quota> = ByAddress.client(&extensions);
/// assert_eq!(client, Client::new(peer.into()));
/// # Ok::<_, std::net::AddrParseError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ByAddress;

/// Counts by an extension, such as the identity that a bearer token proves.
///
/// Requests without the extension count by address, as with [`ByAddress`]. Made by
/// [`RateLimitLayer::with_extension`](super::RateLimitLayer::with_extension).
///
/// ```
/// use http::Extensions;
/// use ziggurat_layers::rate_limit::{ByExtension, Client, ClientOf, Key, Quota};
///
/// #[derive(Clone, Hash)]
/// struct Tenant(u64);
///
/// let mut extensions = Extensions::new();
/// extensions.insert(Tenant(7));
/// let client: Client<Quota> = ByExtension::<Tenant>::default().client(&extensions);
/// assert_eq!(client, Client::new(Key::of(&Tenant(7))));
/// ```
pub struct ByExtension<T> {
    // A function, so that the layer is `Send` and `Sync` with every `T`.
    extension: PhantomData<fn() -> T>,
}

// === impl Client ===

impl<L> Client<L> {
    /// Counts under this key, with the limit of the policy.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::{Client, Key, Quota};
    ///
    /// let client: Client<Quota> = Client::new(Key::of(&"tenant 7"));
    /// # let _ = client;
    /// ```
    pub fn new(key: Key) -> Self {
        Self { key, limit: None }
    }

    /// Replaces the limit of the policy for this client.
    ///
    /// ```
    /// use std::num::NonZeroU32;
    /// use ziggurat_layers::rate_limit::{AtOnce, Client, Key};
    ///
    /// let many = AtOnce(NonZeroU32::new(64).unwrap());
    /// let client = Client::new(Key::of(&"paying")).with_limit(many);
    /// # let _ = client;
    /// ```
    pub fn with_limit(mut self, limit: L) -> Self {
        self.limit = Some(limit);
        self
    }
}

// === impl ClientOf ===

impl<L, F: Fn(&Extensions) -> Client<L>> ClientOf<L> for F {
    #[inline]
    fn client(&self, extensions: &Extensions) -> Client<L> {
        self(extensions)
    }
}

impl<L> ClientOf<L> for ByAddress {
    #[inline]
    fn client(&self, extensions: &Extensions) -> Client<L> {
        let address = extensions.get().copied();
        Client::new(address.map_or(Key::UNKNOWN, |address: ClientIp| address.into()))
    }
}

impl<L, T: Hash + Send + Sync + 'static> ClientOf<L> for ByExtension<T> {
    #[inline]
    fn client(&self, extensions: &Extensions) -> Client<L> {
        match extensions.get::<T>() {
            Some(identity) => Client::new(Key::of(identity)),
            None => ByAddress.client(extensions),
        }
    }
}

// === impl ByExtension ===

impl<T> Clone for ByExtension<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ByExtension<T> {}

impl<T> Default for ByExtension<T> {
    fn default() -> Self {
        let extension = PhantomData;
        Self { extension }
    }
}

impl<T> fmt::Debug for ByExtension<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ByExtension<{}>", std::any::type_name::<T>())
    }
}
