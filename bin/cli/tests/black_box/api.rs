//! Tests of `platform api`: requests to any path of the platform.

use std::fs;

use crate::{
    server::{Reply, Server},
    support::{User, ends, fails, json},
};

fn echo() -> Server {
    Server::platform(|_| Reply::json(200, r#"{"b":1.50,"a":[]}"#))
}

#[test]
fn a_call_that_is_wrong_is_refused_before_anything_is_looked_up() {
    let server = echo();
    let user = User::of(&server);
    for (arguments, message) in [
        (
            &["TRACE", "/x"][..],
            "method \"TRACE\" is not one of GET, POST, PUT, PATCH, DELETE\n",
        ),
        (
            &["GET", "x"],
            "path \"x\" must start with / and be relative to the API base; an absolute URL is not \
             accepted\n",
        ),
        (
            &["GET", "http://evil/x"],
            "path \"http://evil/x\" must start with / and",
        ),
        (
            &["GET", "/x?to=http://evil"],
            "path \"/x?to=http://evil\" must start with / and",
        ),
        (
            &["GET", "/../x"],
            "path \"/../x\" contains a . or .. segment\n",
        ),
        (
            &["GET", "/x?a=%g1"],
            "path \"/x?a=%g1\": query does not parse: ",
        ),
        (
            &["GET", "/x", "--query", "novalue"],
            "--query \"novalue\" is not key=value\n",
        ),
        (
            &["GET", "/x", "-d", "{}"],
            "--data is not sent with GET; use --query for parameters\n",
        ),
        (
            &["GET", "/x", "-H", "nothing"],
            "--header \"nothing\" is not Name: value\n",
        ),
        (
            &["GET", "/x", "-H", "AUTHORIZATION: Bearer x"],
            "--header cannot set Authorization; the module's own credential is sent\n",
        ),
        (&["POST", "/x", "-d", "@/nowhere/at/all"], "--data: "),
        (
            &["POST", "/x", "--dry-run=server"],
            "--dry-run=server is not available:",
        ),
    ] {
        let mut line = vec!["api"];
        line.extend(arguments);
        fails(&user.platform(&line), 2, message);
        // Without a credential the message is the same, because the check comes first.
        fails(&User::new().platform(&line), 2, message);
    }
    assert!(server.seen().is_empty());
}

#[test]
fn the_path_stays_as_typed_and_parameters_are_put_behind_it() {
    let server = echo();
    let user = User::of(&server);
    let base = format!("{}/base/", server.url());
    let run = |arguments: &[&str]| {
        let mut line = vec!["api", "--api-url", &base];
        line.extend(arguments);
        assert_eq!(user.platform(&line).code, Some(0));
        server.calls().pop().expect("a call")
    };
    let call = run(&[
        "get",
        "/a%2Fb?x=%20&y=+#frag",
        "--query",
        "k=v w",
        "--query",
        "a=é",
    ]);
    assert_eq!(call.target, "/base/a%2Fb?x=%20&y=+&a=%C3%A9&k=v+w");
    assert_eq!((call.method.as_str(), call.body.as_str()), ("GET", ""));
    assert_eq!(call.header("content-length"), None);
    let call = run(&[
        "DELETE",
        "/x",
        "-d",
        "{\"a\":1}",
        "-H",
        "X-A: 1",
        "-H",
        "x-a: 2",
    ]);
    assert_eq!(call.body, "{\"a\":1}");
    assert_eq!(call.header("x-a"), Some("2"));
    assert_eq!(call.header("content-type"), Some("application/json"));
    let call = run(&[
        "PUT",
        "/x",
        "-d",
        "plain",
        "-H",
        "content-type: text/plain",
        "-H",
        "Accept: */*",
    ]);
    assert_eq!(call.header("content-type"), Some("text/plain"));
    assert_eq!(call.header("accept"), Some("*/*"));
    let call = run(&["POST", "/x", "-d", ""]);
    assert_eq!(
        (call.body.as_str(), call.header("content-type")),
        ("", None)
    );
    assert_eq!(call.header("content-length"), Some("0"));
}

#[test]
fn a_body_comes_from_a_file_or_a_stream_byte_for_byte() {
    let server = echo();
    let user = User::of(&server);
    let path = user.home().join("body.json");
    fs::write(&path, "{ \"from\": \"file\" }\n").expect("written");
    let file = format!("@{}", path.display());
    user.platform(&["api", "POST", "/x", "-d", &file]);
    assert_eq!(server.calls()[0].body, "{ \"from\": \"file\" }\n");
    let arguments = ["platform", "api", "POST", "/x", "--data", "-"];
    user.run_with_input(&arguments, "not json\n");
    assert_eq!(server.calls()[1].body, "not json\n");
}

#[test]
fn an_answer_is_printed_in_the_format_asked_for() {
    let server = Server::platform(|seen| match seen.target.as_str() {
        "/text" => Reply::With(200, vec![], "plain".to_owned()),
        "/empty" => Reply::With(204, vec![], String::new()),
        _ => Reply::json(200, " {\"b\":12345678901234567890123,\"a\":[1.50]}\n"),
    });
    let user = User::of(&server);
    let run = |more: &[&str]| {
        let mut line = vec!["api", "GET"];
        line.extend(more);
        user.platform(&line)
    };
    ends(
        &run(&["/x"]),
        0,
        "{\n  \"b\": 12345678901234567890123,\n  \"a\": [\n    1.50\n  ]\n}\n",
        "",
    );
    let compact = "{\"b\":12345678901234567890123,\"a\":[1.50]}\n";
    ends(&run(&["/x", "-o", "json"]), 0, compact, "");
    let yaml = run(&["/x", "-o", "yaml"]).stdout;
    assert!(
        yaml.starts_with("a:\n") && yaml.ends_with("b: 12345678901234567890123\n"),
        "{yaml}"
    );
    ends(&run(&["/x", "--jq", ".a[0]"]), 0, "1.50\n", "");
    let failed = run(&["/x", "--jq", ".b.c"]);
    assert_eq!((failed.code, &*failed.stdout), (Some(1), ""), "{failed:?}");
    assert!(failed.stderr.starts_with("Error: --jq: "), "{failed:?}");
    for format in ["text", "json", "yaml"] {
        ends(&run(&["/text", "-o", format]), 0, "plain\n", "");
    }
    ends(&run(&["/empty"]), 0, "", "GET /empty: HTTP 204, no body.\n");
}

#[test]
fn a_failure_goes_to_standard_output_only_where_a_script_reads_it() {
    let body = r#"{"code":409,"message":"taken","token":"unmasked"}"#;
    let server = Server::platform(move |seen| match seen.target.as_str() {
        "/html" => Reply::With(500, vec![], "<h1>".to_owned()),
        _ => Reply::json(409, body),
    });
    let user = User::of(&server);
    let ran = user.platform(&["api", "POST", "/x"]);
    ends(&ran, 1, "", "Error: conflict (409): taken\n");
    let ran = user.platform(&["api", "POST", "/x", "-o", "json"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(1), format!("{body}\n").as_str())
    );
    let error = &json(&ran.stderr)["error"];
    assert_eq!(error["code"], "conflict");
    assert_eq!(error["request"]["url"], format!("{}/x", server.url()));
    assert_eq!(error["server"]["token"], "████");
    let ran = user.platform(&["api", "POST", "/x", "-o", "yaml"]);
    assert!(ran.stdout.contains("token: unmasked\n"), "{ran:?}");
    let ran = user.platform(&["api", "POST", "/html", "-o", "json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
}

#[test]
fn include_shows_status_and_headers_first_and_masked() {
    let server = Server::platform(|seen| {
        let headers = vec![
            ("X-Many", "1".to_owned()),
            ("x-many", "2".to_owned()),
            ("Set-Cookie", "session=hush".to_owned()),
        ];
        let status = if seen.target == "/bad" { 500 } else { 200 };
        Reply::With(status, headers, "{}".to_owned())
    });
    let user = User::of(&server);
    let ran = user.platform(&["api", "GET", "/x", "-i"]);
    let head = "HTTP 200\nContent-Length: 2\nSet-Cookie: ████\nX-Many: 1, 2\n";
    ends(&ran, 0, "{}\n", head);
    let ran = user.platform(&["api", "GET", "/bad", "-i"]);
    assert!(ran.stderr.starts_with("HTTP 500\n"), "{ran:?}");
    assert!(
        ran.stderr.ends_with("Error: API error (500): {}\n"),
        "{ran:?}"
    );
}
