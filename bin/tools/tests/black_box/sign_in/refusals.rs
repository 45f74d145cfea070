//! Starts that are refused, and requests of other pages.

use super::Office;
use crate::support::{Browser, Home, OAuthClient, records, records::PASSWORD};

#[test]
fn a_sign_in_that_could_not_work_is_refused_at_the_start() {
    let root = "http.auth.oauth";
    for (http, problem) in [
        ("auth: {oauth: {enabled: true}}", "needs http.enabled"),
        (
            "enabled: true, auth: {enabled: false, oauth: {enabled: true}}",
            "needs http.auth.enabled",
        ),
        (
            "enabled: true, address: ':0', auth: {oauth: {enabled: true}}",
            "needs http.public_url",
        ),
        (
            "enabled: true, public_url: 'http://tools.example', auth: {oauth: {enabled: true}}",
            ": http.public_url must be https, or http on a loopback host",
        ),
        (
            "enabled: true, public_url: 'https://tools.example', auth: {oauth: {enabled: true}, \
             issuer: {url: 'https://a.example', public_url: 'https://tools.example'}}",
            "and http.auth.issuer exclude each other",
        ),
        (
            "enabled: true, public_url: 'https://tools.example', auth: {oauth: {enabled: true, \
             access_lifetime: 1m}}",
            ".access_lifetime: must be 5m to 24h",
        ),
    ] {
        let home = Home::new();
        home.configure(&format!(
            "http: {{{http}}}\ndatabases: [{{name: main, user: reader}}]\n"
        ));
        home.replace(&home.users(), &records::users(&[]));
        let ran = home.ran(&[], "");
        let blank = if problem.starts_with([':', '.']) {
            ""
        } else {
            " "
        };
        let expected = format!("invalid configuration: {root}{blank}{problem}");
        assert!(ran.stderr.contains(&expected), "{expected}: {}", ran.stderr);
        assert_eq!(ran.code, Some(1), "{http}");
    }
}

#[test]
fn programs_of_any_page_may_ask_and_forms_of_other_pages_may_not() {
    let office = Office::new("");
    let (_program, client) = office.serve();
    let origin = "origin: https://evil.example\r\n";
    for path in [
        "/.well-known/oauth-authorization-server",
        "/.well-known/openid-configuration",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/jwks.json",
    ] {
        let answer = client.send("GET", path, origin, "");
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(
            answer.header("access-control-allow-origin"),
            Some("*"),
            "{path}"
        );
    }
    let preflight = client.send("OPTIONS", "/oauth/token", origin, "");
    assert_eq!(preflight.status, 204);
    assert_eq!(preflight.header("access-control-allow-origin"), Some("*"));
    assert_eq!(
        client.send("POST", "/mcp", origin, "{}").status,
        403,
        "as ever"
    );

    let registered = OAuthClient::register(&client);
    let browser = Browser::new(&client);
    let page = browser.sign_in(&registered.request("mcp"), "ann", PASSWORD);
    let flow = page
        .body
        .split("name=\"flow\" value=\"")
        .nth(1)
        .expect("a form");
    let flow = flow.split('"').next().expect("a value");
    let form = "content-type: application/x-www-form-urlencoded\r\n";
    let body = format!("flow={flow}&decision=allow&database.shop=1");
    let foreign = client.send("POST", "/oauth/consent", &format!("{origin}{form}"), &body);
    assert_eq!(foreign.status, 403);
    assert!(
        foreign
            .body
            .contains("This form was sent from another site."),
        "{foreign:?}"
    );
    let other = client.send("POST", "/oauth/consent", form, &body);
    assert_eq!(other.status, 400, "another browser: {other:?}");
}

#[test]
fn without_the_sign_in_none_of_its_paths_is_there() {
    let home = Home::new();
    home.configure("databases: [{name: main, user: reader}]");
    let token = records::token(1, "good", &[]);
    home.replace(&home.tokens(), &records::tokens(&[token]));
    let (_program, client) = home.serve(&[]);
    for path in [
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/jwks.json",
    ] {
        assert_eq!(client.get(path).status, 404, "{path}");
    }
    for path in [
        "/oauth/authorize",
        "/oauth/token",
        "/oauth/account",
        "/authorize",
        "/mcp/",
    ] {
        assert_eq!(client.get(path).status, 401, "{path}");
        assert_eq!(client.bearing("good").get(path).status, 404, "{path}");
    }
}
