//! Acceptance and refusal of tokens, and the records of their holders.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};
use ziggurat_black_box::{Answer, FakeIssuer, MetricsPage, Postgres, until};

use super::{PUBLIC_URL, RESOURCE, TOKEN_FILE, add_token, names};
use crate::support::{Home, library, nowhere, pipeline, question, server};

const ASK: &str = "/v1/pipelines/docs";
const CHAT: &str = "/v1/chat/completions";

const REFUSAL: &str =
    "{\"error\":{\"code\":\"UNAUTHORIZED\",\"message\":\"a valid bearer token is required\"}}\n";

/// Creates a folder with a token file, in which nothing is yet, and this list of pipelines.
fn home(more: &str, sections: &str, list: &str) -> Home {
    let home = Home::new();
    let auth = TOKEN_FILE.replace(
        "tokens.yaml",
        &home.file("tokens.yaml").display().to_string(),
    );
    let server = server(&format!("{auth}{more}"));
    home.configure(&format!("{server}{sections}pipelines:\n{list}"));
    home
}

fn asked(postgres: &Postgres) -> String {
    pipeline("docs", postgres, "")
}

fn is_refused(answer: &Answer, challenge: &str) {
    assert_eq!((answer.status, &*answer.body), (401, REFUSAL), "{answer:?}");
    assert_eq!(
        answer.header("www-authenticate"),
        Some(challenge),
        "{answer:?}"
    );
    assert_eq!(answer.header("content-type"), Some("application/json"));
}

#[test]
fn a_request_needs_a_valid_token_and_is_refused_in_the_format_of_its_route() {
    let home = home("  openai_compatible: true\n", "", &nowhere("docs", ""));
    let (token, _) = add_token(&home, "1h");
    let (_program, client) = home.serve();
    for path in [
        "/v1/pipelines",
        ASK,
        "/v1/stats",
        "/v1/console",
        "/v1/nothing",
        "/nothing",
        "/v1/models2",
    ] {
        is_refused(&client.get(path), "Bearer");
        let wrong = client.bearing("zig_wrong").get(path);
        is_refused(&wrong, "Bearer error=\"invalid_token\"");
        let basic = client.send("GET", path, "authorization: Basic YTpi\r\n", "");
        is_refused(&basic, "Bearer");
        let twice = "authorization: Bearer a\r\nauthorization: Bearer b\r\n";
        let twice = client.send("POST", path, twice, "");
        is_refused(&twice, "Bearer error=\"invalid_request\"");
    }
    for path in [CHAT, "/v1/models", "/v1/models/docs"] {
        let answer = client.get(path);
        assert_eq!(answer.status, 401, "{answer:?}");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        let expected = json!({"error": {"message": "a valid bearer token is required",
            "type": "invalid_request_error", "param": null, "code": "invalid_api_key"}});
        assert_eq!(answer.json(), expected, "{path}");
    }
    for path in ["/", "/ready", "/v1/live", "/v1/openapi.json", "/v1/health"] {
        // Not ready: its database is away.
        let expected = if path == "/ready" { 503 } else { 200 };
        assert_eq!(client.get(path).status, expected, "{path}");
    }
    // Without an issuer there is no metadata, and a client must not be asked for a token.
    assert_eq!(
        client.get("/.well-known/oauth-protected-resource").status,
        404
    );
    is_refused(
        &client.bearing("zig_wrong").get("/v1/health"),
        "Bearer error=\"invalid_token\"",
    );
    let known = client.bearing(&token);
    assert_eq!(
        names(&known.get("/v1/pipelines").json(), "pipelines", "name"),
        ["docs"]
    );
    assert_eq!(known.get("/v1/nothing").status, 404);
}

#[test]
fn a_token_ends_when_it_is_removed_and_one_that_is_added_begins() {
    let postgres = library();
    let home = home("", "", &asked(&postgres));
    let (token, id) = add_token(&home, "never");
    let (program, client) = home.serve();
    let ask = |token: &str| {
        let client = client.bearing(token);
        client.post(ASK, &question("What do ferns like?")).status
    };
    assert_eq!(ask(&token), 200);
    program.until_it_says("[AUTH] Reloaded", || {
        let ran = home.ran(&["-remove-token", &id]);
        assert_eq!(ran.stdout, format!("Token removed successfully: {id}\n"));
    });
    until("the token is refused", || ask(&token) == 401);
    let (other, _) = add_token(&home, "30d");
    until("the new one is accepted", || ask(&other) == 200);
    let listed = home.ran(&["-list-tokens"]).stdout;
    assert!(listed.ends_with("\nTotal tokens: 1\n"), "{listed}");
    assert!(!listed.contains("Database"), "{listed}");
}

#[test]
fn an_expired_token_is_refused() {
    let postgres = library();
    let home = home("", "", &asked(&postgres));
    let (token, _) = add_token(&home, "1h");
    let path = home.file("tokens.yaml");
    let text = fs::read_to_string(&path).expect("a file");
    let ends = text.find("expires_at: \"").expect("a date") + "expires_at: \"".len();
    let year = &text[ends..ends + 4];
    let ended = text.replace(
        &format!("expires_at: \"{year}"),
        &format!("expires_at: \"{}", year.parse::<u32>().expect("a year") - 1),
    );
    home.replace(&path, &ended);
    let (_program, client) = home.serve();
    let answer = client.bearing(&token).get("/v1/pipelines");
    is_refused(&answer, "Bearer error=\"invalid_token\"");
}

#[test]
fn an_issuer_is_announced_and_its_tokens_are_for_this_server() {
    let issuer = FakeIssuer::start();
    let url = &issuer.url;
    let trusted = format!(
        "  auth: {{issuer: {{url: '{url}', jwks_url: '{url}/keys', public_url: '{PUBLIC_URL}/', \
         scopes: [ask], when_unreachable: accept}}}}\n"
    );
    let list = nowhere("docs", "");
    let home = Home::with(&format!("{}pipelines:\n{list}", server(&trusted)));
    let (_program, client) = home.serve();
    let challenge = |error: &str| {
        format!(
            "Bearer {error}scope=\"ask\", resource_metadata=\
             \"{PUBLIC_URL}/.well-known/oauth-protected-resource/v1\""
        )
    };
    is_refused(&client.get("/v1/pipelines"), &challenge(""));
    for path in ["", "/v1"] {
        let path = format!("/.well-known/oauth-protected-resource{path}");
        let metadata = client.get(&path).json();
        assert_eq!(metadata["resource"], RESOURCE);
        assert_eq!(metadata["authorization_servers"], json!([url]));
    }
    let get = |token: &str| client.bearing(token).get("/v1/pipelines");
    let ask = json!({"scope": "ask"});
    assert_eq!(get(&issuer.token(RESOURCE, "ann", &ask)).status, 200);
    let elsewhere = issuer.token("https://tools.example/mcp", "ann", &ask);
    is_refused(&get(&elsewhere), &challenge("error=\"invalid_token\", "));
    let expired = json!({"scope": "ask", "exp": 1_000_000_000});
    let expired = issuer.token(RESOURCE, "ann", &expired);
    is_refused(&get(&expired), &challenge("error=\"invalid_token\", "));
    // This server has no API tokens.
    is_refused(&get("zig_some"), &challenge("error=\"invalid_token\", "));
    let answer = get(&issuer.token(RESOURCE, "ann", &json!({})));
    let error = &answer.json()["error"];
    assert_eq!(
        (answer.status, &error["code"]),
        (403, &json!("INSUFFICIENT_SCOPE"))
    );
}

#[test]
fn the_holder_of_a_token_is_recorded_counted_and_limited() {
    let postgres = library();
    let home = Home::new();
    let configure = |limited: &str| {
        let auth = home.file("tokens.yaml");
        let server = server(&format!("  auth: {{token_file: {}}}\n", auth.display()));
        let list = asked(&postgres) + &nowhere("mine", "  for: {local: true}\n");
        home.configure(&format!(
            "{server}audit: {{file: audit.jsonl}}\ntelemetry: {{metrics: {{address: \
             '127.0.0.1:0'}}}}\nlimits: {{callers: [{{for: {{tokens: [{limited}]}}, calls: 1 per \
             day}}]}}\npipelines:\n{list}"
        ));
    };
    configure("unknown");
    let (one, id) = add_token(&home, "never");
    let (two, _) = add_token(&home, "never");
    configure(&id);
    let (mut program, client) = home.serve();
    let page = MetricsPage::of(&program);
    let ask = |token: &str, path: &str| {
        let client = client.bearing(token);
        client.post(path, &question("What do ferns like?")).status
    };
    assert_eq!((ask(&one, ASK), ask(&one, ASK)), (200, 429));
    assert_eq!(
        (ask(&two, ASK), ask(&two, ASK)),
        (200, 200),
        "counted by itself"
    );
    assert_eq!(ask(&two, "/v1/pipelines/mine"), 404);
    assert_eq!(ask(&two, "/v1/pipelines/none"), 404);
    assert_eq!(ask("zig_wrong", ASK), 401);
    let calls = "ziggurat_calls_total{method=\"POST /v1/pipelines/{name}\"";
    for (verdict, expected) in [("limited", 1.0), ("unknown", 2.0)] {
        let series = format!("{calls},verdict=\"{verdict}\",caller_kind=\"token\"}}");
        assert_eq!(page.value(&series), Some(expected), "{}", page.text());
    }
    program.signal(Signal::TERM);
    assert!(program.ended().success(), "{}", program.log());
    let trail = fs::read_to_string(home.file("audit.jsonl")).expect("a trail");
    for secret in [&one, &two] {
        assert!(!trail.contains(&**secret) && !program.log().contains(&**secret));
    }
    check_records(&trail, &id);
    let admin = fs::read_to_string(home.file("audit-admin.jsonl")).expect("a trail");
    let added = admin.matches("\"method\":\"-add-token\"");
    assert_eq!(added.count(), 2, "{admin}");
}

/// Checks the records of the questions of two tokens, of which the first has this id.
fn check_records(trail: &str, id: &str) {
    let lines: Vec<Value> = trail
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let of_kind = |kind: &str| {
        let lines = lines.iter().filter(|line| line["kind"] == kind);
        lines.collect::<Vec<_>>()
    };
    let calls = of_kind("call");
    assert_eq!(calls.len(), 6, "{trail}");
    let caller = &calls[0]["caller"];
    assert_eq!(
        (&caller["kind"], &caller["name"]),
        (&json!("token"), &json!(id))
    );
    assert_eq!(caller["token"].as_str().map(str::len), Some(8), "{caller}");
    let hidden: Vec<_> = calls.iter().map(|call| &call["hidden"]).collect();
    assert_eq!(hidden[4..], [&json!(true), &Value::Null], "{trail}");
    let denied = of_kind("denied");
    assert_eq!(denied.len(), 1, "{trail}");
    assert_eq!(denied[0]["method"], "POST /v1/pipelines/docs");
}

#[test]
fn a_check_and_a_start_name_what_is_wrong_with_tokens() {
    let home = home(
        "",
        "",
        &nowhere("docs", "  for: {tokens: [token-1], users: [ann]}\n"),
    );
    let path = home.file("tokens.yaml");
    let ran = home.ran(&["-check-config"]);
    let absent = format!(
        "token file not found: {}; create a token with -add-token, or remove \
         server.auth.token_file",
        path.display()
    );
    assert_eq!((ran.code, &*ran.stdout), (Some(1), &*format!("{absent}\n")));
    for warning in [
        "warning: pipelines: 'docs': no API token has the id token-1\n",
        "warning: pipelines: 'docs': this server has no users, so none is named ann\n",
    ] {
        assert!(ran.stderr.contains(warning), "{ran:?}");
    }
    let started = home.ran(&[]);
    assert_eq!(started.code, Some(1));
    assert!(started.stdout.contains(&absent), "{started:?}");
    fs::write(&path, "tokens: 5").expect("written");
    let ran = home.ran(&["-check-config"]);
    assert!(
        ran.stdout.ends_with(": tokens: expected a list\n"),
        "{ran:?}"
    );
    assert_eq!(ran.code, Some(1));

    let home = Home::with(&format!(
        "{}pipelines:\n{}",
        server(""),
        nowhere("docs", "")
    ));
    let ran = home.ran(&["-add-token"]);
    assert_eq!(ran.code, Some(1));
    let expected = "names no file for tokens: set server.auth.token_file\n";
    assert!(ran.stderr.ends_with(expected), "{ran:?}");
}

#[test]
fn callers_of_a_pipeline_change_with_a_reload() {
    let home = home("", "", &nowhere("docs", ""));
    let (token, id) = add_token(&home, "never");
    let (program, client) = home.serve();
    let client = client.bearing(&token);
    let count = || names(&client.get("/v1/pipelines").json(), "pipelines", "name").len();
    assert_eq!(count(), 1);
    let before = fs::read_to_string(home.file("ziggurat-rag.yaml")).expect("a file");
    for (callers, expected) in [("clients: [x]", 0), (&*format!("tokens: [{id}]"), 1)] {
        home.configure(&format!("{before}  for: {{{callers}}}\n"));
        // What it says is not waited for: a change of the file may be noticed twice.
        until(callers, || count() == expected);
    }
    program.until_it_says("keys=auth", || {
        home.configure(&before.replace("tokens.yaml", "others.yaml"));
    });
    assert_eq!(count(), 1);
}

#[test]
fn a_page_of_an_allowed_origin_may_send_a_token() {
    let cors = "  cors: {enabled: true, allowed_origins: ['https://a.example']}\n";
    let home = home(cors, "", &nowhere("docs", ""));
    let (token, _) = add_token(&home, "never");
    let (_program, client) = home.serve();
    let origin = "origin: https://a.example\r\n";
    let asks = format!("{origin}access-control-request-method: POST\r\n");
    let preflight = client.send("OPTIONS", ASK, &asks, "");
    assert_eq!(preflight.status, 204);
    let headers = preflight.header("access-control-allow-headers");
    assert_eq!(headers, Some("Authorization, Content-Type, Accept"));
    let refused = client.send("GET", "/v1/pipelines", origin, "");
    is_refused(&refused, "Bearer");
    let readable = refused.header("access-control-allow-origin");
    assert_eq!(readable, Some("https://a.example"));
    let answer = client
        .bearing(&token)
        .send("GET", "/v1/pipelines", origin, "");
    assert_eq!(answer.status, 200);
}

#[test]
fn a_script_makes_a_token_with_flags_alone() {
    let home = home("", "", &nowhere("docs", ""));
    for (flags, told) in [
        (&["-token-note", "x", "-token-expiry", "1d"][..], false),
        (&["-token-note", "x"], true),
        (&[], true),
    ] {
        // Its standard input is at its end.
        let ran = home.ran(&[&["-add-token"], flags].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let warning = ran.stderr.lines().find(|line| line.starts_with("WARN"));
        let names = warning.is_some_and(|line| line.contains("-token-expiry"));
        assert_eq!(names, told, "{ran:?}");
    }
    assert!(
        home.ran(&["-list-tokens"])
            .stdout
            .ends_with("Total tokens: 3\n")
    );
}
