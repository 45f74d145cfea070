//! Finds the client address behind the proxies you list.
//!
//! The accept loop puts a [`ClientIp`] into the extensions of every request: the address of
//! the socket, which cannot be forged. When the socket belongs to a proxy you listed, the
//! layer reads the one header that proxy writes and corrects the [`ClientIp`] in place. All
//! that follows (rate limits, logs, access rules) reads the extension and never a header.
//!
//! The header is read from its right end, because each proxy appends the address of its own peer,
//! and only entries written by trusted proxies can be believed. The walk steps over trusted
//! addresses and stops at the first untrusted one: the client. Entries further left were written by
//! the client and are never read. An entry that names no address (`unknown`, `_hidden`, or garbage)
//! also ends the walk, and the trusted address to its right is the result.
//! The layer leaves the headers as they are, refuses nothing and resolves no names. A request
//! without the extension passes unchanged: its peer is unknown, so no header can be believed.
//!
//! ```
//! use http::{Request, Response};
//! use tower::{ServiceBuilder, ServiceExt as _, service_fn};
//! use ziggurat_layers::client_ip::{ClientIp, SetClientIpLayer, HopHeader, TrustedProxies};
//!
//! # tokio_test::block_on(async {
//! let trusted: TrustedProxies = "10.0.0.0/8, 2001:db8:1::/48".parse()?;
//! let service = ServiceBuilder::new()
//!     .layer(SetClientIpLayer::new(trusted, HopHeader::XForwardedFor))
//!     .service(service_fn(|request: Request<()>| async move {
//!         let caller = request.extensions().get().map(ClientIp::client);
//!         Ok::<_, std::convert::Infallible>(Response::new(caller))
//!     }));
//!
//! // 10.0.0.7 is our proxy. The client itself claimed to be 192.0.2.1.
//! let request = Request::get("/")
//!     .header("x-forwarded-for", "192.0.2.1, 203.0.113.9")
//!     .extension(ClientIp::from_peer("10.0.0.7:443".parse()?))
//!     .body(())?;
//! let response = service.oneshot(request).await?;
//! assert_eq!(*response.body(), Some("203.0.113.9".parse()?));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # Deployment
//!
//! - List the addresses your proxies call *from*. A network that also holds clients lets those
//!   clients choose their address.
//! - Name the header your proxy writes. A proxy that writes one of them usually passes the
//!   others on from the client, so the layer reads one only.
//! - The proxy has to append to the header or to replace it. One that forwards the client's
//!   header as it came vouches for every lie in it.
//! - [`HopHeader::Single`] headers have to be overwritten by the proxy.
//!
//! - `axum::serve` keeps the address of the socket in an extension of its own. The feature `axum`
//!   adds `FromConnectInfoLayer`, which copies it.
//!
//! # Cost
//!
//! Nothing is allocated, and at most 32 addresses are read, however long the header is.

#[cfg(feature = "axum")]
mod connect_info;
#[cfg(test)]
mod corpus;
mod hops;
#[cfg(test)]
mod tests;
mod trusted;

use std::{
    net::{IpAddr, SocketAddr},
    task::{Context, Poll},
};

use http::{HeaderMap, HeaderName, Request};
use tower_layer::Layer;
use tower_service::Service;

#[cfg(feature = "axum")]
pub use self::connect_info::{FromConnectInfo, FromConnectInfoLayer};
pub use self::trusted::{InvalidNetwork, TrustedProxies};

/// Number of addresses of the header that are read before the walk stops.
///
/// Real chains of proxies are shorter, and the client decides how long the header is.
const MAX_HOPS: usize = 32;

/// The address of the socket, and the client behind the trusted proxies.
///
/// A request extension, inserted by the accept loop and corrected by [`SetClientIpLayer`]. IPv4-mapped
/// IPv6 addresses (`::ffff:192.0.2.1`), which a dual-stack socket reports, are converted to IPv4,
/// so one client has one address.
///
/// ```
/// use http::Request;
/// use ziggurat_layers::client_ip::ClientIp;
///
/// // The accept loop knows the other end of the connection.
/// let peer = "[::ffff:192.0.2.1]:4711".parse()?;
/// let request = Request::get("/").extension(ClientIp::from_peer(peer)).body(())?;
///
/// let caller: Option<&ClientIp> = request.extensions().get();
/// assert_eq!(caller.map(|caller| caller.client().to_string()), Some("192.0.2.1".to_owned()));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientIp {
    peer: SocketAddr,
    client: IpAddr,
}

/// The header in which the proxies name their peer.
///
/// ```
/// use http::HeaderName;
/// use ziggurat_layers::client_ip::HopHeader;
///
/// let from_a_setting: HeaderName = "X-Forwarded-For".parse()?;
/// assert_eq!(HopHeader::from(from_a_setting), HopHeader::XForwardedFor);
/// # Ok::<_, http::header::InvalidHeaderName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HopHeader {
    /// `Forwarded`, the standard one (RFC 7239).
    Forwarded,
    /// `X-Forwarded-For`, which most proxies write.
    XForwardedFor,
    /// A header that holds a single address, such as `X-Real-IP`.
    ///
    /// It is ignored when it occurs more than once or holds anything else.
    Single(HeaderName),
}

/// Corrects the [`ClientIp`] of requests that come through a trusted proxy.
///
/// ```
/// use http::HeaderName;
/// use ziggurat_layers::client_ip::{HopHeader, SetClientIpLayer};
///
/// let proxies = "10.0.0.0/8, 192.0.2.1".parse()?;
/// let header = HopHeader::Single(HeaderName::from_static("x-real-ip"));
/// let layer = SetClientIpLayer::new(proxies, header);
/// # let _ = layer;
/// # Ok::<_, ziggurat_layers::client_ip::InvalidNetwork>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct SetClientIpLayer {
    trusted: TrustedProxies,
    header: HopHeader,
}

/// Service made by [`SetClientIpLayer`].
///
/// ```
/// use tower::Layer as _;
/// use ziggurat_layers::client_ip::{HopHeader, SetClientIp, SetClientIpLayer, TrustedProxies};
///
/// let layer = SetClientIpLayer::new(TrustedProxies::default(), HopHeader::Forwarded);
/// let service: SetClientIp<_> = layer.layer("the service that reads the address");
/// # let _ = service;
/// ```
#[derive(Clone, Debug)]
pub struct SetClientIp<S> {
    inner: S,
    trusted: TrustedProxies,
    header: HopHeader,
}

// === impl ClientIp ===

impl ClientIp {
    /// Takes the address of the socket for the client, until the layer learns more.
    ///
    /// ```
    /// use std::net::{Ipv4Addr, SocketAddr};
    /// use ziggurat_layers::client_ip::ClientIp;
    ///
    /// let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 4711));
    /// assert_eq!(ClientIp::from_peer(peer).client(), Ipv4Addr::LOCALHOST);
    /// ```
    #[must_use]
    pub fn from_peer(peer: SocketAddr) -> Self {
        let client = peer.ip().to_canonical();
        Self {
            peer: SocketAddr::new(client, peer.port()),
            client,
        }
    }

    /// The other end of the connection: the client, or the nearest proxy.
    ///
    /// ```
    /// use ziggurat_layers::client_ip::ClientIp;
    ///
    /// let caller = ClientIp::from_peer("192.0.2.1:4711".parse()?);
    /// assert_eq!(caller.peer().port(), 4711);
    /// # Ok::<_, std::net::AddrParseError>(())
    /// ```
    #[must_use]
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// The client, as far as trusted proxies vouch for it.
    ///
    /// ```
    /// use http::Request;
    /// use ziggurat_layers::client_ip::ClientIp;
    ///
    /// fn log_line<B>(request: &Request<B>) -> String {
    ///     match request.extensions().get::<ClientIp>() {
    ///         Some(caller) => format!("{} {}", caller.client(), request.uri().path()),
    ///         None => format!("- {}", request.uri().path()),
    ///     }
    /// }
    /// assert_eq!(log_line(&Request::new(())), "- /");
    /// ```
    #[must_use]
    pub fn client(&self) -> IpAddr {
        self.client
    }
}

// === impl HopHeader ===

/// Reads the syntax of `Forwarded` and `X-Forwarded-For`, and one address from any other header.
impl From<HeaderName> for HopHeader {
    fn from(name: HeaderName) -> Self {
        match name.as_str() {
            "forwarded" => Self::Forwarded,
            "x-forwarded-for" => Self::XForwardedFor,
            _ => Self::Single(name),
        }
    }
}

// === impl SetClientIpLayer ===

impl SetClientIpLayer {
    /// Believes `header`, and nothing else, when the peer is one of the `trusted` proxies.
    ///
    /// ```
    /// use ziggurat_layers::client_ip::{HopHeader, SetClientIpLayer};
    ///
    /// let layer = SetClientIpLayer::new("10.0.0.0/8".parse()?, HopHeader::XForwardedFor);
    /// # let _ = layer;
    /// # Ok::<_, ziggurat_layers::client_ip::InvalidNetwork>(())
    /// ```
    pub fn new(trusted: TrustedProxies, header: HopHeader) -> Self {
        Self { trusted, header }
    }
}

impl<S> Layer<S> for SetClientIpLayer {
    type Service = SetClientIp<S>;

    fn layer(&self, inner: S) -> Self::Service {
        SetClientIp {
            inner,
            trusted: self.trusted.clone(),
            header: self.header.clone(),
        }
    }
}

// === impl SetClientIp ===

impl<S, B> Service<Request<B>> for SetClientIp<S>
where
    S: Service<Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        if let Some(&ClientIp { peer, .. }) = request.extensions().get() {
            let client = self.walk(peer.ip(), request.headers());
            // In place: an insertion would allocate.
            if let Some(caller) = request.extensions_mut().get_mut::<ClientIp>() {
                caller.client = client;
            }
        }
        self.inner.call(request)
    }
}

impl<S> SetClientIp<S> {
    fn walk(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        match &self.header {
            HopHeader::Forwarded => self.step(peer, hops::forwarded(headers)),
            HopHeader::XForwardedFor => self.step(peer, hops::x_forwarded_for(headers)),
            HopHeader::Single(name) => self.step(peer, hops::single(headers, name)),
        }
    }

    /// Steps from the peer over trusted addresses; a hop of `None` cannot be stepped on.
    fn step(&self, peer: IpAddr, hops: impl Iterator<Item = Option<IpAddr>>) -> IpAddr {
        let mut client = peer;
        let mut hops = hops.take(MAX_HOPS);
        while self.trusted.contains(client)
            && let Some(Some(hop)) = hops.next()
        {
            client = hop;
        }
        client
    }
}
