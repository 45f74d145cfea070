//! Tests of conversations, in a file and in PostgreSQL.

use std::{
    collections::BTreeMap,
    fs,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Answer, Client, Home, Postgres, exchange, records, records::PASSWORD};

const PATH: &str = "/api/conversations";

/// Creates a folder with two users.
fn home() -> Home {
    let home = Home::new();
    home.configure("databases: [{name: main, user: reader}]\n");
    home.replace(
        &home.tokens(),
        &records::tokens(&[records::token(1, "a-program", &[])]),
    );
    let users = ["alice", "bob"].map(|name| records::user(name, &[]));
    home.replace(&home.users(), &records::users(&users));
    home
}

/// Runs a test on both kinds of stores.
fn on_both(test: impl Fn(&Home, &Client)) {
    let postgres = Postgres::new();
    for url in [None, Some(postgres.url())] {
        let mut home = home();
        if let Some(url) = url {
            home.set("ZIGGURAT_STATE_URL", url);
        }
        let (_program, client) = home.serve(&[]);
        test(&home, &client);
    }
}

fn said(text: &str) -> String {
    let messages = json!([{"role": "user", "content": text}]);
    json!({"provider": "anthropic", "model": "m", "connection": "main", "messages": messages})
        .to_string()
}

fn send(client: &Client, method: &str, path: &str, body: &str) -> Answer {
    client.send(method, path, "content-type: application/json\r\n", body)
}

fn created(client: &Client, text: &str) -> Value {
    let answer = client.post(PATH, &said(text));
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()
}

fn place(conversation: &Value) -> String {
    format!("{PATH}/{}", conversation["id"].as_str().expect("an id"))
}

fn check(answer: &Answer, status: u16, body: &Value) {
    assert_eq!(
        (answer.status, &answer.json()),
        (status, body),
        "{answer:?}"
    );
    assert_eq!(answer.header("content-type"), Some("application/json"));
}

fn refused(text: &str) -> Value {
    json!({"error": text})
}

#[test]
fn a_conversation_is_created_read_replaced_renamed_and_deleted() {
    on_both(|_, client| {
        let alice = client.logged_in("alice", PASSWORD);
        let none = json!({"conversations": []});
        check(&alice.get(PATH), 200, &none);

        let made = created(&alice, "How many orders?");
        for (member, value) in [
            ("username", "alice"),
            ("title", "How many orders?"),
            ("provider", "anthropic"),
            ("model", "m"),
            ("connection", "main"),
        ] {
            assert_eq!(made[member], value, "{member} of {made}");
        }
        assert_eq!(made["created_at"], made["updated_at"]);
        assert_eq!(made["messages"][0]["timestamp"], made["created_at"]);
        let at = place(&made);
        check(&alice.get(&at), 200, &made);

        let answer = send(&alice, "PUT", &at, &said("And yesterday?"));
        let replaced = answer.json();
        check(&answer, 200, &replaced);
        assert_eq!(replaced["title"], made["title"], "the title stays");
        assert_eq!(replaced["created_at"], made["created_at"]);
        assert!(replaced["updated_at"].as_str() > made["updated_at"].as_str());
        assert_eq!(replaced["messages"][0]["content"], "And yesterday?");
        check(&alice.get(&at), 200, &replaced);

        let success = json!({"success": true});
        check(
            &send(&alice, "PATCH", &at, r#"{"title":"Orders"}"#),
            200,
            &success,
        );
        let list = alice.get(PATH).json();
        let renamed = &list["conversations"][0];
        assert_eq!(renamed["title"], "Orders");
        assert_eq!(renamed["preview"], "And yesterday?");
        let mut members: Vec<_> = renamed.as_object().expect("an object").keys().collect();
        members.sort();
        let expected = [
            "connection",
            "created_at",
            "id",
            "preview",
            "title",
            "updated_at",
        ];
        assert_eq!(members, expected);

        check(&send(&alice, "DELETE", &at, ""), 200, &success);
        check(&alice.get(PATH), 200, &none);
        let absent = refused("Conversation not found");
        for (method, body) in [
            ("GET", ""),
            ("PUT", &*said("x")),
            ("PATCH", r#"{"title":"x"}"#),
            ("DELETE", ""),
        ] {
            check(&send(&alice, method, &at, body), 404, &absent);
        }
    });
}

#[test]
fn conversations_of_other_users_are_not_found() {
    on_both(|_, client| {
        let [alice, bob] = ["alice", "bob"].map(|name| client.logged_in(name, PASSWORD));
        let made = created(&alice, "mine");
        let at = place(&made);
        created(&bob, "his");
        let absent = refused("Conversation not found");
        check(&bob.get(&at), 404, &absent);
        check(&send(&bob, "PUT", &at, &said("x")), 404, &absent);
        check(&send(&bob, "PATCH", &at, r#"{"title":"x"}"#), 404, &absent);
        check(&send(&bob, "DELETE", &at, ""), 404, &absent);
        let all = format!("{PATH}?all=true");
        let deleted = json!({"success": true, "deleted": 1});
        check(&send(&bob, "DELETE", &all, ""), 200, &deleted);
        check(&alice.get(&at), 200, &made);
        // A conversation belongs to the user, so another session may read it.
        check(&client.logged_in("alice", PASSWORD).get(&at), 200, &made);

        let program = client.bearing("a-program");
        let no_session = refused("user lacks permission");
        for (method, path) in [
            ("GET", PATH),
            ("POST", PATH),
            ("DELETE", &*all),
            ("PUT", &*at),
        ] {
            check(&send(&program, method, path, &said("x")), 403, &no_session);
        }
        let missing = refused("Missing Authorization header");
        check(&client.get(PATH), 401, &missing);
        let unknown = refused("Invalid or unknown token");
        check(&client.bearing("nobody").get(PATH), 401, &unknown);
    });
}

/// Method, path and body of a request, and the expected status and error.
type Case<'a> = (&'a str, &'a str, &'a str, u16, &'a str);

fn check_all(client: &Client, cases: &[Case<'_>]) {
    for &(method, path, body, status, text) in cases {
        let answer = send(client, method, path, body);
        check(&answer, status, &refused(text));
    }
}

#[test]
fn invalid_bodies_are_refused_with_the_specified_errors() {
    on_both(|_, client| {
        let alice = client.logged_in("alice", PASSWORD);
        let at = &*place(&created(&alice, "x"));
        let no_content = r#"{"messages": [{"role": "user"}]}"#;
        let no_list = r#"{"messages": "x"}"#;
        check_all(
            &alice,
            &[
                ("POST", PATH, "nonsense", 400, "Invalid request body"),
                ("POST", PATH, "[]", 400, "Invalid request body"),
                ("POST", PATH, no_list, 400, "Invalid request body"),
                ("POST", PATH, no_content, 400, "Invalid request body"),
                ("POST", PATH, "{}", 400, "Messages required"),
                (
                    "POST",
                    PATH,
                    r#"{"messages": []}"#,
                    400,
                    "Messages required",
                ),
                ("PUT", at, "nonsense", 400, "Invalid request body"),
                ("PUT", at, r#"{"messages": []}"#, 400, "Messages required"),
                ("PATCH", at, "nonsense", 400, "Invalid request body"),
                ("PATCH", at, "{}", 400, "Title required"),
                ("PATCH", at, r#"{"title": ""}"#, 400, "Title required"),
            ],
        );
    });
}

#[test]
fn invalid_paths_are_refused_with_the_specified_errors() {
    on_both(|_, client| {
        let alice = client.logged_in("alice", PASSWORD);
        let at = place(&created(&alice, "x"));
        let slash = &*format!("{PATH}/");
        let all = "Use ?all=true to delete all conversations";
        check_all(
            &alice,
            &[
                ("DELETE", PATH, "", 400, all),
                ("DELETE", "/api/conversations?all=yes", "", 400, all),
                ("DELETE", slash, "", 400, "Conversation ID required"),
                ("GET", slash, "", 400, "Conversation ID required"),
                (
                    "GET",
                    &format!("{slash}x%00y"),
                    "",
                    404,
                    "Conversation not found",
                ),
                (
                    "GET",
                    &format!("{slash}%ff"),
                    "",
                    404,
                    "Conversation not found",
                ),
            ],
        );
        let paths = [
            (PATH, ["GET", "POST", "DELETE"]),
            (&*at, ["GET", "PUT", "PATCH"]),
        ];
        for (path, allow) in paths {
            let answer = send(&alice, "OPTIONS", path, "");
            assert_eq!(answer.status, 405, "{answer:?}");
            let allowed = answer.header("allow").expect("it says");
            let is_named = |method: &&str| allowed.contains(method);
            assert!(allow.iter().all(is_named), "{allowed}");
        }
    });
}

#[test]
fn a_list_is_read_in_pages_and_the_last_change_comes_first() {
    on_both(|_, client| {
        let alice = client.logged_in("alice", PASSWORD);
        let made: Vec<_> = (0..5).map(|at| created(&alice, &format!("{at}"))).collect();
        let titles = |query: &str| -> String {
            let list = alice.get(&format!("{PATH}{query}")).json();
            let list = list["conversations"].as_array().expect("a list").clone();
            list.iter()
                .map(|one| one["title"].as_str().expect("a title"))
                .collect()
        };
        assert_eq!(titles(""), "43210");
        assert_eq!(titles("?limit=2"), "43");
        assert_eq!(titles("?limit=2&offset=3"), "10");
        assert_eq!(titles("?offset=5"), "");
        assert_eq!(titles("?limit=0&offset=-1"), "43210");
        assert_eq!(titles("?limit=x&offset=y"), "43210");
        assert_eq!(titles("?limit=2&limit=3&%ff"), "43210");
        send(&alice, "PATCH", &place(&made[0]), r#"{"title":"new"}"#);
        assert_eq!(titles("?limit=1"), "new");
        assert_eq!(titles("?q=NEW"), "new");
        assert_eq!(titles("?q=2&limit=5"), "2");
        assert_eq!(titles("?q=nothing+like+it"), "");
        assert_eq!(titles("?q=%20&limit=1"), "new");
    });
}

#[test]
fn without_authentication_there_are_no_conversations() {
    let home = home();
    let (_program, client) = home.serve(&["-no-auth"]);
    for method in ["GET", "POST", "DELETE"] {
        check(
            &send(&client, method, PATH, &said("x")),
            404,
            &refused("Not found"),
        );
    }
    assert!(!home.file("data").exists(), "nor is anything kept");
}

#[test]
fn a_server_whose_folder_cannot_be_used_serves_the_rest() {
    let home = home();
    fs::write(home.file("data"), "a file").expect("written");
    let (program, client) = home.serve(&[]);
    let line = program.wait_for("conversations are disabled");
    assert!(line.contains("WARN") || line.contains("warn"), "{line}");
    let alice = client.logged_in("alice", PASSWORD);
    assert_eq!(alice.get("/api/user/info").status, 200);
    check(&alice.get(PATH), 404, &refused("Not found"));
}

#[test]
fn a_server_does_not_start_with_the_conversations_of_another_program() {
    let home = home();
    let file = home.file("data").join("conversations.db");
    fs::create_dir(home.file("data")).expect("made");
    fs::write(&file, "what another program has written".repeat(99)).expect("written");
    let ran = home.ran(&["-http", "-addr", "127.0.0.1:0"], "");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let expected = format!(
        "{} was created by another program and cannot be used: move it, or set data_dir to another \
         folder",
        file.display()
    );
    assert!(ran.stderr.contains(&expected), "{}", ran.stderr);
}

#[test]
fn the_cause_of_a_failing_store_is_only_in_the_log() {
    let postgres = Postgres::new();
    let mut home = home();
    home.set("ZIGGURAT_STATE_URL", postgres.url());
    let (program, client) = home.serve(&[]);
    let alice = client.logged_in("alice", PASSWORD);
    let at = place(&created(&alice, "x"));
    postgres.run("ALTER TABLE ziggurat.conversations RENAME TO away");
    for (method, path, text) in [
        ("GET", PATH, "Failed to list conversations"),
        ("POST", PATH, "Failed to create conversation"),
        ("GET", &*at, "Failed to get conversation"),
        ("PUT", &*at, "Failed to update conversation"),
        ("DELETE", &*at, "Failed to delete conversation"),
        (
            "DELETE",
            "/api/conversations?all=true",
            "Failed to delete conversations",
        ),
    ] {
        check(&send(&alice, method, path, &said("x")), 500, &refused(text));
    }
    let answer = send(&alice, "PATCH", &at, r#"{"title":"x"}"#);
    check(&answer, 500, &refused("Failed to rename conversation"));
    program.wait_for("ziggurat.conversations");
    postgres.run("ALTER TABLE ziggurat.away RENAME TO conversations");
    assert_eq!(alice.get(&at).status, 200);
}

#[test]
fn conversations_survive_a_restart_and_so_do_shared_sessions() {
    let postgres = Postgres::new();
    for url in [None, Some(postgres.url())] {
        let mut home = home();
        let is_shared = url.is_some();
        if let Some(url) = url {
            home.set("ZIGGURAT_STATE_URL", url);
        }
        let (mut program, client) = home.serve(&[]);
        let alice = client.logged_in("alice", PASSWORD);
        let made = created(&alice, "x");
        program.signal(Signal::TERM);
        assert!(program.ended().success());
        let left = fs::read_dir(home.file("data")).into_iter().flatten();
        let left = left.map(|entry| entry.expect("readable").file_name());
        let mut left: Vec<_> = left.filter_map(|name| name.into_string().ok()).collect();
        left.sort();
        let one_file = [".conversations.db.lock", "conversations.db"];
        assert_eq!(left, one_file[..if is_shared { 0 } else { 2 }]);
        let (_program, again) = home.serve(&[]);
        let client = if is_shared {
            alice.at(&again)
        } else {
            again.logged_in("alice", PASSWORD)
        };
        check(&client.get(&place(&made)), 200, &made);
    }
}

/// Several clients write at the same time, and meanwhile the server is killed.
#[test]
fn a_killed_server_has_stored_everything_it_acknowledged() {
    const WRITERS: usize = 24;
    const ACKNOWLEDGED: usize = 300;
    let home = home();
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    for round in 0..3 {
        let (mut program, client) = home.serve(&[]);
        let alice = client.logged_in("alice", PASSWORD);
        let token = alice.token().expect("logged in");
        let said_yes = Mutex::new(Vec::new());
        let count = AtomicUsize::new(0);
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (said_yes, count, address) = (&said_yes, &count, client.address());
                scope.spawn(move || {
                    for turn in 0.. {
                        let text = format!("{round} {writer} {turn}");
                        let sent = exchange(address, token, ("POST", PATH), &said(&text));
                        let Ok((201, made)) = sent else {
                            break;
                        };
                        let id = made["id"].as_str().expect("an id").to_owned();
                        said_yes.lock().expect("whole").push((id, text));
                        count.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
            while count.load(Ordering::SeqCst) < ACKNOWLEDGED {
                thread::yield_now();
            }
            program.signal(Signal::KILL);
        });
        program.ended();
        known.extend(said_yes.into_inner().expect("whole"));
        assert!(known.len() >= ACKNOWLEDGED * (round + 1));

        let (mut program, client) = home.serve(&[]);
        let alice = client.logged_in("alice", PASSWORD);
        let mut there = BTreeMap::new();
        for offset in (0..).step_by(100) {
            let page = format!("{PATH}?limit=100&offset={offset}");
            let list = alice.get(&page).json();
            let list = list["conversations"].as_array().expect("a list").clone();
            if list.is_empty() {
                break;
            }
            let text = |value: &Value| value.as_str().expect("a text").to_owned();
            there.extend(
                list.iter()
                    .map(|one| (text(&one["id"]), text(&one["preview"]))),
            );
        }
        for (id, said) in &known {
            assert_eq!(there.get(id), Some(said), "{id} of round {round}");
        }
        program.signal(Signal::TERM);
        assert!(program.ended().success());
    }
}
