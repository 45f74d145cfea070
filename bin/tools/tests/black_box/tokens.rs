//! Tests of account files that change while the server runs, and of tokens that expire.

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::support::{Client, Home, Postgres, Program, records, until};

/// Time limit; the promise is 100 ms, but a busy machine may need more.
const SOON: Duration = Duration::from_secs(2);

/// Log message of the server after it has reloaded a file.
const RELOADED: &str = "[AUTH] Reloaded ";

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// Returns the status of a call that requires only a token.
fn status(client: &Client) -> u16 {
    client.post("/mcp/v1", PING).status
}

/// Creates a folder for a server that does not need its database.
fn home(tokens: &[String], users: &[String]) -> Home {
    let home = Home::new();
    home.configure("databases: [{name: main, user: reader}, {name: docs, user: reader}]");
    home.replace(&home.tokens(), &records::tokens(tokens));
    home.replace(&home.users(), &records::users(users));
    home
}

/// Asserts that a client gets this status in time.
fn assert_soon(what: &str, client: &Client, expected: u16) {
    let took = until(what, || status(client) == expected);
    assert!(took < SOON, "{what}: {took:?}");
}

/// Runs a function, and waits until the server has reloaded the file.
fn reloaded(program: &Program, act: impl FnOnce()) {
    program.until_it_says(RELOADED, act);
}

/// Formats the time in so many seconds, as in the files.
fn in_seconds(seconds: i64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("later");
    let now = i64::try_from(now.as_secs()).expect("in range");
    jiff::Timestamp::from_second(now + seconds)
        .expect("in range")
        .to_string()
}

#[test]
fn tokens_of_both_formats_of_the_file_are_accepted() {
    let home = home(&[], &[]);
    let entry = records::token(1, "listed", &[]);
    let listed = records::tokens(&[entry]);
    let mapped = format!(
        "tokens:\n  token-1:\n    hash: {}\n    expires_at: null\n    annotation: older\n    \
         created_at: 2024-10-30T10:15:30.123456789Z\n    database: docs\n",
        ziggurat_layers::bearer::TokenHash::of("mapped")
    );
    for (text, token) in [(listed, "listed"), (mapped, "mapped")] {
        home.replace(&home.tokens(), &text);
        let (_program, client) = home.serve(&[]);
        assert_eq!(status(&client.bearing(token)), 200, "{token}");
        assert_eq!(status(&client.bearing("other")), 401);
    }
}

#[test]
fn an_added_or_removed_token_takes_effect_at_once() {
    let (one, two) = (records::token(1, "one", &[]), records::token(2, "two", &[]));
    let home = home(std::slice::from_ref(&one), &[]);
    let (program, client) = home.serve(&[]);
    let (first, second) = (client.bearing("one"), client.bearing("two"));
    assert_eq!((status(&first), status(&second)), (200, 401));

    home.replace(&home.tokens(), &records::tokens(&[one, two.clone()]));
    assert_soon("a new token lets in", &second, 200);
    let line = program.wait_for("[AUTH] Reloaded ");
    assert!(line.ends_with(&*home.tokens().to_string_lossy()), "{line}");
    home.replace(&home.tokens(), &records::tokens(&[two]));
    assert_soon("a removed token does not", &first, 401);
    assert_eq!(status(&second), 200);
}

#[test]
fn the_commands_take_effect_in_a_running_server() {
    let home = home(&[], &[]);
    let (_program, client) = home.serve(&[]);
    let token = home.token("docs");
    let client = client.bearing(&token);
    assert_soon("a token that was made lets in", &client, 200);
    let hash = ziggurat_layers::bearer::TokenHash::of(&token).to_string();
    let ran = home.ran(&["-remove-token", &hash[..8]], "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_soon("a token that was removed does not", &client, 401);
}

#[test]
fn the_connections_of_a_removed_token_are_closed() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    home.replace(
        &home.tokens(),
        &records::tokens(&[records::token(1, "one", &[])]),
    );
    let (_program, client) = home.serve(&[]);
    let client = client.bearing("one");
    client.query("SELECT 1");
    let connections = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                       AND pid <> pg_backend_pid() AND backend_type = 'client backend'";
    assert!(postgres.count(connections) > 0);
    home.replace(&home.tokens(), &records::tokens(&[]));
    assert_soon("a removed token", &client, 401);
    until("connections close", || postgres.count(connections) == 0);
}

#[test]
fn a_file_may_be_written_in_place_or_be_a_symbolic_link_that_changes() {
    let home = home(&[], &[]);
    for name in ["one", "two"] {
        let entry = records::token(1, name, &[]);
        home.replace(&home.file(name), &records::tokens(&[entry]));
    }
    fs::remove_file(home.tokens()).expect("removed");
    symlink("one", home.tokens()).expect("linked");
    let (_program, client) = home.serve(&[]);
    let (first, second) = (client.bearing("one"), client.bearing("two"));
    assert_eq!(status(&first), 200);
    symlink("two", home.file("turned")).expect("linked");
    fs::rename(home.file("turned"), home.tokens()).expect("renamed");
    assert_soon("a link is turned", &second, 200);
    assert_eq!(status(&first), 401);
    let text = fs::read_to_string(home.file("one")).expect("read");
    fs::write(home.file("two"), text).expect("written");
    assert_soon("a file is written in place", &first, 200);
}

#[test]
fn an_invalid_or_missing_file_changes_nothing() {
    let one = records::token(1, "one", &[]);
    let alice = records::user("alice", &[]);
    let home = home(&[one], &[alice]);
    let (program, client) = home.serve(&[]);
    let client = client.bearing("one");
    let (tokens, users) = (home.tokens(), home.users());
    let failed = |path: &Path| format!("[AUTH] Failed to reload {}: ", path.display());
    for text in ["tokens: [", "tokens: 7\n", "tokens: [{id: a, hash: b}]\n"] {
        program.until_it_says(&failed(&tokens), || home.replace(&tokens, text));
        assert_eq!(status(&client), 200, "{text}");
    }
    program.until_it_says(&failed(&users), || {
        home.replace(&users, "users: {alice: 7}\n");
    });
    client.logged_in("alice", records::PASSWORD);

    program.until_it_says(&failed(&tokens), || {
        fs::remove_file(&tokens).expect("removed");
    });
    assert_eq!(status(&client), 200, "the file is gone");
    let two = records::token(2, "two", &[]);
    home.replace(&tokens, &records::tokens(&[two]));
    assert_soon("and is back with another", &client, 401);
}

#[test]
fn after_many_changes_the_last_one_applies() {
    let home = home(&[], &[]);
    let (_program, client) = home.serve(&[]);
    for number in 0..50 {
        let entry = records::token(1, &number.to_string(), &[]);
        home.replace(&home.tokens(), &records::tokens(&[entry]));
    }
    assert_soon("the last of fifty", &client.bearing("49"), 200);
    assert_eq!(status(&client.bearing("48")), 401);
}

#[test]
fn expired_tokens_are_removed_from_the_file_at_the_start() {
    let ended = format!("expires_at: \"{}\"", in_seconds(-3600));
    let tokens = [
        records::token(1, "old", &[&ended]),
        records::token(2, "good", &["expires_at: \"2999-01-01T00:00:00Z\""]),
        records::token(3, "older", &["expires_at: \"2019-01-01T00:00:00Z\""]),
        records::token(4, "endless", &["expires_at: null"]),
    ];
    let home = home(&tokens, &[]);
    let (program, client) = home.serve(&[]);
    program.wait_for("Removed 2 expired token(s)");
    for (token, expected) in [
        ("old", 401),
        ("older", 401),
        ("good", 200),
        ("endless", 200),
    ] {
        assert_eq!(status(&client.bearing(token)), expected, "{token}");
    }
    let text = fs::read_to_string(home.tokens()).expect("read");
    assert!(
        !text.contains("token-1") && !text.contains("token-3"),
        "{text}"
    );
    assert!(
        text.contains("token-2") && text.contains("token-4"),
        "{text}"
    );
}

#[test]
fn a_token_that_expires_while_the_server_runs_is_refused() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let ends = format!("expires_at: \"{}\"", in_seconds(3));
    let entry = records::token(1, "brief", &[&ends]);
    home.replace(&home.tokens(), &records::tokens(&[entry]));
    let (_program, client) = home.serve(&[]);
    let client = client.bearing("brief");
    client.query("SELECT 1");
    until("it is over", || status(&client) == 401);
    let answer = client.post("/mcp/v1", PING);
    assert_eq!(answer.json()["error"], "Invalid or unknown token");
    let connections = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                       AND pid <> pg_backend_pid() AND backend_type = 'client backend'";
    until("its connections close", || postgres.count(connections) == 0);
    let listed = || home.ran(&["-list-tokens"], "").stdout;
    until("it leaves the file", || listed() == "No tokens found.\n");
}

#[test]
fn a_user_who_is_disabled_or_changed_in_the_file_is_affected_at_once() {
    let home = home(&[], &[records::user("alice", &[])]);
    let (program, client) = home.serve(&[]);
    let alice = client.logged_in("alice", records::PASSWORD);
    let bob = [
        records::user("alice", &["annotation: changed"]),
        records::user("bob", &[]),
    ];
    reloaded(&program, || {
        home.replace(&home.users(), &records::users(&bob));
    });
    client.logged_in("bob", records::PASSWORD);
    assert_eq!(status(&alice), 200, "a session stays good");

    let disabled = records::user("alice", &["enabled: false"]);
    reloaded(&program, || {
        home.replace(&home.users(), &records::users(&[disabled]));
    });
    assert_soon("the session of who is disabled", &alice, 401);
    let answer = client.login("alice", records::PASSWORD).json();
    assert_eq!(
        answer["error"]["data"],
        "authentication failed: user account is disabled"
    );
    let enabled = records::users(&[records::user("alice", &[])]);
    reloaded(&program, || home.replace(&home.users(), &enabled));
    client.logged_in("alice", records::PASSWORD);
    assert_eq!(status(&alice), 401, "that session does not come back");
}

#[test]
fn a_changed_password_applies_at_once_and_ends_no_session() {
    let home = home(&[], &[records::user("alice", &[])]);
    let (program, client) = home.serve(&[]);
    let alice = client.logged_in("alice", records::PASSWORD);
    let words = [
        "-update-user",
        "-username",
        "alice",
        "-password",
        "battery staple",
    ];
    reloaded(&program, || {
        assert_eq!(home.ran(&words, "").code, Some(0));
    });
    let answer = client.login("alice", records::PASSWORD).json();
    assert_eq!(
        answer["error"]["data"],
        "authentication failed: invalid username or password"
    );
    client.logged_in("alice", "battery staple");
    assert_eq!(status(&alice), 200);
}

#[test]
fn a_deleted_user_is_logged_out_and_a_new_user_of_that_name_is_another_user() {
    let home = home(&[], &[records::user("alice", &[])]);
    let (program, client) = home.serve(&[]);
    let alice = client.logged_in("alice", records::PASSWORD);
    reloaded(&program, || {
        let ran = home.ran(&["-delete-user", "-username", "alice"], "y\n");
        assert_eq!(ran.code, Some(0), "{ran:?}");
    });
    assert_soon("the session of who is deleted", &alice, 401);
    reloaded(&program, || home.user("alice", records::PASSWORD));
    client.logged_in("alice", records::PASSWORD);
    assert_eq!(status(&alice), 401);
}

#[test]
fn the_server_and_a_command_do_not_lose_each_others_changes() {
    let home = home(&[], &[records::user("alice", &[])]);
    let (_program, client) = home.serve(&[]);
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..10 {
                client.logged_in("alice", records::PASSWORD);
            }
        });
        for name in ["bob", "carol", "dave"] {
            home.user(name, records::PASSWORD);
        }
    });
    let text = fs::read_to_string(home.users()).expect("read");
    for name in ["alice:", "bob:", "carol:", "dave:"] {
        assert!(text.contains(name), "{name} {text}");
    }
    let list = home.ran(&["-list-users"], "").stdout;
    let alice = list.lines().find(|line| line.starts_with("alice "));
    assert!(alice.is_some_and(|line| !line.contains("Never")), "{list}");
}
