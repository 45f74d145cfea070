//! Tests of the exchange, caching, reuse and removal of tokens.

use std::{
    fs,
    sync::atomic::{AtomicUsize, Ordering},
};

use crate::{
    server::{Reply, Server},
    support::{ID, SECRET, User, ends, fails, json, profile},
};

const TENANTS: &str = r#"[{"id":"6a8a4b3e-0000-4000-8000-000000000001","name":"Acme"}]"#;

fn tenants() -> Server {
    Server::platform(|_| Reply::json(200, TENANTS))
}

fn bearer(number: usize) -> String {
    format!("Bearer live-token-{number}")
}

#[test]
fn two_commands_share_one_exchange() {
    let server = tenants();
    let user = User::of(&server);
    for _ in 0..2 {
        let ran = user.platform(&["tenant", "list", "-o", "json"]);
        ends(&ran, 0, &format!("{TENANTS}\n"), "");
    }
    let exchanges = server.exchanges();
    assert_eq!(exchanges.len(), 1);
    assert_eq!(
        exchanges[0].body,
        format!(r#"{{"client_id":"{ID}","client_secret":"{SECRET}"}}"#)
    );
    assert_eq!(exchanges[0].header("authorization"), None);
    assert_eq!(
        exchanges[0].header("content-type"),
        Some("application/json")
    );
    for call in server.calls() {
        assert_eq!(call.header("authorization"), Some(&*bearer(1)));
        assert_eq!(call.header("accept"), Some("application/json"));
        let agent = call.header("user-agent").expect("a user agent");
        assert!(agent.starts_with("ziggurat/"), "{agent}");
    }
}

#[test]
fn another_address_is_another_exchange_and_never_sees_the_token() {
    let (one, other) = (tenants(), tenants());
    let user = User::of(&one);
    user.platform(&["tenant", "list"]);
    for _ in 0..2 {
        let ran = user.platform(&["tenant", "list", "--api-url", &other.url()]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    assert_eq!(one.exchanges().len(), 1);
    assert_eq!(other.exchanges().len(), 1, "kept for the other address now");
    assert_eq!(other.calls().len(), 2);
    // A path on the same host is another address, too.
    let prefixed = format!("{}/base", one.url());
    user.platform(&["tenant", "list", "--api-url", &prefixed]);
    assert_eq!(one.exchanges().len(), 2);
    assert_eq!(one.exchanges()[1].target, "/base/account/v1/oauth/token");
}

#[test]
fn another_credential_is_another_exchange() {
    let server = tenants();
    let user = User::of(&server);
    user.platform(&["tenant", "list"]);
    let flags = ["--client-id", "other", "--client-secret", "other-secret"];
    let run = |secret: &str| {
        let mut arguments = vec!["tenant", "list"];
        arguments.extend(flags);
        arguments[5] = secret;
        user.platform(&arguments)
    };
    run("other-secret");
    run("other-secret");
    assert_eq!(server.exchanges().len(), 2, "the pair of flags is kept too");
    run("changed-secret");
    assert_eq!(server.exchanges().len(), 3);
}

#[test]
fn a_token_near_its_end_is_exchanged_and_a_short_lived_one_is_still_used() {
    let lives = |seconds: u64| {
        let server = Server::exchanging(Reply::token("short-lived-token", seconds), |_| {
            Reply::json(200, TENANTS)
        });
        let user = User::of(&server);
        for _ in 0..2 {
            assert_eq!(user.platform(&["tenant", "list"]).code, Some(0));
        }
        server.exchanges().len()
    };
    assert_eq!(lives(0), 2, "expired when it came");
    assert_eq!(
        lives(200),
        1,
        "a fifth of 200 s is left out, not five minutes"
    );
    let server = tenants();
    let user = User::of(&server);
    user.platform(&["tenant", "list"]);
    let path = user.cache("default");
    let text = fs::read_to_string(&path).expect("a cache");
    let mut kept = json(&text);
    let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(299);
    kept["expires_at"] = soon.to_string().into();
    kept["issued_at"] = "2020-01-01T00:00:00Z".into();
    fs::write(&path, kept.to_string()).expect("written");
    user.platform(&["tenant", "list"]);
    assert_eq!(server.exchanges().len(), 2, "five minutes before its end");
}

#[test]
fn a_cached_token_that_is_refused_is_exchanged_once_and_the_request_repeated_once() {
    for method in ["GET", "DELETE"] {
        let server = Server::platform(|seen| match seen.header("authorization") {
            Some("Bearer live-token-1") => Reply::json(401, r#"{"code":401,"message":"revoked"}"#),
            _ => Reply::json(200, "{}"),
        });
        let user = User::of(&server);
        // The first is minted by the command itself, so its rejection is final.
        let ran = user.platform(&["api", method, "/x"]);
        fails(&ran, 5, "authentication error (401): revoked\n");
        assert_eq!(server.calls().len(), 1, "{method}");
        let ran = user.platform(&["api", method, "/x"]);
        ends(&ran, 0, "{}\n", "");
        assert_eq!(server.exchanges().len(), 2, "{method}");
        assert_eq!(server.calls().len(), 3, "{method}");
        ends(&user.platform(&["api", method, "/x"]), 0, "{}\n", "");
        assert_eq!(server.exchanges().len(), 2, "the new one is kept");
    }
}

#[test]
fn a_server_that_refuses_every_token_is_asked_twice_and_no_more() {
    let server = Server::platform(|_| Reply::json(401, r#"{"code":401,"message":"no"}"#));
    let user = User::of(&server);
    user.platform(&["tenant", "list"]);
    let ran = user.platform(&["tenant", "list"]);
    fails(&ran, 5, "authentication error (401): no\n");
    assert_eq!((server.exchanges().len(), server.calls().len()), (2, 3));
}

#[test]
fn the_pair_of_variables_keeps_nothing_and_takes_nothing_of_a_profile() {
    let (server, of_profile) = (tenants(), tenants());
    let user = User::of(&of_profile)
        .with_pair()
        .with("ZIGGURAT_API_URL", &server.url());
    for _ in 0..2 {
        assert_eq!(user.platform(&["tenant", "list"]).code, Some(0));
    }
    assert_eq!(server.exchanges().len(), 2);
    assert!(of_profile.seen().is_empty());
    assert!(!user.cache("default").exists());
    // A token that another command cached there is not read either.
    let other = User::of(&server);
    other.platform(&["tenant", "list"]);
    let kept = fs::read(other.cache("default")).expect("a cache");
    fs::create_dir_all(user.cache("default").parent().expect("a folder")).expect("a folder");
    fs::write(user.cache("default"), &kept).expect("written");
    user.platform(&["tenant", "list"]);
    assert_eq!(server.exchanges().len(), 4);
    assert_eq!(fs::read(user.cache("default")).expect("untouched"), kept);
}

#[test]
fn a_cache_that_cannot_be_read_or_written_is_no_failure() {
    let server = tenants();
    let user = User::of(&server);
    let path = user.cache("default");
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    for text in ["", "{", "[]", r#"{"access_token":"x"}"#] {
        fs::write(&path, text).expect("written");
        ends(
            &user.platform(&["tenant", "list", "-o", "json"]),
            0,
            &format!("{TENANTS}\n"),
            "",
        );
    }
    fs::remove_file(&path).expect("removed");
    fs::create_dir(&path).expect("a folder in its place");
    let ran = user.platform(&["tenant", "list", "-o", "json"]);
    ends(&ran, 0, &format!("{TENANTS}\n"), "");
    let ran = user.platform(&["tenant", "list", "-v"]);
    assert!(
        ran.stderr.contains("Warning: the token cannot be cached"),
        "{ran:?}"
    );
}

/// Starts a server that rejects this many tokens.
fn refusing(first: usize) -> Server {
    Server::platform(move |seen| {
        let bearer = seen.header("authorization").unwrap_or_default();
        let number = bearer.rsplit('-').next().and_then(|it| it.parse().ok());
        if number.unwrap_or(0) <= first {
            Reply::json(401, r#"{"code":401,"message":"revoked"}"#)
        } else {
            Reply::json(200, TENANTS)
        }
    })
}

#[test]
fn doctor_passes_over_a_refused_token_and_leaves_it_where_it_is() {
    let server = refusing(1);
    let user = User::of(&server);
    user.platform(&["tenant", "list"]);
    let kept = fs::read(user.cache("default")).expect("a cache");
    let ran = user.platform(&["doctor", "--strict"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(server.exchanges().len(), 2);
    assert_eq!(fs::read(user.cache("default")).expect("a cache"), kept);
}

#[test]
fn the_kept_token_is_for_its_owner_alone_and_says_when_it_ends() {
    let server = tenants();
    let user = User::of(&server);
    user.platform(&["tenant", "list"]);
    let kept = json(&fs::read_to_string(user.cache("default")).expect("a cache"));
    assert_eq!(kept["access_token"], "live-token-1");
    let print = kept["binding_fingerprint"].as_str().expect("a fingerprint");
    assert!(print.starts_with("sha256:") && print.len() == 71, "{print}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &std::path::Path| {
            fs::metadata(path).expect("there").permissions().mode() & 0o777
        };
        let path = user.cache("default");
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().expect("a folder")), 0o700);
    }
}

#[test]
fn what_the_token_endpoint_says_decides_the_exit_code() {
    for (reply, code, message) in [
        (
            Reply::json(
                401,
                r#"{"code":401,"message":"invalid client credentials"}"#,
            ),
            5,
            "authentication failed: token endpoint returned 401 Unauthorized: ",
        ),
        (
            Reply::json(400, "{}"),
            5,
            "authentication failed: token endpoint returned 400 Bad Request: {}",
        ),
        (
            Reply::json(503, ""),
            1,
            "authentication failed: token endpoint returned 503 Service Unavailable:",
        ),
        (
            Reply::With(429, vec![("Retry-After", "7".to_owned())], String::new()),
            1,
            "authentication failed: token endpoint returned 429 Too Many Requests: retry after 7s",
        ),
        (
            Reply::json(504, ""),
            3,
            "authentication failed: token endpoint returned 504 Gateway Timeout:",
        ),
        (
            Reply::json(404, "nginx"),
            1,
            "authentication failed: token endpoint returned 404 Not Found: nginx\nthis server does",
        ),
        (
            Reply::json(200, "<html>"),
            1,
            "authentication failed: decode token response from http://127.0.0.1:",
        ),
        (
            Reply::json(200, r#"{"expires_in":5}"#),
            1,
            "authentication failed: token endpoint returned no access_token: {\"expires_in\":5}",
        ),
    ] {
        let server = Server::answering(move |_| reply.clone());
        let user = User::of(&server);
        let ran = user.platform(&["tenant", "list"]);
        fails(&ran, code, message);
        assert_eq!(server.seen().len(), 1, "an exchange is not repeated");
        assert!(!user.cache("default").exists());
    }
}

#[test]
fn a_token_endpoint_that_says_nothing_is_not_the_fault_of_the_credential() {
    for (reply, code) in [(Reply::Close, 1), (Reply::Hang, 3)] {
        let server = Server::answering(move |_| reply.clone());
        let user = User::of(&server);
        let ran = user.platform(&["tenant", "list", "--timeout", "2s"]);
        let message = format!("authentication failed: token request to {}: ", server.url());
        fails(&ran, code, &message);
        assert_eq!(server.seen().len(), 1, "an exchange is not repeated");
        assert!(!user.cache("default").exists());
    }
}

#[test]
fn the_token_is_checked_again_before_every_request_of_a_process() {
    let server = Server::exchanging(Reply::token("gone-at-once", 0), |_| Reply::json(200, "[]"));
    let user = User::of(&server);
    let ran = user.platform(&["auth", "whoami"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!((server.exchanges().len(), server.calls().len()), (2, 2));
}

#[test]
fn profiles_have_tokens_of_their_own() {
    let server = tenants();
    let user = User::new();
    let other = profile("staging", &server.url()).replace("profiles:\n", "");
    user.configure(&format!("{}{other}", profile("default", &server.url())));
    user.platform(&["tenant", "list"]);
    user.platform(&["tenant", "list", "--profile", "staging"]);
    assert_eq!(server.exchanges().len(), 2);
    assert!(user.cache("default").exists() && user.cache("staging").exists());
}

#[test]
fn a_slow_refusal_is_not_taken_for_another_commands_token() {
    // The server rejects the cached token once, so the second command obtains a new one.
    let asked = AtomicUsize::new(0);
    let server = Server::platform(move |_| match asked.fetch_add(1, Ordering::SeqCst) {
        1 => Reply::json(401, r#"{"code":401,"message":"old"}"#),
        _ => Reply::json(200, TENANTS),
    });
    let user = User::of(&server);
    for _ in 0..2 {
        assert_eq!(user.platform(&["tenant", "list"]).code, Some(0));
    }
    assert_eq!(server.exchanges().len(), 2);
}
