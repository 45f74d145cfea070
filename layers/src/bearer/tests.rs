use std::{
    convert::Infallible,
    future::{Ready, ready},
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body::{Body, Frame};
use http_body_util::Full;
use proptest::prelude::*;
use tokio_test::{assert_pending, assert_ready, assert_ready_ok, block_on, task};
use tower::{Layer, Service, ServiceExt as _, service_fn};
use tower_test::mock;

use super::*;
use crate::reject::Rejection;

type Outcome = Response<Bytes>;

/// Answers with the identity of the request.
fn whoami<B>(request: &Request<B>) -> Outcome {
    let who = request.extensions().get::<&str>().copied();
    Response::new(Bytes::from_static(who.unwrap_or("nobody").as_bytes()))
}

fn known() -> Hashed<&'static str> {
    Hashed::from_iter([(TokenHash::of("open-sesame"), "ali")])
}

fn send<V: Verify + Clone>(layer: &BearerLayer<V>, request: Request<()>) -> Outcome {
    let inner = service_fn(|request: Request<()>| ready(Ok::<_, Infallible>(whoami(&request))));
    block_on(layer.layer(inner).oneshot(request)).expect("infallible")
}

fn with_header(value: impl TryInto<HeaderValue, Error: fmt::Debug>) -> Request<()> {
    let value = value.try_into().expect("a header value");
    Request::get("/")
        .header(header::AUTHORIZATION, value)
        .body(())
        .expect("static parts")
}

fn to_path(path: &str) -> Request<()> {
    Request::get(path).body(()).expect("a path")
}

fn code(response: &Outcome) -> Option<&'static str> {
    response
        .extensions()
        .get::<Rejection>()
        .map(Rejection::code)
}

fn challenge(response: &Outcome) -> Option<&str> {
    let value = response.headers().get(header::WWW_AUTHENTICATE)?;
    Some(value.to_str().expect("ascii"))
}

#[test]
fn the_layer_and_its_service_are_send_sync_and_clone() {
    fn check<T: Send + Sync + Clone>(_: &T) {}
    let layer = BearerLayer::new(known());
    check(&layer);
    check(&layer.layer(service_fn(|_: Request<()>| {
        ready(Ok::<Outcome, Infallible>(Response::default()))
    })));
}

#[test]
fn a_good_token_passes_with_the_scheme_in_any_case() {
    for value in [
        "Bearer open-sesame",
        "bearer open-sesame",
        "BEARER   open-sesame",
    ] {
        let response = send(&BearerLayer::new(known()), with_header(value));
        assert_eq!(response.body(), "ali", "{value}");
    }
}

#[test]
fn each_fault_has_its_code_text_and_challenge() {
    const FORMAT: &str = "Invalid Authorization header format. Expected: Bearer <token>";
    let faults: [(&str, &str, &str, &[&[u8]]); 3] = [
        (
            "other_scheme",
            FORMAT,
            "Bearer",
            &[
                b"",
                b"Basic YWxpOmJhYmE=",
                b"open-sesame",
                b"Bearer\topen-sesame",
            ],
        ),
        (
            "invalid_request",
            FORMAT,
            r#"Bearer error="invalid_request""#,
            &[
                b"Bearer",
                b"Bearer open sesame",
                b"Bearer a, Bearer b",
                b"Bearer \"quoted\"",
                b"Bearer ==",
                b"Bearer caf\xc3\xa9",
            ],
        ),
        (
            "invalid_token",
            "Invalid or unknown token",
            r#"Bearer error="invalid_token""#,
            &[
                b"Bearer wrong",
                b"bearer open-sesam",
                b"Bearer open-sesame=",
            ],
        ),
    ];
    for (expected, text, expected_challenge, values) in faults {
        for value in values {
            let response = send(&BearerLayer::new(known()), with_header(*value));
            let case = String::from_utf8_lossy(value);
            assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{case}");
            assert_eq!(code(&response), Some(expected), "{case}");
            assert_eq!(challenge(&response), Some(expected_challenge), "{case}");
            assert_eq!(
                response.body(),
                &format!(r#"{{"error":"{text}"}}"#),
                "{case}"
            );
        }
    }
}

#[test]
fn a_missing_header_gets_a_challenge_without_an_error() {
    let response = send(&BearerLayer::new(known()), to_path("/"));
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(code(&response), Some("missing_token"));
    assert_eq!(challenge(&response), Some("Bearer"));
    assert_eq!(
        response.body(),
        r#"{"error":"Missing Authorization header"}"#
    );
}

#[test]
fn several_authorization_headers_are_refused_even_when_each_is_good() {
    let mut request = with_header("Bearer open-sesame");
    let again = HeaderValue::from_static("Bearer open-sesame");
    request.headers_mut().append(header::AUTHORIZATION, again);
    let response = send(&BearerLayer::new(known()), request);
    assert_eq!(code(&response), Some("invalid_request"));
}

#[test]
fn a_verifier_that_denies_decides_the_status() {
    let cases = [
        (
            Denied::Invalid,
            StatusCode::UNAUTHORIZED,
            Some(r#"Bearer error="invalid_token""#),
        ),
        (
            Denied::InsufficientScope,
            StatusCode::FORBIDDEN,
            Some(r#"Bearer error="insufficient_scope""#),
        ),
        (Denied::Unavailable, StatusCode::SERVICE_UNAVAILABLE, None),
    ];
    for (denied, status, expected_challenge) in cases {
        let verify = move |_: &str| -> Ready<Result<(), Denied>> { ready(Err(denied)) };
        let response = send(&BearerLayer::new(verify), with_header("Bearer t"));
        assert_eq!(response.status(), status, "{denied:?}");
        assert_eq!(challenge(&response), expected_challenge, "{denied:?}");
    }
}

#[test]
fn a_full_challenge_lists_its_parameters_in_order() {
    let full = Challenge::new()
        .with_realm(r#"the "cave", below"#)
        .and_then(|c| c.with_scope("read write"))
        .and_then(|c| c.with_resource_metadata("https://a.example/.well-known/x"))
        .expect("valid");
    let layer = BearerLayer::new(known()).with_challenge(full);
    let response = send(&layer, to_path("/"));
    assert_eq!(
        challenge(&response),
        Some(
            r#"Bearer realm="the \"cave\", below", scope="read write", resource_metadata="https://a.example/.well-known/x""#
        )
    );
    let response = send(&layer, with_header("Bearer wrong"));
    let text = challenge(&response).expect("a challenge");
    assert!(
        text.contains(r#", error="invalid_token", scope="#),
        "{text}"
    );
}

#[test]
fn invalid_challenge_parameters_are_refused_when_the_challenge_is_built() {
    let cases = [
        (Challenge::new().with_realm("line\nbreak"), "realm"),
        (Challenge::new().with_realm("caf\u{e9}"), "realm"),
        (Challenge::new().with_scope(""), "scope"),
        (Challenge::new().with_scope("a  b"), "scope"),
        (Challenge::new().with_scope("a\"b"), "scope"),
        (
            Challenge::new().with_resource_metadata("/relative"),
            "resource_metadata",
        ),
        (
            Challenge::new().with_resource_metadata("ftp://a.example/"),
            "resource_metadata",
        ),
    ];
    for (result, parameter) in cases {
        let error = result.expect_err(parameter).to_string();
        assert!(error.starts_with(parameter), "{error}");
    }
}

#[test]
fn exempt_paths_pass_without_reading_the_header() {
    let layer = BearerLayer::new(known()).with_exempt(["/health", "/.well-known/*"]);
    let cases = [
        ("/health", true),
        ("/health?deep=1", true),
        ("/health/", false),
        ("/healthy", false),
        ("/.well-known/oauth", true),
        ("/.well-known/a/b", true),
        ("/.well-known", false),
        ("/.well-known/../secret", false),
        ("/.well-known/%2e%2E/secret", false),
        ("/.well-known/..%2fsecret", false),
        ("/.well-known/.%5Csecret", false),
        ("/.well-known/a/..", false),
        ("/.well-known/...", true),
        ("/.well-known/a.b/.c", true),
        ("/", false),
    ];
    for (path, passes) in cases {
        let response = send(&layer, to_path(path));
        assert_eq!(response.status().is_success(), passes, "{path}");
    }
    let mut request = to_path("/health");
    let wrong = HeaderValue::from_static("Bearer wrong");
    request.headers_mut().insert(header::AUTHORIZATION, wrong);
    assert_eq!(send(&layer, request).body(), "nobody");
}

#[test]
fn an_optional_token_may_be_missing_but_not_wrong() {
    let layer = BearerLayer::new(known()).with_optional(["/*"]);
    assert_eq!(send(&layer, to_path("/mcp")).body(), "nobody");
    assert_eq!(
        send(&layer, with_header("Bearer open-sesame")).body(),
        "ali"
    );
    let response = send(&layer, with_header("Bearer wrong"));
    assert_eq!(code(&response), Some("invalid_token"));
    let response = send(&layer, with_header("Basic x"));
    assert_eq!(code(&response), Some("other_scheme"));
}

#[test]
fn only_a_refused_token_is_reported_as_a_failed_login() {
    let failed = |layer: &BearerLayer<_>, request| {
        send(layer, request)
            .extensions()
            .get::<AuthFailed>()
            .is_some()
    };
    let layer = BearerLayer::new(known());
    assert!(failed(&layer, with_header("Bearer wrong")));
    assert!(!failed(&layer, to_path("/")));
    assert!(!failed(&layer, with_header("Bearer a b")));
    assert!(!failed(&layer, with_header("Bearer open-sesame")));
    let silent = layer.with_failures_reported(false);
    assert!(!failed(&silent, with_header("Bearer wrong")));
}

/// A body that panics when it is read.
struct UnreadableBody;

impl Body for UnreadableBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        panic!("the body was read")
    }
}

#[test]
fn a_refusal_neither_reads_the_body_nor_calls_the_service() {
    let inner = service_fn(|_: Request<UnreadableBody>| async {
        panic!("the service was called");
        #[expect(unreachable_code, reason = "gives the future its type")]
        Ok::<Outcome, Infallible>(Response::default())
    });
    for value in ["Bearer wrong", "Basic x"] {
        let request = with_header(value).map(|()| UnreadableBody);
        let service = BearerLayer::new(known()).layer(inner);
        let response = block_on(service.oneshot(request)).expect("infallible");
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{value}");
    }
}

#[test]
fn the_inner_body_type_and_error_type_are_kept() {
    let inner = service_fn(|_: Request<()>| {
        ready(Ok::<_, std::io::Error>(Response::new(Full::new(
            Bytes::new(),
        ))))
    });
    let service = BearerLayer::new(known()).layer(inner);
    let response: Result<Response<Full<Bytes>>, std::io::Error> =
        block_on(service.oneshot(to_path("/")));
    assert_eq!(
        response.expect("answered").status(),
        StatusCode::UNAUTHORIZED
    );
}

#[test]
fn readiness_is_the_inner_services_and_slow_verification_uses_the_service_that_was_ready() {
    type Answer = Result<&'static str, Denied>;
    let (asked, verdict) = tokio::sync::oneshot::channel::<Answer>();
    let verdict = std::sync::Mutex::new(Some(verdict));
    let verify = Arc::new(move |_: &str| {
        let verdict = verdict
            .lock()
            .expect("not poisoned")
            .take()
            .expect("asked once");
        async move { verdict.await.expect("answered") }
    });
    let verify = move |token: &str| verify(token);

    let (service, mut handle) = mock::pair::<Request<()>, Outcome>();
    let mut service = mock::Spawn::new(BearerLayer::new(verify).layer(service));

    handle.allow(0);
    assert_pending!(service.poll_ready());
    handle.allow(1);
    assert_ready_ok!(service.poll_ready());

    let mut response = task::spawn(service.call(with_header("Bearer t")));
    assert_pending!(response.poll());
    asked.send(Ok("slow")).expect("still pending");
    assert_pending!(response.poll(), "now the inner service is at work");

    let (request, reply) = assert_ready!(task::spawn(handle.next_request()).poll()).expect("one");
    assert_eq!(request.extensions().get(), Some(&"slow"));
    reply.send_response(Response::default());
    assert_ready_ok!(response.poll());
}

#[test]
fn debug_never_shows_the_token() {
    let shows = |text: String| text.contains("open-sesame");
    let layer = BearerLayer::new(known());
    assert!(!shows(format!("{layer:?}")));
    assert!(!shows(format!("{:?}", known())));
    assert!(!shows(format!("{:?}", TokenHash::of("open-sesame"))));

    let inner = service_fn(move |request: Request<()>| {
        assert!(
            !shows(format!("{request:?}")),
            "the header is marked sensitive"
        );
        ready(Ok::<_, Infallible>(Outcome::default()))
    });
    let mut service = layer.layer(inner);
    let future = service.call(with_header("Bearer open-sesame"));
    assert!(!format!("{future:?}").contains("open-sesame"));
    block_on(future).expect("infallible");
}

#[test]
fn a_hash_reads_back_in_either_case_and_shows_only_its_first_digits_in_debug() {
    let hash = TokenHash::of("test");
    let text = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    assert_eq!(hash.to_string(), text);
    assert_eq!(text.to_uppercase().parse(), Ok(hash));
    assert_eq!(format!("{hash:.12}"), "9f86d081884c");
    assert_eq!(format!("{hash:?}"), "TokenHash(9f86d081884c…)");
    for wrong in [
        "",
        "9f86",
        &text[1..],
        &format!("{text}0"),
        &text.replace('9', "g"),
    ] {
        assert_eq!(wrong.parse::<TokenHash>(), Err(InvalidTokenHash), "{wrong}");
    }
}

#[test]
fn one_illegal_byte_in_a_token_is_found_at_any_position_and_length() {
    for length in 1..=50 {
        let token = vec![b'z'; length];
        assert!(token::is_b64token(&token), "{length}");
        for place in 0..length {
            for byte in [b' ', b',', b':', b'@', b'[', b'`', b'{', 0x7F, 0xE1] {
                let mut token = token.clone();
                token[place] = byte;
                assert!(!token::is_b64token(&token), "{byte} at {place} of {length}");
            }
        }
    }
}

#[test]
fn digests_that_differ_anywhere_are_not_equal() {
    let digest = *TokenHash::of("test").as_bytes();
    for place in 0..digest.len() {
        let mut other = digest;
        other[place] ^= 1;
        assert_ne!(
            TokenHash::from_bytes(digest),
            TokenHash::from_bytes(other),
            "{place}"
        );
    }
}

/// Answers at once for one token and later for all others.
#[derive(Clone)]
struct OneTokenAtOnce;

impl Verify for OneTokenAtOnce {
    type Identity = &'static str;
    type Future = Ready<Result<&'static str, Denied>>;

    fn verify(&self, token: &str) -> Self::Future {
        assert_ne!(token, "known", "asked again");
        ready(Ok("looked up"))
    }

    fn verify_now(&self, token: &str) -> Option<Result<&'static str, Denied>> {
        match token {
            "known" => Some(Ok("by heart")),
            "revoked" => Some(Err(Denied::Invalid)),
            _ => None,
        }
    }
}

#[test]
fn the_future_is_polled_only_if_verify_now_has_no_answer() {
    let layer = BearerLayer::new(OneTokenAtOnce);
    for (token, who) in [("known", "by heart"), ("other", "looked up")] {
        let response = send(&layer, with_header(format!("Bearer {token}")));
        assert_eq!(response.body(), who, "{token}");
    }
    let response = send(&layer, with_header("Bearer revoked"));
    assert_eq!(code(&response), Some("invalid_token"));
}

proptest! {
    #[test]
    fn a_token_is_accepted_exactly_when_the_grammar_says_so(token in "[ -~]{0,24}") {
        let mut rest = token.as_str();
        while let Some(shorter) = rest.strip_suffix('=') {
            rest = shorter;
        }
        let legal = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/";
        let expected = !rest.is_empty() && rest.chars().all(|c| legal.contains(c));
        prop_assert_eq!(token::is_b64token(token.as_bytes()), expected);
    }

    #[test]
    fn no_header_value_panics_or_passes_without_being_the_token(bytes: Vec<u8>) {
        if let Ok(value) = HeaderValue::from_bytes(&bytes) {
            let response = send(&BearerLayer::new(known()), with_header(value));
            prop_assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        }
    }

    #[test]
    fn no_path_below_an_exempt_root_leaves_it(path in "/open/[./%2eEfF5cCa\\\\]{0,16}") {
        let mut paths = Paths::default();
        paths.extend(["/open/*"]);
        if paths.contain(&path) {
            let decoded = path.to_lowercase().replace("%2e", ".").replace("%2f", "/")
                .replace("%5c", "/").replace('\\', "/");
            prop_assert!(decoded.split('/').all(|segment| segment != "." && segment != ".."));
        }
    }
}

#[test]
fn a_connection_of_hyper_can_be_served_in_a_spawned_block() {
    #[derive(Clone)]
    struct User(&'static str);

    fn is_send<T: Send>(_: impl FnOnce(tokio::net::TcpStream) -> T) {}

    let tokens = Hashed::from_iter([(TokenHash::of("open-sesame"), User("ali"))]);
    let inner = service_fn(async |request: Request<hyper::body::Incoming>| {
        let name = request.extensions().get().map_or("", |User(name)| name);
        Ok::<_, Infallible>(Response::new(Full::<Bytes>::from(name)))
    });
    let service = BearerLayer::new(tokens).layer(inner);
    // The block matters: with `&str` as the identity, it is not `Send`.
    is_send(async move |stream| {
        let service = hyper_util::service::TowerToHyperService::new(service);
        let io = hyper_util::rt::TokioIo::new(stream);
        let http = hyper::server::conn::http1::Builder::new();
        http.serve_connection(io, service).await
    });
}
