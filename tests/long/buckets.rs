//! Sends forged addresses and headers to a rate limit that counts by identity.
//!
//! One identity sends many requests, each with another address and other headers, through the stack
//! of a gateway. It fails if they are served more often than the quota of the identity allows, if
//! another identity loses a request, or if the policy remembers more keys than its maximum:
//!
//! ```sh
//! bash tests/long/run buckets
//! ```
//!
//! The argument is the number of requests (a million by default).

use std::{
    convert::Infallible,
    env,
    error::Error,
    future::ready,
    io::{self, Write as _},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    pin::pin,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::Full;
use tower::{Service, ServiceBuilder, service_fn};
use ziggurat_layers::{
    bearer::{BearerLayer, Hashed, TokenHash},
    client_ip::{ClientIp, HopHeader, SetClientIpLayer},
    clock::ManualClock,
    rate_limit::{RateLimitLayer, Steady},
};

type Body = Full<Bytes>;

/// Requests per day of each identity.
const QUOTA: u32 = 100;

/// Identities, and the keys that are remembered of them.
const KEYS: u32 = 10_000;
const MAX_KEYS: usize = 1000;

/// Headers with which clients try to be another client.
static FORGED: [HeaderName; 10] = [
    header::FORWARDED,
    HeaderName::from_static("x-forwarded-for"),
    HeaderName::from_static("x-real-ip"),
    HeaderName::from_static("true-client-ip"),
    HeaderName::from_static("cf-connecting-ip"),
    HeaderName::from_static("x-user"),
    HeaderName::from_static("x-tenant"),
    header::COOKIE,
    header::USER_AGENT,
    header::HOST,
];

/// Turns the number of a request into another number.
fn mixed(n: u32, salt: u32) -> u32 {
    let mixed = (n ^ salt.rotate_left(16)).wrapping_mul(0x9e37_79b1);
    mixed ^ (mixed >> 15)
}

/// An address of either family, also of the network of the trusted proxies.
fn address(n: u32) -> IpAddr {
    match n % 3 {
        0 => Ipv4Addr::from_bits(mixed(n, 1)).into(),
        1 => Ipv6Addr::from_bits((u128::from(mixed(n, 2)) << 96) | u128::from(n)).into(),
        _ => Ipv4Addr::from_bits((10 << 24) | (n & 0xff_ffff)).into(),
    }
}

/// A request of an identity; its number decides the address and which headers are forged.
fn forged(n: u32, token: &str) -> Result<Request<Body>, Box<dyn Error>> {
    let [low, high, ..] = n.to_le_bytes();
    let peer = SocketAddr::new(address(n), u16::from_le_bytes([low, high]));
    let mut request = Request::new(Body::default());
    request.extensions_mut().insert(ClientIp::from_peer(peer));
    let choice = mixed(n, 3);
    let headers = request.headers_mut();
    for (bit, name) in (0..).zip(&FORGED) {
        if (choice >> bit) & 1 == 1 {
            let client = address(mixed(n, bit));
            let value = if *name == header::FORWARDED {
                format!("for=\"{client}\";by={n}")
            } else {
                format!("{client}, {}", address(n + 1))
            };
            headers.append(name, value.try_into()?);
        }
    }
    let token = HeaderValue::try_from(format!("Bearer {token}"))?;
    headers.insert(header::AUTHORIZATION, token);
    Ok(request)
}

/// Returns whether a request is served. Nothing in the stack waits.
fn is_served<S>(service: &mut S, request: Request<Body>) -> Result<bool, Box<dyn Error>>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
{
    let answer = pin!(service.call(request)).poll(&mut Context::from_waker(Waker::noop()));
    match answer {
        Poll::Ready(Ok(response)) if response.status() == StatusCode::OK => Ok(true),
        Poll::Ready(Ok(response)) if response.status() == StatusCode::TOO_MANY_REQUESTS => {
            Ok(false)
        }
        _ => Err("neither served nor limited".into()),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let count = env::args().nth(1).map_or(Ok(1_000_000), |it| it.parse())?;
    let token = |identity: u32| format!("token-{identity}");
    let tokens = (0..=KEYS).map(|it| (TokenHash::of(&token(it)), it));
    let tokens: Hashed<_> = tokens.collect();
    // Its time stands still, so that the quota does not grow while this runs.
    let policy = Steady::new(format!("{QUOTA} per day").parse()?)
        .with_max_keys(MAX_KEYS)
        .with_clock(ManualClock::new());
    let trusted = "10.0.0.0/8".parse()?;
    let mut service = ServiceBuilder::new()
        .layer(SetClientIpLayer::new(trusted, HopHeader::XForwardedFor))
        .layer(BearerLayer::new(tokens))
        .layer(RateLimitLayer::new(policy.clone()).with_extension::<u32>())
        .service(service_fn(|_: Request<Body>| {
            ready(Ok::<_, Infallible>(Response::new(Body::default())))
        }));

    let mut served = 0;
    for n in 0..count {
        served += u32::from(is_served(&mut service, forged(n, &token(0))?)?);
    }
    if (served, policy.len()) != (QUOTA.min(count), 1) {
        return Err(format!("{served} were served, with {} keys", policy.len()).into());
    }
    let mut most = 0;
    for n in 1..=KEYS {
        if !is_served(&mut service, forged(n, &token(n))?)? {
            return Err(format!("the identity {n} has used up the quota of another").into());
        }
        most = most.max(policy.len());
    }
    if most > MAX_KEYS {
        return Err(format!("{most} keys are remembered").into());
    }
    writeln!(
        io::stdout(),
        "{served} of {count} forged requests of one identity were served; {KEYS} identities took \
         {most} of {MAX_KEYS} keys"
    )?;
    Ok(())
}
