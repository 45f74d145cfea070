//! Tests of signing in and out, and of the commands that show the credential.

use std::{
    fs,
    net::TcpListener,
    os::unix::net::UnixListener,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::json;

use crate::{
    server::{Reply, Seen, Server},
    support::{ID, SECRET, User, ends, fails, json, profile},
};

fn platform() -> Server {
    Server::platform(|_| Reply::json(200, "[]"))
}

/// Signs in with flags.
fn login(user: &User, server: &Server, more: &[&str]) -> ziggurat_black_box::Ran {
    let url = server.url();
    let mut arguments = vec!["auth", "login", "--api-url", &url];
    arguments.extend(["--client-id", ID, "--client-secret", SECRET]);
    arguments.extend(more);
    user.platform(&arguments)
}

#[test]
fn a_login_keeps_what_later_commands_need() {
    let server = platform();
    let user = User::new();
    let ran = login(&user, &server, &["--insecure-storage"]);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
    assert!(
        lines[0].starts_with("Authenticated. Token expires 2"),
        "{ran:?}"
    );
    let saved = format!("Credentials saved to {}", user.config().display());
    assert_eq!(lines[1..], [saved.as_str()]);
    let text = user.config_text();
    for line in [
        format!("api_url: {}", server.url()),
        format!("client_id: {ID}"),
        format!("client_secret: {SECRET}"),
    ] {
        assert!(text.contains(&line), "{text}");
    }
    let ran = user.platform(&["tenant", "list", "-o", "json"]);
    ends(&ran, 0, "[]\n", "");
    assert_eq!(
        server.exchanges().len(),
        1,
        "the token of the login is used"
    );
}

#[test]
fn without_a_keychain_the_secret_goes_to_the_file_with_a_warning() {
    let server = platform();
    let user = User::new();
    let ran = login(&user, &server, &["-o", "json"]);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(
        lines[1],
        "Warning: the OS keychain could not be used (keychain: switched off), so the client secret \
         is stored in plain text."
    );
    let report = json(&ran.stdout);
    assert_eq!(report["storage"], "file");
    assert_eq!(report["profile"], "default");
    assert_eq!(report["credential_id"], ID);
    let keys: Vec<usize> = [
        "profile",
        "api_url",
        "credential_id",
        "storage",
        "expires_at",
    ]
    .iter()
    .map(|key| ran.stdout.find(&format!("\"{key}\":")).expect("a key"))
    .collect();
    assert!(keys.is_sorted(), "{}", ran.stdout);
}

#[test]
fn a_login_asks_for_what_no_flag_gives() {
    let server = platform();
    for input in [
        format!("  {ID} \n {SECRET} \n"),
        format!("{ID}\r\n{SECRET}\r\n"),
        format!("{ID}\n{SECRET}"),
    ] {
        let user = User::new();
        let arguments = ["platform", "auth", "login", "--api-url", &server.url()];
        let ran = user.run_with_input(&arguments, &input);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(
            ran.stderr
                .starts_with("Client ID: Client Secret: Authenticated."),
            "{}",
            ran.stderr
        );
        let exchange = server.exchanges().pop().expect("an exchange");
        assert_eq!(
            json(&exchange.body),
            json!({"client_id": ID, "client_secret": SECRET})
        );
    }
    for (input, message) in [
        ("", "read client ID: EOF\n"),
        ("id\n", "read secret: EOF\n"),
        ("\n\n", "client ID and secret are required\n"),
        ("id\n \n", "client ID and secret are required\n"),
    ] {
        let before = server.seen().len();
        let arguments = ["platform", "auth", "login", "--api-url", &server.url()];
        let ran = User::new().run_with_input(&arguments, input);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{input:?}");
        assert!(
            ran.stderr.ends_with(&format!("Error: {message}")),
            "{ran:?}"
        );
        assert_eq!(server.seen().len(), before);
    }
    let ran = User::new().platform(&["auth", "login", "--no-input"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("--client-id"), "{ran:?}");
}

#[test]
fn a_login_takes_its_secret_from_a_file_or_a_stream() {
    let server = platform();
    let user = User::new();
    let path = user.home().join("secret.txt");
    fs::write(&path, format!("{SECRET}\n")).expect("written");
    let url = server.url();
    let path = path.to_str().expect("a path");
    for file in [path, "-"] {
        let arguments = [
            "platform",
            "auth",
            "login",
            "--api-url",
            &url,
            "--client-id",
            ID,
            "--client-secret-file",
            file,
        ];
        let ran = user.run_with_input(&arguments, SECRET);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let exchange = server.exchanges().pop().expect("an exchange");
        assert_eq!(json(&exchange.body)["client_secret"], SECRET);
    }
}

#[test]
fn a_login_ignores_and_may_replace_what_was_there() {
    let (old, new) = (platform(), platform());
    let user = User::of(&old)
        .with("ZIGGURAT_CLIENT_ID", "of-env")
        .with("ZIGGURAT_CLIENT_SECRET", "of-env-secret");
    let ran = login(&user, &new, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        ran.stderr.lines().last(),
        Some(
            "Warning: ZIGGURAT_CLIENT_ID or ZIGGURAT_CLIENT_SECRET is set, so other commands use \
             it instead of this profile until it is unset."
        )
    );
    assert!(old.seen().is_empty());
    assert_eq!(json(&new.exchanges()[0].body)["client_id"], ID);
    for (flag, missing) in [
        ("--client-id", "--client-secret"),
        ("--client-secret", "--client-id"),
    ] {
        let ran = user.platform(&["auth", "login", flag, "x"]);
        let message = format!("{flag} given without {missing}: supply both or neither\n");
        fails(&ran, 2, &message);
    }
}

#[test]
fn a_login_that_is_refused_changes_nothing() {
    for (status, code) in [(401, 5), (500, 1)] {
        let server = Server::answering(move |_| Reply::json(status, r#"{"message":"no"}"#));
        let user = User::new();
        user.configure("# mine\ncurrent_profile: default\n");
        let ran = login(&user, &server, &[]);
        fails(
            &ran,
            code,
            "authentication failed: token endpoint returned ",
        );
        assert_eq!(user.config_text(), "# mine\ncurrent_profile: default\n");
        assert!(!user.cache("default").exists());
    }
}

#[test]
fn a_login_creates_the_profile_it_names_and_leaves_the_active_one() {
    let server = platform();
    let user = User::new();
    user.configure(
        "# mine\ncurrent_profile: main # stays\nprofiles:\n  main:\n    other: {a: 1}\n",
    );
    let ran = login(&user, &server, &["--profile", "staging"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = user.config_text();
    let before = "# mine\ncurrent_profile: main # stays\nprofiles:\n  main:\n    other: {a: 1}\n";
    assert!(
        text.starts_with(before) && text.contains("  staging:\n"),
        "{text}"
    );
    assert!(user.cache("staging").exists());
}

#[test]
fn a_new_login_never_uses_the_token_of_the_old_one() {
    let server = platform();
    let user = User::new();
    login(&user, &server, &[]);
    let first = fs::read_to_string(user.cache("default")).expect("a cache");
    login(&user, &server, &[]);
    // The old token is restored from a backup.
    fs::write(user.cache("default"), first).expect("written");
    user.platform(&["tenant", "list"]);
    let calls = server.calls();
    assert_eq!(
        calls[0].header("authorization"),
        Some("Bearer live-token-3")
    );
}

#[test]
fn a_configuration_that_cannot_be_saved_is_exit_1_and_keeps_no_token() {
    let server = platform();
    let user = User::new();
    // A file in place of the folder.
    fs::write(user.home().join("blocked"), "").expect("written");
    let config = user.home().join("blocked/config.yaml");
    let config = config.to_str().expect("a path");
    let ran = login(&user, &server, &["--config", config]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.is_empty());
    assert!(!user.cache("default").exists());
}

#[test]
fn a_logout_leaves_the_address_and_nothing_else() {
    let server = platform();
    let user = User::new();
    login(&user, &server, &[]);
    let leftover = user
        .cache("default")
        .with_file_name(".default-platform.json.tmp77");
    fs::write(&leftover, "a token").expect("written");
    for _ in 0..2 {
        let ran = user.platform(&["auth", "logout"]);
        ends(
            &ran,
            0,
            "",
            "Logged out. Token and stored credentials removed.\n",
        );
    }
    assert!(!user.cache("default").exists() && !leftover.exists());
    let text = user.config_text();
    assert!(text.contains(&server.url()), "{text}");
    for gone in [ID, SECRET, "login_id", "client_"] {
        assert!(!text.contains(gone), "{text}");
    }
    assert_eq!(server.seen().len(), 1, "no server is told");
    fails(
        &user.platform(&["tenant", "list"]),
        5,
        "no credentials found — ",
    );
}

#[test]
fn a_logout_without_a_login_creates_nothing() {
    let user = User::new();
    let ran = user.platform(&["auth", "logout"]);
    ends(
        &ran,
        0,
        "",
        "Logged out. Token and stored credentials removed.\n",
    );
    assert!(!user.config().exists());
    let user = User::new().with("ZIGGURAT_CLIENT_ID", "x");
    let ran = user.platform(&["auth", "logout"]);
    assert!(
        ran.stderr.contains("Warning: ZIGGURAT_CLIENT_ID"),
        "{ran:?}"
    );
}

#[test]
fn status_tells_what_would_be_used_without_asking_any_server() {
    let server = platform();
    let user = User::of(&server);
    let url = server.url();
    let status = |token: &str| {
        format!(
            "Credential ID: {ID}\nAuth source:   config\nAPI URL:       {url}\nStorage:       file \
             (plain text)\nToken:         {token}\n"
        )
    };
    ends(
        &user.platform(&["auth", "status"]),
        0,
        &status("not cached"),
        "",
    );
    user.platform(&["tenant", "list"]);
    let before = server.seen().len();
    let ran = user.platform(&["auth", "status"]);
    assert!(
        ran.stdout.contains("Token:         valid (expires 2"),
        "{ran:?}"
    );
    let report = json(&user.platform(&["auth", "status", "-o", "json"]).stdout);
    let expected = json!({
        "authenticated": true, "source": "config", "credential_id": ID, "api_url": url,
        "storage": "file", "token_valid": true, "token_bound": true,
        "expires_at": report["expires_at"],
    });
    assert_eq!(report, expected);
    let ran = user.platform(&["auth", "status", "--api-url", "http://127.0.0.1:1"]);
    let stale = "Token:         stale (different credential or API URL)\n";
    assert!(ran.stdout.ends_with(stale), "{ran:?}");
    let mut kept = json(&fs::read_to_string(user.cache("default")).expect("a cache"));
    kept["expires_at"] = "2020-01-01T00:00:00Z".into();
    fs::write(user.cache("default"), kept.to_string()).expect("written");
    ends(
        &user.platform(&["auth", "status"]),
        0,
        &status("expired"),
        "",
    );
    assert_eq!(server.seen().len(), before);
}

#[test]
fn status_names_the_environment_and_flags_as_sources() {
    let user = User::new().with_pair();
    let ran = user.platform(&["auth", "status"]);
    let text = format!(
        "Credential ID: {ID}\nAuth source:   env\nAPI URL:       http://127.0.0.1:8090\nToken:         \
         never cached (env credentials)\n"
    );
    ends(&ran, 0, &text, "");
    let report = json(&user.platform(&["auth", "status", "-o", "json"]).stdout);
    assert_eq!(
        (&report["token_valid"], &report["token_bound"]),
        (&json!(false), &json!(false))
    );
    assert_eq!(report["storage"], "env");
    let ran = user.platform(&[
        "auth",
        "status",
        "--client-id",
        "f",
        "--client-secret",
        "s",
        "-o",
        "json",
    ]);
    assert_eq!(json(&ran.stdout)["source"], "flags");
}

#[test]
fn status_without_credentials_reports_and_then_fails() {
    let user = User::new();
    let ran = user.platform(&["auth", "status"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(5), "Not authenticated.\n")
    );
    assert!(
        ran.stderr.starts_with("Error: no credentials found — "),
        "{ran:?}"
    );
    let ran = user.platform(&["auth", "status", "-o", "json"]);
    assert_eq!(
        json(&ran.stdout),
        json!({"authenticated": false, "api_url": "http://127.0.0.1:8090",
               "token_valid": false, "token_bound": false})
    );
    let user = User::new().with("ZIGGURAT_CLIENT_ID", "x");
    let ran = user.platform(&["auth", "status"]);
    let problem = "ZIGGURAT_CLIENT_ID given without ZIGGURAT_CLIENT_SECRET: supply both or neither";
    let stdout = format!("Not authenticated: {problem}\n");
    ends(&ran, 2, &stdout, &format!("Error: {problem}\n"));
    let user = User::new().with_pair();
    let ran = user.platform(&["auth", "status", "--profile", "default", "-o", "json"]);
    assert_eq!(ran.code, Some(2));
    let problem = json(&ran.stdout)["problem"].to_string();
    assert!(
        problem.contains("--profile default given while"),
        "{problem}"
    );
}

const CLIENTS: &str = r#"[
    {"id":"b0c1d2e3-f4a5-6789-bcde-890123456789","name":"other","auth0_id":"another"},
    {"id":"00000000-0000-4000-8000-000000000001","name":"ci\u001b[2J","description":"CI\nrunner",
     "auth0_id":"credential-id-of-32-characters-x"}]"#;

fn identity(tenants: &'static str) -> impl Fn(&Seen) -> Reply + Send + Sync {
    move |seen| match seen.target.as_str() {
        "/account/v1/clients" => Reply::json(200, CLIENTS),
        _ => Reply::json(200, tenants),
    }
}

#[test]
fn whoami_finds_the_client_and_the_first_tenant() {
    let server = Server::platform(identity(
        r#"[{"id":"t1","name":"Acme","plan":"enterprise","plan_trial":true},{"id":"t2"}]"#,
    ));
    let user = User::of(&server);
    let ran = user.platform(&["auth", "whoami"]);
    let text = format!(
        "Credential ID: {ID}\nClient name:   ci\\x1b[2J\nDescription:   CI\\nrunner\nRecord ID:     \
         00000000-0000-4000-8000-000000000001\nTenant:        Acme\nTenant ID:     t1\nPlan:          \
         enterprise (trial)\nTenants:       2\nAPI URL:       {}\n",
        server.url()
    );
    ends(&ran, 0, &text, "");
    let ran = user.platform(&["auth", "whoami", "-o", "json"]);
    assert_eq!(
        json(&ran.stdout),
        json!({"credential_id": ID, "client_name": "ci\u{1b}[2J", "client_description": "CI\nrunner",
               "client_record_id": "00000000-0000-4000-8000-000000000001", "tenant_name": "Acme",
               "tenant_id": "t1", "plan": "enterprise", "plan_trial": true, "tenant_count": 2,
               "api_url": server.url()})
    );
}

#[test]
fn whoami_says_what_it_does_not_find() {
    let server = Server::platform(|_| Reply::json(200, "[]"));
    let user = User::of(&server);
    let ran = user.platform(&["auth", "whoami"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (
            Some(0),
            "No API client in this tenant has this credential ID.\nNo tenant returned for this \
             credential.\n"
        )
    );
    let server = Server::platform(|seen| {
        if seen.target.contains("tenants") {
            Reply::json(403, r#"{"code":403,"message":"no"}"#)
        } else {
            Reply::json(200, "[]")
        }
    });
    fails(
        &User::of(&server).platform(&["auth", "whoami"]),
        5,
        "authentication error (403): no\n",
    );
    let server = Server::platform(|_| Reply::json(200, "{}"));
    fails(
        &User::of(&server).platform(&["auth", "whoami"]),
        1,
        "list clients: ",
    );
}

#[test]
fn doctor_finds_everything_in_order_and_changes_nothing() {
    let server = Server::platform(identity(r#"[{"id":"t1","name":"Acme","plan":"team"}]"#));
    let user = User::of(&server);
    let ran = user.platform(&["doctor", "--strict"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    for line in [
        "Auth              warning  token expired or missing (source: config)".to_owned(),
        format!(
            "Storage           ok       secret in plain text in {} (mode 0600)",
            user.config().display()
        ),
        format!("API connectivity  ok       {} (200, ", server.url()),
        "Tenant            ok       Acme (t1, plan: team)".to_owned(),
        "Environment       ok       linux/".to_owned(),
    ] {
        assert!(ran.stdout.contains(&line), "{line:?} in {}", ran.stdout);
    }
    assert!(
        !user.cache("default").exists(),
        "a token it mints is not kept"
    );
    let probe = &server.calls()[0];
    assert_eq!(
        (probe.target.as_str(), probe.header("authorization")),
        ("/", None)
    );
    let report = json(&user.platform(&["doctor", "-o", "json"]).stdout);
    assert_eq!(report["auth"]["authenticated"], true);
    assert_eq!(report["api"]["status"], 200);
    assert_eq!(
        report["tenant"],
        json!({"resolved": true, "name": "Acme", "id": "t1",
                                        "plan": "team", "count": 1})
    );
    user.platform(&["tenant", "list"]);
    let before = server.exchanges().len();
    let ran = user.platform(&["doctor"]);
    assert!(
        ran.stdout.contains("authenticated via config (expires 2"),
        "{ran:?}"
    );
    assert_eq!(
        server.exchanges().len(),
        before,
        "a token that is kept is used"
    );
}

#[test]
fn doctor_fails_if_the_platform_is_unreachable_and_for_other_errors_when_it_is_told_to() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address").port()
    };
    let user = User::new();
    let url = format!("http://127.0.0.1:{port}");
    let ran = user.platform(&["doctor", "--api-url", &url]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("the platform cannot be reached"),
        "{ran:?}"
    );
    for line in [
        "Auth              error    not authenticated".to_owned(),
        format!("API connectivity  error    {url} (unreachable)"),
        "Tenant            warning  could not resolve tenant (see Auth above)".to_owned(),
    ] {
        assert!(ran.stdout.contains(&line), "{line:?} in {}", ran.stdout);
    }
    let ran = user.platform(&["doctor", "--strict", "--api-url", &url]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let server = Server::platform(|_| Reply::json(500, ""));
    let ran = user.platform(&["doctor", "--api-url", &server.url()]);
    assert_eq!(ran.code, Some(0), "no credential: {ran:?}");
    let ran = User::new()
        .with_pair()
        .platform(&["doctor", "--api-url", &server.url()]);
    assert!(
        ran.stdout.contains("(500, "),
        "any status is an answer: {ran:?}"
    );
}

#[test]
fn doctor_compares_the_clocks() {
    let server = Server::platform(|_| {
        let date = "Fri, 02 Jan 2026 03:04:05 GMT".to_owned();
        Reply::With(200, vec![("Date", date)], "[]".to_owned())
    });
    let ran = User::of(&server).platform(&["doctor"]);
    let clock = ran.stdout.lines().find(|line| line.starts_with("Clock"));
    let clock = clock.expect("a line");
    assert!(
        clock.contains("warning  ") && clock.contains("s off the server's clock"),
        "{clock}"
    );
}

/// Starts a D-Bus socket that accepts connections, never responds, and counts them.
fn silent_bus(user: &User) -> (String, Arc<AtomicUsize>) {
    let path = user.home().join("bus");
    let listener = UnixListener::bind(&path).expect("a socket");
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    thread::spawn(move || {
        let mut kept = Vec::new();
        for stream in listener.incoming() {
            counted.fetch_add(1, Ordering::SeqCst);
            kept.push(stream);
        }
    });
    (format!("unix:path={}", path.display()), connections)
}

#[test]
fn a_keychain_that_hangs_costs_three_seconds_once() {
    let server = platform();
    let user = User::new().without("ZIGGURAT_NO_KEYCHAIN");
    let (bus, connections) = silent_bus(&user);
    let user = user.with("DBUS_SESSION_BUS_ADDRESS", &bus);
    let ran = login(&user, &server, &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr
            .contains("(keychain: unavailable: no answer within 3s)"),
        "{}",
        ran.stderr
    );
    assert!(user.config_text().contains(SECRET));
    assert_eq!(connections.load(Ordering::SeqCst), 1);
    // Now that the secret is in the file, the keychain is not called.
    let ran = user.platform(&["auth", "status"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[test]
fn a_machine_without_a_bus_answers_at_once_and_a_warm_cache_needs_no_keychain() {
    let server = platform();
    let user = User::new()
        .without("ZIGGURAT_NO_KEYCHAIN")
        .with("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere/at/all");
    let ran = login(&user, &server, &[]);
    assert!(
        ran.stderr
            .contains("the OS keychain could not be used (keychain: "),
        "{ran:?}"
    );
    // The profile of a login that has its secret in a keychain.
    let text = user.config_text();
    let kept: Vec<&str> = text
        .lines()
        .filter(|line| !line.contains("client_secret"))
        .collect();
    user.configure(&(kept.join("\n") + "\n"));
    let ran = user.platform(&["tenant", "list", "-o", "json"]);
    ends(&ran, 0, "[]\n", "");
    let ran = user.platform(&["auth", "status"]);
    assert_eq!(ran.code, Some(5));
    assert!(
        ran.stderr
            .starts_with("Error: could not read the client secret from the OS keychain ("),
        "{ran:?}"
    );
    assert!(
        ran.stdout.starts_with("Not authenticated: could not read"),
        "{ran:?}"
    );
    let ran = user.platform(&["auth", "logout"]);
    assert_eq!(ran.code, Some(0));
    assert!(
        ran.stderr
            .starts_with("Warning: could not remove the client secret from the OS keychain"),
        "{ran:?}"
    );
}

#[test]
fn profiles_of_two_configurations_do_not_share_a_secret() {
    let server = platform();
    let user = User::new();
    let other = user.home().join("other.yaml");
    fs::write(&other, profile("default", &server.url())).expect("written");
    let other = other.to_str().expect("a path");
    let ran = user.platform(&["tenant", "list", "--config", other]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    fails(
        &user.platform(&["tenant", "list"]),
        5,
        "no credentials found",
    );
}
