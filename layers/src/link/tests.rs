use std::{convert::Infallible, future::Ready, future::ready};

use bytes::Bytes;
use http::response::Builder;
use proptest::prelude::*;
use tower::{ServiceBuilder, ServiceExt as _, service_fn};

use super::*;

const DESC: &str = r#"</v1/openapi.json>; rel="service-desc""#;

fn desc() -> LinkValue {
    LinkValue::service_desc("/v1/openapi.json").expect("valid")
}

fn json() -> Builder {
    Response::builder().header("content-type", "application/json")
}

/// Sends the response through the layer.
fn through<F: Select + Clone>(layer: LinkLayer<F>, response: Builder) -> Response<Bytes> {
    let response = response.body(Bytes::new()).expect("valid parts");
    let mut response = Some(response);
    let service =
        ServiceBuilder::new()
            .layer(layer)
            .service(service_fn(move |_: Request<Bytes>| {
                ready(Ok::<_, Infallible>(response.take().expect("called once")))
            }));
    let response = service.oneshot(Request::new(Bytes::new()));
    tokio_test::block_on(response).expect("infallible")
}

fn lines(response: &Response<Bytes>) -> Vec<&str> {
    let lines = response.headers().get_all(header::LINK).iter();
    lines.map(|line| line.to_str().expect("ASCII")).collect()
}

#[test]
fn every_part_of_a_link_is_written_by_the_grammar() {
    let built = |link: Result<LinkValue, InvalidLink>| link.expect("valid").to_string();
    let cases = [
        (built(Ok(desc())), DESC),
        (
            built(LinkValue::service_doc("/docs")),
            r#"</docs>; rel="service-doc""#,
        ),
        (
            built(LinkValue::service_meta("/meta")),
            r#"</meta>; rel="service-meta""#,
        ),
        (
            built(LinkValue::status("https://up.example/")),
            r#"<https://up.example/>; rel="status""#,
        ),
        (
            built(desc().with_rel("describedby")),
            r#"</v1/openapi.json>; rel="service-desc describedby""#,
        ),
        (built(desc().with_rel("service-desc")), DESC),
        (
            built(LinkValue::new("?page=2", "urn:example:next")),
            r#"<?page=2>; rel="urn:example:next""#,
        ),
        (
            built(desc().with_param("Type", "application/json")),
            r#"</v1/openapi.json>; rel="service-desc"; type="application/json""#,
        ),
        (
            built(
                desc()
                    .with_param("hreflang", "en")
                    .and_then(|l| l.with_param("hreflang", "de")),
            ),
            r#"</v1/openapi.json>; rel="service-desc"; hreflang=en; hreflang=de"#,
        ),
        (
            built(desc().with_param("title", r#"The "API" \ all of it"#)),
            r#"</v1/openapi.json>; rel="service-desc"; title="The \"API\" \\ all of it""#,
        ),
        (
            built(desc().with_param("x", "")),
            r#"</v1/openapi.json>; rel="service-desc"; x="""#,
        ),
    ];
    for (written, expected) in cases {
        assert_eq!(written, expected);
    }
}

#[test]
fn a_target_that_is_not_a_uri_reference_is_refused() {
    let targets = [
        "",
        "/a b",
        "/a>; rel=x",
        "<a",
        "/\"",
        "/a\r\nset-cookie: a=b",
        "/ä",
        "/%2",
        "/%zz",
        "\\a",
    ];
    for target in targets {
        let error = LinkValue::service_desc(target).expect_err(target);
        assert!(error.to_string().contains("target"), "{target}: {error}");
    }
}

#[test]
fn a_relation_that_is_neither_a_name_nor_a_uri_is_refused() {
    for rel in [
        "",
        "next prev",
        "Next",
        "x:\"",
        "/rel:next",
        "1st",
        "ä",
        "a\nb",
    ] {
        let error = desc().with_rel(rel).expect_err(rel);
        assert!(error.to_string().contains("relation"), "{rel}: {error}");
    }
}

#[test]
fn a_parameter_that_would_break_the_header_is_refused_with_a_reason() {
    let cases = [
        ("REL", "next", "with_rel"),
        ("rev", "next", "obsolete"),
        ("title*", "UTF-8''x", "encoded"),
        ("", "x", "token"),
        ("a b", "x", "token"),
        ("title", "a\nb", "printable"),
        ("title", "ä", "printable"),
        ("type", "json", "media type"),
        ("type", "a/b; q=1", "media type"),
        ("anchor", "a b", "URI reference"),
        ("X-Given", "again", "once"),
    ];
    let given = desc().with_param("x-given", "").expect("valid");
    for (name, value, reason) in cases {
        let error = given.clone().with_param(name, value).expect_err(name);
        let error = error.to_string();
        assert!(error.contains(reason), "{name}={value}: {error}");
    }
}

#[test]
fn json_responses_of_every_status_get_the_link_and_others_do_not() {
    let cases = [
        (200, Some("application/json"), true),
        (404, Some("application/json"), true),
        (500, Some("application/problem+json"), true),
        (200, Some("Application/JSON; charset=utf-8"), true),
        (200, Some("application/vnd.api+JSON ; a=b"), true),
        (200, Some("text/event-stream"), false),
        (200, Some("application/jsonl"), false),
        (200, Some("application/json-seq"), false),
        (200, Some("text/plain; x=application/json"), false),
        (200, Some("image/svg+json"), false),
        (200, Some("application/"), false),
        (200, Some("é"), false),
        (204, None, false),
        (101, Some("application/json"), false),
        (304, Some("application/json"), false),
    ];
    for (status, content_type, expected) in cases {
        let mut response = Response::builder().status(status);
        if let Some(content_type) = content_type {
            response = response.header("content-type", content_type.as_bytes());
        }
        let response = through(LinkLayer::new([desc()]), response);
        let expected: &[&str] = if expected { &[DESC] } else { &[] };
        assert_eq!(lines(&response), expected, "{status} {content_type:?}");
    }
}

#[test]
fn a_filter_decides_for_other_types_but_never_for_1xx_and_304() {
    let every = LinkLayer::new([desc()]).on_every_response();
    for (status, expected) in [(200, 1), (204, 1), (500, 1), (101, 0), (103, 0), (304, 0)] {
        let response = through(every.clone(), Response::builder().status(status));
        assert_eq!(lines(&response).len(), expected, "{status}");
    }
    let found = |status: StatusCode, _: &HeaderMap| status.is_success();
    for (status, expected) in [(200, 1), (404, 0)] {
        let layer = LinkLayer::new([desc()]).with_filter(found);
        let response = through(layer, json().status(status));
        assert_eq!(lines(&response).len(), expected, "{status}");
    }
}

#[test]
fn links_are_appended_in_order_and_once_each() {
    let doc = LinkValue::service_doc("/docs").expect("valid");
    let layer = LinkLayer::new([desc(), doc, desc()]);
    let response = through(layer, json().header("link", "</next>; rel=next"));
    let expected = ["</next>; rel=next", DESC, r#"</docs>; rel="service-doc""#];
    assert_eq!(lines(&response), expected);
}

#[test]
fn links_that_differ_in_a_parameter_are_both_added() {
    let link = |language| desc().with_param("hreflang", language).expect("valid");
    let response = through(LinkLayer::new([link("en"), link("de")]), json());
    assert_eq!(lines(&response).len(), 2);
}

#[test]
fn a_second_layer_adds_nothing() {
    let layer = LinkLayer::new([desc()]);
    let first = through(layer.clone(), json());
    let again = json().header("link", &first.headers()["link"]);
    assert_eq!(lines(&through(layer, again)), [DESC]);
}

#[test]
fn a_link_counts_as_present_when_target_relations_and_anchor_agree() {
    let cases = [
        ("</v1/openapi.json>; rel=service-desc", true),
        ("</v1/openapi.json>;rel=\"service-desc\"", true),
        (
            "  </v1/openapi.json> ; REL = \"Service-Desc\" ; type=\"a/b\"",
            true,
        ),
        ("</v1/openapi.json>; rel=\"describedby service-desc\"", true),
        ("</v1/openapi.json>; rel=\"service-de\\sc\"", true),
        (
            "</v1/openapi.json>; title=\"a, \\\"b\"; rel=service-desc",
            true,
        ),
        (
            "</a>; title=\"x, y; rel=z\", </v1/openapi.json>; rel=service-desc",
            true,
        ),
        (
            "</a,b>; rel=next, , </v1/openapi.json>; rel=service-desc",
            true,
        ),
        (
            "nonsense \"a, b\", </v1/openapi.json>; rel=service-desc",
            true,
        ),
        ("</a> nonsense, </v1/openapi.json>; rel=service-desc", true),
        ("</v1/openapi.json>; rel", false),
        ("</v1/openapi.json>; rel=", false),
        ("</v1/openapi.json>", false),
        ("</v1/openapi.json>; rel=service-doc", false),
        ("</v1/openapi.json>; rel=service-desc2", false),
        ("</v1/openapi.json>; rel=\"service-des c\"", false),
        ("</v1/openapi.json>; rel=next; rel=service-desc", false),
        ("</v1/openapi.json>; rel=service-desc; anchor=\"#a\"", false),
        ("</v1/openapi.json>; anchor=\"#a\"; rel=service-desc", false),
        ("</v2/openapi.json>; rel=service-desc", false),
        ("</v1/openapi.json; rel=service-desc", false),
        ("/v1/openapi.json; rel=service-desc", false),
        ("</a> \"x, </v1/openapi.json>; rel=service-desc; y\"", false),
        (
            "</a>; title=\"</v1/openapi.json>; rel=service-desc\"",
            false,
        ),
        (
            "</a>; title=\"never closed, </v1/openapi.json>; rel=service-desc",
            false,
        ),
        ("", false),
    ];
    for (line, present) in cases {
        let response = through(LinkLayer::new([desc()]), json().header("link", line));
        assert_eq!(
            lines(&response).len(),
            if present { 1 } else { 2 },
            "{line}"
        );
        assert_eq!(lines(&response)[0], line, "the line is kept");
    }
}

#[test]
fn every_link_line_is_read() {
    let response = json().header("link", "</a>; rel=next").header("link", DESC);
    let response = through(LinkLayer::new([desc()]), response);
    assert_eq!(lines(&response), ["</a>; rel=next", DESC]);
}

#[test]
fn an_anchored_link_is_the_same_only_under_the_same_anchor() {
    let anchored = desc().with_param("anchor", "#a").expect("valid");
    for (line, count) in [
        ("</v1/openapi.json>; rel=service-desc; anchor=\"#a\"", 1),
        ("</v1/openapi.json>; rel=service-desc; anchor=\"#b\"", 2),
        (DESC, 2),
    ] {
        let layer = LinkLayer::new([anchored.clone()]);
        let response = through(layer, json().header("link", line));
        assert_eq!(lines(&response).len(), count, "{line}");
    }
}

#[test]
fn the_layer_is_ready_when_the_service_is() {
    let layer = LinkLayer::new([desc()]);
    let (mut service, mut handle) =
        tower_test::mock::spawn_layer::<Request<()>, Response<()>, _>(layer);
    handle.allow(0);
    tokio_test::assert_pending!(service.poll_ready());
    handle.allow(1);
    tokio_test::assert_ready_ok!(service.poll_ready());
}

#[test]
fn errors_of_the_service_pass() {
    let failing = service_fn(|_: Request<()>| ready(Err::<Response<()>, _>("broken")));
    let service = LinkLayer::new([desc()]).layer(failing);
    let result = tokio_test::block_on(service.oneshot(Request::new(())));
    assert_eq!(result.expect_err("passed on"), "broken");
}

#[test]
fn layer_service_and_future_are_send_sync_and_clone() {
    fn check<T: Send + Sync + Clone + fmt::Debug>() {}
    fn check_future<T: Send + Sync + fmt::Debug>() {}
    check::<LinkLayer>();
    check::<Link<()>>();
    check_future::<ResponseFuture<Ready<()>>>();
}

#[test]
fn fuzzer_corpus_stays_as_it_is_and_hides_no_link() {
    for line in corpus::LINES {
        let case = line.escape_ascii();
        let value = HeaderValue::from_bytes(line).expect("a header value");
        let once = through(
            LinkLayer::new([desc()]),
            json().header(header::LINK, value.clone()),
        );
        let written: Vec<_> = once.headers().get_all(header::LINK).iter().collect();
        assert_eq!(written, [&value, &HeaderValue::from_static(DESC)], "{case}");
        let mut again = json();
        for value in written {
            again = again.header(header::LINK, value);
        }
        let twice = through(LinkLayer::new([desc()]), again);
        assert_eq!(
            twice.headers().get_all(header::LINK).iter().count(),
            2,
            "{case}"
        );
    }
}

/// Pieces of `Link` lines, well-formed or not.
fn syntax_pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "<",
            ">",
            "\"",
            "\\",
            ",",
            ";",
            "=",
            " ",
            "\t",
            "</a>",
            "; rel=",
            "; rel=\"",
            "anchor",
            "title=\"a, b\"",
            "service-desc",
            "</v1/openapi.json>",
            "é",
        ])
        .prop_map(|piece| piece.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_bytes_are_read_to_the_end(line in syntax_pieces()) {
        let targets = line.split(|&byte| byte == b'<').count() - 1;
        prop_assert!(parse::links(&line).count() <= targets);
    }

    #[test]
    fn a_link_is_found_after_any_well_formed_links(
        others in prop::collection::vec(
            (r"[a-z0-9/,;=?\x22]{0,12}", r"([ -!#-\[\]-~]|\\[ -~]){0,16}"), 0..4,
        ),
    ) {
        let mut line: Vec<_> = others
            .iter()
            .map(|(target, title)| format!("<{target}>; title=\"{title}\" "))
            .collect();
        line.push(DESC.to_owned());
        let line = line.join(",");
        let ours = parse::links(DESC.as_bytes()).next().expect("a link");
        let found = parse::links(line.as_bytes()).any(|written| written.covers(&ours));
        prop_assert!(found, "{}", line);
    }

    #[test]
    fn a_written_link_is_read_back(
        target in r"[a-zA-Z0-9/:?#\[\]@!$&'()*+,;=._~-]{1,20}",
        rel in "[a-z][a-z0-9.-]{0,10}",
        title in "[ -~]{0,20}",
        anchor in r"#[a-z,;=]{0,8}",
    ) {
        let link = LinkValue::new(&*target, &rel)
            .and_then(|link| link.with_param("title", &title))
            .and_then(|link| link.with_param("anchor", &anchor))
            .expect("valid");
        let line = link.to_string();
        let read: Vec<_> = parse::links(line.as_bytes()).collect();
        prop_assert_eq!(read.len(), 1, "{}", line);
        let other = format!("<{target}>;anchor=\"{anchor}\" ; rel={rel}");
        let meant = parse::links(other.as_bytes()).next().expect("a link");
        prop_assert!(read[0].covers(&meant) && meant.covers(&read[0]), "{}", line);
    }
}

#[cfg(feature = "sanitize")]
#[test]
fn sanitised_faults_have_links_if_the_layer_is_outside() {
    use crate::sanitize::SanitizeLayer;

    let fault = |_: Request<()>| {
        let fault = Response::builder().status(StatusCode::BAD_GATEWAY);
        ready(fault.body(Bytes::from("no route to 10.0.0.7")))
    };
    let panics = |_: Request<()>| -> Ready<Result<Response<Bytes>, http::Error>> { panic!("oops") };
    let (links, sanitize) = (LinkLayer::new([desc()]), SanitizeLayer::new());
    let outside = ServiceBuilder::new().layer(links.clone()).layer(sanitize);
    let inside = ServiceBuilder::new().layer(sanitize).layer(links);
    let send = |response: Result<Response<Bytes>, http::Error>| {
        let response = response.expect("valid parts");
        let has_link = response.headers().contains_key(header::LINK);
        (response.status().as_u16(), has_link)
    };
    let request = || Request::new(());
    let answers = tokio_test::block_on(async {
        [
            send(outside.clone().service_fn(fault).oneshot(request()).await),
            send(outside.service_fn(panics).oneshot(request()).await),
            send(inside.clone().service_fn(fault).oneshot(request()).await),
            send(inside.service_fn(panics).oneshot(request()).await),
        ]
    });
    assert_eq!(
        answers,
        [(502, true), (500, true), (502, false), (500, false)]
    );
}
