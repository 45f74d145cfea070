//! Forms of other sites, sessions that an attacker chose, and parameters twice.

use http::{Request, StatusCode, header::CONTENT_TYPE};
use http_body_util::Full;

use crate::{
    ManualClient, Resource, SecondFactor, Settings,
    tests::{Answered, Browser, ISSUER, REDIRECT, RESOURCE, Server, VERIFIER, authorize, encoded},
};

type Fields = &'static [(&'static str, &'static str)];

/// Each form of the pages, with fields that would do something.
const FORMS: [(&str, Fields); 12] = [
    ("/oauth/login", &[("name", "bob"), ("password", "right")]),
    ("/oauth/second-factor", &[("code", "000000")]),
    (
        "/oauth/consent",
        &[("decision", "allow"), ("database.shop", "on")],
    ),
    ("/oauth/logout", &[]),
    ("/oauth/account", &[("withdraw", "AAAA")]),
    ("/oauth/account", &[("everywhere", "yes")]),
    ("/oauth/account", &[("set_up", "yes")]),
    ("/oauth/account", &[("remove", "yes"), ("code", "000000")]),
    (
        "/oauth/account",
        &[
            ("present_password", "right"),
            ("new_password", "of an attacker"),
        ],
    ),
    ("/oauth/device", &[("user_code", "BCDF-GHJK")]),
    ("/oauth/invite/1", &[("password", "of an attacker")]),
    ("/oauth/reset", &[("password", "of an attacker")]),
];

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// Creates a server with all that has a form, and returns it with its client.
fn server() -> Server {
    Server::with(Settings {
        issuer: ISSUER.to_owned(),
        resources: vec![Resource::new(RESOURCE, "Tools")],
        clients: vec![ManualClient {
            id: "cli".to_owned(),
            name: "Command line".to_owned(),
            redirect_uris: vec![REDIRECT.to_owned()],
            secret_hash: None,
            skip_consent: false,
        }],
        device_clients: vec!["cli".to_owned()],
        second_factor: SecondFactor::Optional,
        password_change: true,
        ..Settings::default()
    })
}

/// Signs ann in, and returns the page that has a form for a path.
async fn page_for(server: &Server, browser: &mut Browser, path: &str) -> Answered {
    let consent = browser.sign_in(server, "cli", &[]).await;
    match path {
        "/oauth/account" | "/oauth/device" => browser.visit(server, path).await,
        _ => consent,
    }
}

/// Sends a form with these headers.
async fn send(server: &Server, path: &str, headers: &[(&str, &[u8])], body: String) -> Answered {
    let mut request = Request::post(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    server
        .send(request.body(Full::from(body)).expect("a request"))
        .await
}

#[tokio::test]
async fn no_form_that_another_site_sends_counts_even_with_all_its_fields() {
    let server = server();
    for (path, fields) in FORMS {
        let mut browser = Browser::default();
        let page = page_for(&server, &mut browser, path).await;
        let body = encoded(&[&[("flow", page.flow())], fields].concat());
        let cookie = browser.header();
        let usual = [("cookie", cookie.as_bytes()), (FORM.0, FORM.1.as_bytes())];
        for lies in [
            &[("origin", &b"https://evil.example"[..])][..],
            &[("origin", b"null")],
            &[("origin", b"")],
            &[("origin", b"http://tools.example")],
            &[("origin", b"https://tools.example:8443")],
            &[("origin", b"https://tools.example.evil.example")],
            &[("origin", b"https://tools.example/")],
            &[("origin", b"https://tools.example\xff")],
            &[
                ("origin", b"https://evil.example"),
                ("sec-fetch-site", b"same-origin"),
            ],
            &[
                ("origin", b"https://tools.example"),
                ("origin", b"https://evil.example"),
            ],
            &[("sec-fetch-site", b"cross-site")],
            &[("sec-fetch-site", b"same-site")],
            &[("sec-fetch-site", b"none")],
            &[("sec-fetch-site", b"\xff")],
            &[
                ("sec-fetch-site", b"same-origin"),
                ("sec-fetch-site", b"cross-site"),
            ],
        ] {
            let headers = [&usual[..], lies].concat();
            let refused = send(&server, path, &headers, body.clone()).await;
            assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path} {lies:?}");
            let text = "This form was sent from another site.";
            assert!(refused.body.contains(text), "{path} {lies:?}: {refused:?}");
        }
        assert!(
            server.staff.signed_out.lock().expect("names").is_empty(),
            "{path}"
        );
        assert_eq!(
            *server.staff.changed.lock().expect("a name"),
            None,
            "{path}"
        );
        let page = browser.visit(&server, "/oauth/account").await;
        assert!(page.body.contains("Your account"), "{path}: {page:?}");
    }
}

#[tokio::test]
async fn a_form_needs_the_secret_of_a_page_of_its_own_browser() {
    let server = server();
    let mut stranger = Browser::default();
    let foreign = stranger.sign_in(&server, "cli", &[]).await;
    for (path, fields) in FORMS {
        let mut browser = Browser::default();
        let page = page_for(&server, &mut browser, path).await;
        let bent = page.flow().replacen(|it: char| it.is_ascii_digit(), "_", 1);
        let cookie = browser.header();
        let usual = [("cookie", cookie.as_bytes()), (FORM.0, FORM.1.as_bytes())];
        let own = ("origin", ISSUER.as_bytes());
        for headers in [&usual[..], &[&usual[..], &[own]].concat()] {
            for flow in [
                None,
                Some(""),
                Some("x"),
                Some(&*bent),
                Some(foreign.flow()),
            ] {
                let mut form = fields.to_vec();
                form.extend(flow.map(|flow| ("flow", flow)));
                let refused = send(&server, path, headers, encoded(&form)).await;
                assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{path} {flow:?}");
                let text = "This sign-in has expired.";
                assert!(refused.body.contains(text), "{path} {flow:?}: {refused:?}");
            }
        }
        assert!(
            server.staff.signed_out.lock().expect("names").is_empty(),
            "{path}"
        );
        assert_eq!(
            *server.staff.changed.lock().expect("a name"),
            None,
            "{path}"
        );
        let page = browser.visit(&server, "/oauth/account").await;
        assert!(page.body.contains("Your account"), "{path}: {page:?}");
    }
}

#[tokio::test]
async fn a_session_that_an_attacker_chose_is_never_the_session_of_a_person() {
    let server = server();
    for own in [None, Some("bob")] {
        let mut attacker = Browser::default();
        let page = attacker.visit(&server, "/oauth/account").await;
        if let Some(name) = own {
            let form = [("name", name), ("password", "right")];
            attacker.submit(&server, &page, "/oauth/login", &form).await;
        }
        let name = "__Host-ziggurat-session".to_owned();
        let chosen = attacker.cookies.entry(name.clone()).or_default();
        if own.is_none() {
            "chosen-by-an-attacker".clone_into(chosen);
        }
        // The victim has both cookies of the attacker, as on a computer that both use.
        let mut victim = Browser {
            cookies: attacker.cookies.clone(),
        };
        let consent = victim.sign_in(&server, "cli", &[("prompt", "login")]).await;
        assert_ne!(victim.cookies[&name], attacker.cookies[&name]);
        let page = attacker.visit(&server, "/oauth/account").await;
        assert!(page.body.contains("Password"), "{own:?}: {page:?}");
        let form = [("decision", "allow"), ("database.shop", "on")];
        let stolen = attacker
            .submit(&server, &consent, "/oauth/consent", &form)
            .await;
        assert_eq!(stolen.status, StatusCode::BAD_REQUEST, "{own:?}");
        let end = victim
            .submit(&server, &consent, "/oauth/consent", &form)
            .await;
        assert_eq!(end.status, StatusCode::OK, "{own:?}");
    }
}

#[tokio::test]
async fn a_parameter_twice_is_refused_at_each_endpoint() {
    let server = server();
    let request = authorize("cli", &[("scope", "mcp"), ("prompt", "consent")]);
    let (_, query) = request.split_once('?').expect("a query");
    for parameter in query.split('&').chain(["unknown=1&unknown=1"]) {
        let twice = format!("{request}&{parameter}");
        let refused = server.get(&twice).await;
        let text = "The sign-in request is malformed.";
        assert!(refused.body.contains(text), "{parameter}: {refused:?}");
        assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    }
    let code = server.code(&mut Browser::default(), "cli", &[]).await;
    let form = encoded(&[
        ("grant_type", "authorization_code"),
        ("client_id", "cli"),
        ("code", &code),
        ("code_verifier", VERIFIER),
        ("redirect_uri", REDIRECT),
        ("resource", RESOURCE),
        ("token", "x"),
    ]);
    for path in [
        "/oauth/token",
        "/oauth/revoke",
        "/oauth/device_authorization",
    ] {
        for parameter in form.split('&') {
            let twice = format!("{form}&{parameter}");
            let refused = send(&server, path, &[(FORM.0, FORM.1.as_bytes())], twice).await;
            assert_eq!(refused.error(), "invalid_request", "{path} {parameter}");
        }
    }
    // No attempt used the code up.
    assert_eq!(server.exchange("cli", &code).await.status, StatusCode::OK);
    for (path, fields) in FORMS {
        let mut browser = Browser::default();
        let page = page_for(&server, &mut browser, path).await;
        let form = [
            &[("flow", page.flow())],
            fields,
            &fields[..fields.len().min(1)],
        ]
        .concat();
        let twice = if fields.is_empty() {
            [&form[..], &form].concat()
        } else {
            form
        };
        let refused = browser.post(&server, path, &twice).await;
        assert_eq!(
            refused.status,
            StatusCode::BAD_REQUEST,
            "{path}: {refused:?}"
        );
    }
}

#[tokio::test]
async fn a_consent_sent_twice_at_once_has_one_good_code() {
    let server = Server::new();
    let client = server.register(REDIRECT).await;
    let mut browser = Browser::default();
    let page = browser.sign_in(&server, &client, &[]).await;
    let form = encoded(&[
        ("flow", page.flow()),
        ("decision", "allow"),
        ("database.shop", "on"),
    ]);
    let cookie = browser.header();
    let press = || {
        let request = Request::post("/oauth/consent")
            .header("cookie", &cookie)
            .header(CONTENT_TYPE, FORM.1)
            .body(Full::from(form.clone()));
        server.send(request.expect("a request"))
    };
    let (one, other) = tokio::join!(press(), press());
    let mut good = 0;
    for end in [one, other] {
        let back = end.back();
        let code = back.get("code").expect("a code");
        good += u8::from(server.exchange(&client, code).await.status == StatusCode::OK);
    }
    assert_eq!(good, 1);
    let account = browser.visit(&server, "/oauth/account").await;
    assert_eq!(account.body.matches("name=\"withdraw\"").count(), 1);
}
