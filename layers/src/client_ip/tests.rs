use std::{
    convert::Infallible,
    future::{Ready, ready},
    iter,
    net::{Ipv4Addr, Ipv6Addr},
};

use http::{HeaderValue, Response};
use proptest::prelude::*;
use tokio_test::{assert_pending, assert_ready_ok, block_on};
use tower::{Layer, ServiceExt as _, service_fn};
use tower_test::mock;

use super::*;

const TRUSTED: &str = "10.0.0.0/8, 2001:db8:1::/48";
const PROXY: &str = "10.0.0.1:5000";

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn from_proxy(name: &str, lines: &[&[u8]]) -> Request<()> {
    let mut request = Request::new(());
    let peer = PROXY.parse().expect("a socket address");
    request.extensions_mut().insert(ClientIp::from_peer(peer));
    for line in lines {
        let value = HeaderValue::from_bytes(line).expect("a header value");
        let name = HeaderName::try_from(name).expect("a header name");
        request.headers_mut().append(name, value);
    }
    request
}

fn extension_after(header: HopHeader, request: Request<()>) -> Option<ClientIp> {
    let layer = SetClientIpLayer::new(TRUSTED.parse().expect("networks"), header);
    let inner = service_fn(|request: Request<()>| {
        ready(Ok::<_, Infallible>(request.extensions().get().copied()))
    });
    block_on(layer.layer(inner).oneshot(request)).expect("infallible")
}

/// The client behind our proxy, which sent these header lines.
fn client(header: HopHeader, lines: &[&[u8]]) -> IpAddr {
    let name = match &header {
        HopHeader::Forwarded => "forwarded",
        HopHeader::XForwardedFor => "x-forwarded-for",
        HopHeader::Single(name) => name.as_str(),
    }
    .to_owned();
    let caller = extension_after(header, from_proxy(&name, lines)).expect("it was there");
    assert_eq!(caller.peer().to_string(), PROXY, "the peer never changes");
    caller.client()
}

fn check(header: &HopHeader, cases: &[(&[&[u8]], &str)]) {
    for (lines, expected) in cases {
        let shown: Vec<_> = lines.iter().map(|line| line.escape_ascii()).collect();
        let shown: Vec<_> = shown.iter().map(ToString::to_string).collect();
        let client = client(header.clone(), lines);
        assert_eq!(client, address(expected), "{header:?}: {shown:?}");
    }
}

/// The result when the header names no address.
const UNKNOWN: &str = "10.0.0.1";

#[test]
fn the_layer_and_its_service_are_send_sync_and_clone() {
    fn check<T: Send + Sync + Clone>(_: &T) {}
    let layer = SetClientIpLayer::new(TrustedProxies::default(), HopHeader::Forwarded);
    check(&layer);
    check(&layer.layer(()));
    check(&ClientIp::from_peer(([192, 0, 2, 1], 80).into()));
}

#[test]
fn x_forwarded_for_is_walked_from_the_right() {
    let cases: &[(&[&[u8]], &str)] = &[
        (&[], UNKNOWN),
        (&[b""], UNKNOWN),
        (&[b" , ,"], UNKNOWN),
        (&[b"203.0.113.9"], "203.0.113.9"),
        (&[b"203.0.113.9, 10.9.9.9, 10.8.8.8"], "203.0.113.9"),
        (&[b"203.0.113.9,10.9.9.9 ,\t10.8.8.8 "], "203.0.113.9"),
        // Entries left of the first untrusted address were written by the client.
        (
            &[b"10.7.7.7, 1.1.1.1, 203.0.113.9, 10.9.9.9"],
            "203.0.113.9",
        ),
        (&[b"garbage, \xff\xfe\", 203.0.113.9"], "203.0.113.9"),
        // Several lines are one list.
        (&[b"1.1.1.1", b"203.0.113.9"], "203.0.113.9"),
        (&[b"1.1.1.1", b"203.0.113.9", b"10.9.9.9"], "203.0.113.9"),
        (&[b"203.0.113.9", b"", b" ,10.9.9.9,"], "203.0.113.9"),
        // All are trusted: the leftmost is the best answer there is.
        (&[b"10.3.3.3, 10.2.2.2"], "10.3.3.3"),
        // An entry without an address ends the walk.
        (&[b"203.0.113.9, unknown"], UNKNOWN),
        (&[b"203.0.113.9, unknown, 10.2.2.2"], "10.2.2.2"),
        (&[b"203.0.113.9, _hidden, 10.2.2.2"], "10.2.2.2"),
        (&[b"203.0.113.9, 10.2.2.2.2, 10.3.3.3"], "10.3.3.3"),
        (&[b"203.0.113.9 10.2.2.2"], UNKNOWN),
        // Formats of an address.
        (&[b"2001:db8::1"], "2001:db8::1"),
        (&[b"[2001:db8::1]"], "2001:db8::1"),
        (&[b"[2001:db8::1]:4711"], "2001:db8::1"),
        (&[b"203.0.113.9:4711"], "203.0.113.9"),
        (
            &[b"203.0.113.9, 2001:db8:1::7, [2001:db8:1::8]:80"],
            "203.0.113.9",
        ),
        (&[b"::ffff:203.0.113.9"], "203.0.113.9"),
        (
            &[b"203.0.113.9, ::ffff:10.1.1.1, [::ffff:a02:202]:9"],
            "203.0.113.9",
        ),
        (&[b"203.0.113.9:"], UNKNOWN),
        (&[b"203.0.113.9:x"], UNKNOWN),
        (&[b"203.0.113.9:123456"], UNKNOWN),
        (&[b"203.0.113.09"], UNKNOWN),
        (&[b"203.0.113"], UNKNOWN),
        (&[b"0xcb007109"], UNKNOWN),
        (&[b"[203.0.113.9]"], UNKNOWN),
        (&[b"[2001:db8::1"], UNKNOWN),
        (&[b"2001:db8::1]"], UNKNOWN),
        (&[b"[2001:db8::1]4711"], UNKNOWN),
        (&[b"\"203.0.113.9\""], UNKNOWN),
        // A zone id means nothing to other hosts.
        (&[b"fe80::1%eth0"], UNKNOWN),
        (&[b"[fe80::1%1]:80"], UNKNOWN),
    ];
    check(&HopHeader::XForwardedFor, cases);
}

#[test]
fn forwarded_is_walked_from_the_right() {
    let cases: &[(&[&[u8]], &str)] = &[
        (&[], UNKNOWN),
        (&[b""], UNKNOWN),
        (&[b"for=203.0.113.9"], "203.0.113.9"),
        (&[b"For=203.0.113.9;Proto=https;by=10.0.0.1"], "203.0.113.9"),
        (&[b"proto=https ; FOR=203.0.113.9 ;; "], "203.0.113.9"),
        (
            &[b"for=203.0.113.9, for=10.2.2.2,for=10.3.3.3"],
            "203.0.113.9",
        ),
        (
            &[b"for=1.1.1.1, for=203.0.113.9, for=10.2.2.2"],
            "203.0.113.9",
        ),
        (
            &[b"for=1.1.1.1", b"for=203.0.113.9", b"for=10.2.2.2"],
            "203.0.113.9",
        ),
        (&[b"for=10.3.3.3, , for=10.2.2.2,"], "10.3.3.3"),
        // An element without an address ends the walk.
        (&[b"for=203.0.113.9, for=unknown, for=10.2.2.2"], "10.2.2.2"),
        (&[b"for=203.0.113.9, for=\"Unknown\""], UNKNOWN),
        (&[b"for=203.0.113.9, for=_hidden, for=10.2.2.2"], "10.2.2.2"),
        (&[b"for=203.0.113.9, for=\"_SEVKISEK:80\""], UNKNOWN),
        (&[b"for=203.0.113.9, proto=https"], UNKNOWN),
        (&[b"for=203.0.113.9, for=1.1.1.1;for=1.1.1.2"], UNKNOWN),
        (
            &[b"for=203.0.113.9, For=1.1.1.1;proto=http;for=1.1.1.1"],
            UNKNOWN,
        ),
        (&[b"for=203.0.113.9, for=1.1.1.1;secure"], UNKNOWN),
        (&[b"203.0.113.9"], UNKNOWN),
        (&[b"for =203.0.113.9"], UNKNOWN),
        (&[b"for= 203.0.113.9"], UNKNOWN),
        (&[b"fork=203.0.113.9"], UNKNOWN),
        (&[b"for="], UNKNOWN),
        (&[b"for=\""], UNKNOWN),
        (&[b"for=\"\""], UNKNOWN),
    ];
    check(&HopHeader::Forwarded, cases);
}

#[test]
fn forwarded_nodes_are_read_in_every_notation_of_rfc_7239() {
    let cases: &[(&[&[u8]], &str)] = &[
        (&[b"for=\"203.0.113.9\""], "203.0.113.9"),
        (&[b"for=\"203.0.113.9:4711\""], "203.0.113.9"),
        (&[b"for=203.0.113.9:4711"], "203.0.113.9"),
        (&[b"for=\"203.0.113.9:_gazonk-1\""], "203.0.113.9"),
        (&[b"for=\"203.0.113.9:_\""], UNKNOWN),
        (&[b"for=\"203.0.113.9:_a b\""], UNKNOWN),
        (&[b"for=\"[2001:db8::1]\""], "2001:db8::1"),
        (&[b"for=\"[2001:db8::1]:4711\""], "2001:db8::1"),
        (&[b"for=\"[2001:DB8::1]:_obf\""], "2001:db8::1"),
        (&[b"for=\"[::ffff:203.0.113.9]\""], "203.0.113.9"),
        (&[b"for=\"[fe80::1%25eth0]\""], UNKNOWN),
        (&[b"for=\"[fe80::1%1]:80\""], UNKNOWN),
        // RFC 7239, section 6: IPv6 needs brackets, or its end could be a port.
        (&[b"for=\"2001:db8::1\""], UNKNOWN),
        // A backslash escapes the next character.
        (&[b"for=\"203.0.\\1\\13.9\""], "203.0.113.9"),
        (&[b"for=\"\\[2001:db8::1\\]:4711\""], "2001:db8::1"),
        (&[b"for=\"203.0.113.9\\"], UNKNOWN),
        (&[b"for=\"203.0.113.9\\\""], UNKNOWN),
        // Separators inside quotes do not separate.
        (
            &[b"for=203.0.113.9;host=\"a,for=1.1.1.1;for=2\""],
            "203.0.113.9",
        ),
        (
            &[b"for=203.0.113.9;host=\"a\\\",for=1.1.1.1\""],
            "203.0.113.9",
        ),
        (
            &[b"for=203.0.113.9;host=\"a\\\\\", for=10.2.2.2"],
            "203.0.113.9",
        ),
    ];
    check(&HopHeader::Forwarded, cases);
}

#[test]
fn a_damaged_left_end_does_not_hide_the_entry_of_the_proxy() {
    let cases: &[(&[&[u8]], &str)] = &[
        (&[b"for=\", for=203.0.113.9"], "203.0.113.9"),
        (&[b"for=\\, for=\"203.0.113.9\""], "203.0.113.9"),
        (&[b"for=\"\\\", for=203.0.113.9"], "203.0.113.9"),
        (&[b"\xff\"\xfe, for=203.0.113.9;proto=https"], "203.0.113.9"),
        (&[b"for=\"1.1.1.1", b"for=203.0.113.9"], "203.0.113.9"),
        // The damaged part ends the walk.
        (&[b"for=\"1.1.1.1, for=10.2.2.2"], "10.2.2.2"),
    ];
    check(&HopHeader::Forwarded, cases);
}

#[test]
fn a_single_header_counts_when_it_holds_one_address() {
    let cases: &[(&[&[u8]], &str)] = &[
        (&[], UNKNOWN),
        (&[b"203.0.113.9"], "203.0.113.9"),
        (&[b" 203.0.113.9:80 "], "203.0.113.9"),
        (&[b"2001:db8::1"], "2001:db8::1"),
        (&[b"10.2.2.2"], "10.2.2.2"),
        (&[b"203.0.113.9, 203.0.113.9"], UNKNOWN),
        (&[b"203.0.113.9", b"203.0.113.9"], UNKNOWN),
        (&[b"nobody"], UNKNOWN),
        (&[b""], UNKNOWN),
    ];
    let header = HopHeader::Single(HeaderName::from_static("x-real-ip"));
    check(&header, cases);
}

#[test]
fn headers_of_an_unlisted_peer_are_ignored() {
    for peer in ["203.0.113.9:80", "11.0.0.1:80", "[2001:db8:2::1]:80"] {
        for (header, name, value) in [
            (HopHeader::XForwardedFor, "x-forwarded-for", "1.1.1.1"),
            (HopHeader::Forwarded, "forwarded", "for=1.1.1.1"),
            (
                HopHeader::Single(HeaderName::from_static("x-real-ip")),
                "x-real-ip",
                "1.1.1.1",
            ),
        ] {
            let mut request = from_proxy(name, &[value.as_bytes()]);
            let peer = ClientIp::from_peer(peer.parse().expect("a socket address"));
            request.extensions_mut().insert(peer);
            assert_eq!(extension_after(header, request), Some(peer), "{name}");
        }
    }
}

#[test]
fn only_the_chosen_header_is_read() {
    let request = from_proxy("x-forwarded-for", &[b"1.1.1.1"]);
    let caller = extension_after(HopHeader::Forwarded, request).expect("it was there");
    assert_eq!(caller.client(), address(UNKNOWN));
}

#[test]
fn without_the_extension_the_request_passes_unchanged() {
    let mut request = from_proxy("x-forwarded-for", &[b"1.1.1.1"]);
    request.extensions_mut().clear();
    assert_eq!(extension_after(HopHeader::XForwardedFor, request), None);
}

#[test]
fn the_extension_is_corrected_in_place() {
    type Seen = (usize, IpAddr);

    fn at<B>(request: &Request<B>) -> Seen {
        let caller = request.extensions().get::<ClientIp>().expect("it is there");
        (std::ptr::from_ref(caller).addr(), caller.client())
    }

    let layer = SetClientIpLayer::new(TRUSTED.parse().expect("networks"), HopHeader::XForwardedFor);
    let request = from_proxy("x-forwarded-for", &[b"203.0.113.9"]);
    let before = at(&request);
    let inner =
        |request: Request<()>| -> Ready<Result<Seen, Infallible>> { ready(Ok(at(&request))) };
    let after = block_on(layer.layer(service_fn(inner)).oneshot(request)).expect("infallible");
    assert_eq!(after, (before.0, address("203.0.113.9")));
}

#[test]
fn a_dual_stack_peer_is_an_ipv4_peer() {
    let mapped = ClientIp::from_peer("[::ffff:10.0.0.1]:5000".parse().expect("static"));
    assert_eq!(mapped, ClientIp::from_peer(PROXY.parse().expect("static")));
    let zoned = ClientIp::from_peer("[fe80::1%3]:80".parse().expect("static"));
    assert_eq!(zoned.client(), address("fe80::1"));
}

#[test]
fn the_walk_gives_up_after_its_last_permitted_hop() {
    let trusted = |n: usize| vec!["10.2.2.2"; n].join(", ");
    let within = format!("203.0.113.9, {}", trusted(MAX_HOPS - 1));
    let beyond = format!("203.0.113.9, {}", trusted(MAX_HOPS));
    let client = |line: &str| client(HopHeader::XForwardedFor, &[line.as_bytes()]);
    assert_eq!(client(&within), address("203.0.113.9"));
    assert_eq!(client(&beyond), address("10.2.2.2"));
}

#[tokio::test]
async fn readiness_is_that_of_the_inner_service() {
    let layer = SetClientIpLayer::new(TRUSTED.parse().expect("networks"), HopHeader::XForwardedFor);
    let (mut service, mut handle) = mock::spawn_layer::<Request<()>, Response<()>, _>(layer);
    handle.allow(0);
    assert_pending!(service.poll_ready());
    handle.allow(1);
    assert_ready_ok!(service.poll_ready());
}

#[test]
fn networks_are_read_strictly() {
    let valid: &[(&str, &[&str], &[&str])] = &[
        ("", &[], &["10.0.0.1", "::1"]),
        ("0.0.0.0/0", &["192.0.2.1", "::ffff:192.0.2.1"], &["::1"]),
        ("10.0.0.0/8", &["10.255.0.1"], &["11.0.0.0"]),
        ("192.0.2.7", &["192.0.2.7"], &["192.0.2.6"]),
        (" ::1 , 10.0.0.0/8 ", &["::1", "10.0.0.1"], &["::2"]),
        ("2001:db8::/32", &["2001:db8:ffff::1"], &["2001:db9::"]),
        ("::ffff:10.0.0.0/104", &["10.1.1.1"], &["11.0.0.0"]),
        ("::ffff:10.0.0.1", &["10.0.0.1"], &["10.0.0.2"]),
    ];
    for (text, inside, outside) in valid {
        let trusted: TrustedProxies = text.parse().expect(text);
        for ip in *inside {
            assert!(trusted.contains(address(ip)), "{text}: {ip}");
        }
        for ip in *outside {
            assert!(!trusted.contains(address(ip)), "{text}: {ip}");
        }
    }
    let invalid = [
        (",", "not a network: the text is empty"),
        ("10.0.0.0/8,", "not a network: the text is empty"),
        (
            "proxy.example",
            "not a network: proxy.example (expected an IP address or network/prefix)",
        ),
        (
            "10.0.0/8",
            "not a network: 10.0.0/8 (expected an IP address or network/prefix)",
        ),
        (
            "10.0.0.0/33",
            "not a network: 10.0.0.0/33 (expected a prefix of 0 to 32 bits)",
        ),
        (
            "10.0.0.0/+8",
            "not a network: 10.0.0.0/+8 (expected a prefix of 0 to 32 bits)",
        ),
        (
            "::/",
            "not a network: ::/ (expected a prefix of 0 to 128 bits)",
        ),
        ("::1/64", "not a network: ::1/64 (did you mean ::/64?)"),
        (
            "fe80::1%eth0",
            "not a network: fe80::1%eth0 (zone ids are not allowed)",
        ),
    ];
    for (text, message) in invalid {
        let error = text.parse::<TrustedProxies>().expect_err(text);
        assert_eq!(error.to_string(), message, "{text}");
    }
}

#[test]
fn fuzzer_corpus_names_no_address() {
    for line in corpus::LINES {
        for header in [HopHeader::Forwarded, HopHeader::XForwardedFor] {
            let case = line.escape_ascii();
            let (left, right) = (&b"203.0.113.9"[..], *line);
            assert_eq!(
                client(header.clone(), &[right]),
                address("10.0.0.1"),
                "{case}"
            );
            assert_eq!(
                client(header, &[left, right]),
                address("10.0.0.1"),
                "{case}"
            );
        }
    }
}

/// A node, and the address it names.
fn any_node() -> impl Strategy<Value = (String, Option<IpAddr>)> {
    let v4 = any::<Ipv4Addr>();
    let v6 = any::<Ipv6Addr>();
    prop_oneof![
        v4.clone().prop_map(|ip| (ip.to_string(), Some(ip.into()))),
        (v4, any::<u16>()).prop_map(|(ip, port)| (format!("\"{ip}:{port}\""), Some(ip.into()))),
        v6.prop_map(|ip| (format!("\"[{ip}]\""), Some(IpAddr::V6(ip).to_canonical()))),
        "_[a-z.]{1,9}".prop_map(|name| (name, None)),
        Just(("unknown".to_owned(), None)),
    ]
}

/// Bytes that a client can put into a header, mostly syntax characters.
fn junk() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        3 => prop::sample::select(b"\",;=\\ [].:%for192".to_vec()),
        1 => (0x20..=0xff_u8).prop_filter("a header byte", |&byte| byte != 0x7f),
    ];
    prop::collection::vec(byte, 0..60)
}

fn headers(name: &'static str, lines: &[Vec<u8>]) -> HeaderMap {
    let value = |line: &Vec<u8>| HeaderValue::from_bytes(line).expect("header bytes");
    let names = iter::repeat(HeaderName::from_static(name));
    names.zip(lines.iter().map(value)).collect()
}

proptest! {
    #[test]
    fn well_formed_elements_read_back_in_reverse(nodes in prop::collection::vec(any_node(), 1..9)) {
        let line: Vec<_> = nodes
            .iter()
            .map(|(node, _)| format!("proto=https;for={node};host=\"a,b;for=\\\"c\""))
            .collect();
        let headers = headers("forwarded", &[line.join(", ").into_bytes()]);
        let read: Vec<_> = hops::forwarded(&headers).collect();
        let written: Vec<_> = nodes.iter().rev().map(|(_, ip)| *ip).collect();
        prop_assert_eq!(read, written);
    }

    #[test]
    fn the_entry_of_the_nearest_proxy_is_read_after_any_bytes(
        junk in junk(),
        (node, ip) in any_node(),
    ) {
        let mut line = junk;
        line.extend_from_slice(format!(",for={node}").as_bytes());
        let headers = headers("forwarded", &[line]);
        prop_assert_eq!(hops::forwarded(&headers).next(), Some(ip));
    }

    #[test]
    fn any_bytes_are_read_without_panic_and_mean_the_same_split_or_joined(
        lines in prop::collection::vec(junk(), 1..4),
    ) {
        let forwarded = headers("forwarded", &lines);
        let parts = hops::forwarded(&forwarded).count();
        prop_assert!(parts <= lines.iter().map(|line| line.len() + 1).sum());
        let split = headers("x-forwarded-for", &lines);
        let joined = headers("x-forwarded-for", &[lines.join(&b","[..])]);
        prop_assert!(hops::x_forwarded_for(&split).eq(hops::x_forwarded_for(&joined)));
    }

    #[test]
    fn the_client_is_the_peer_or_an_address_of_the_header(junk in junk()) {
        let seen = client(HopHeader::XForwardedFor, &[&junk]);
        let all = headers("x-forwarded-for", &[junk]);
        let named = hops::x_forwarded_for(&all).any(|hop| hop == Some(seen));
        prop_assert!(named || seen == address(UNKNOWN));
    }

    #[test]
    fn any_text_is_a_list_of_networks_or_an_error(text: String) {
        let _ = text.parse::<TrustedProxies>();
    }
}

#[cfg(all(feature = "axum", feature = "rate-limit"))]
#[test]
fn clients_of_axum_are_counted_apart() {
    use axum::{Router, body::Body, routing::get};
    use tower::{Service as _, ServiceBuilder};

    use crate::rate_limit::{RateLimitLayer, Steady};

    let quota = "1 per hour".parse().expect("a quota");
    let layers = ServiceBuilder::new()
        .layer(FromConnectInfoLayer::new())
        .layer(RateLimitLayer::new(Steady::new(quota)));
    let app = Router::new()
        .route("/", get(async || "hello"))
        .layer(layers);
    let mut app = app.into_make_service_with_connect_info::<SocketAddr>();
    let statuses = ["192.0.2.1:1", "192.0.2.2:1", "192.0.2.1:2"].map(|peer| {
        let peer: SocketAddr = peer.parse().expect("a socket address");
        block_on(async {
            let connection = app.call(peer).await.expect("infallible");
            let response = connection.oneshot(Request::new(Body::empty())).await;
            response.expect("infallible").status().as_u16()
        })
    });
    assert_eq!(statuses, [200, 200, 429]);
}

#[cfg(feature = "axum")]
#[test]
fn a_request_that_axum_knows_no_address_of_passes_unchanged() {
    let inner = service_fn(|request: Request<()>| {
        let caller = request.extensions().get::<ClientIp>().copied();
        ready(Ok::<_, Infallible>(caller))
    });
    let caller = block_on(
        FromConnectInfoLayer::new()
            .layer(inner)
            .oneshot(Request::new(())),
    );
    assert_eq!(caller, Ok(None));
}
