//! Tests of the stored data of users: conversations, library and statements belong to an account,
//! and not to its name.

use serde_json::{Value, json};

use crate::support::{Client, Home, Postgres, Program, records, records::PASSWORD, until};

/// A server with the administrator ada, the user bob, and the user alice, who was made by a command.
struct Server {
    home: Home,
    _program: Program,
    client: Client,
}

impl Server {
    fn new(postgres: &Postgres, is_shared: bool) -> Self {
        let mut home = Home::with(postgres);
        if is_shared {
            home.set("ZIGGURAT_STATE_URL", postgres.url());
        }
        let token = records::token(1, "a-program", &[]);
        home.replace(&home.tokens(), &records::tokens(&[token]));
        let users = [
            records::user("ada", &["admin: true"]),
            records::user("bob", &[]),
        ];
        home.replace(&home.users(), &records::users(&users));
        home.user("alice", PASSWORD_OF_ALICE);
        let (program, client) = home.serve(&[]);
        Self {
            home,
            _program: program,
            client,
        }
    }

    /// Logs in as alice, once the server knows her account.
    fn alice(&self) -> Client {
        let login = || self.client.login("alice", PASSWORD_OF_ALICE);
        until("alice can log in", || {
            login().body.contains("session_token")
        });
        self.client.logged_in("alice", PASSWORD_OF_ALICE)
    }

    fn delete(&self, more: &[&str]) {
        let words = [&["-delete-user", "-username", "alice"], more].concat();
        let ran = self.home.ran(&words, "y\n");
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
}

const PASSWORD_OF_ALICE: &str = "correct horse battery";

fn store(client: &Client) {
    let conversation = json!({"messages": [{"role": "user", "content": "a secret"}]});
    let item = json!({"kind": "query", "title": "of alice", "text": "SELECT 42",
        "database": null, "tags": [], "shared": true});
    for (path, body) in [("/api/conversations", conversation), ("/api/library", item)] {
        let answer = client.post(path, &body.to_string());
        assert_eq!(answer.status, 201, "{answer:?}");
    }
    assert!(client.query("SELECT 42 AS answer").ends_with("42"));
}

/// Returns the numbers of conversations, items and statements that a user sees.
fn seen(client: &Client) -> [usize; 3] {
    [
        ("/api/conversations", "conversations"),
        ("/api/library", "items"),
        ("/api/activity", "finished"),
    ]
    .map(|(path, member)| {
        let list: Value = client.get(path).json();
        list[member].as_array().expect("a list").len()
    })
}

#[test]
fn a_new_user_of_an_old_name_sees_nothing_of_the_old_one() {
    let postgres = Postgres::new();
    for is_shared in [false, true] {
        let server = Server::new(&postgres, is_shared);
        let alice = server.alice();
        store(&alice);
        assert_eq!(seen(&alice), [1, 1, 1]);
        server.delete(&["-keep-state"]);
        server.home.user("alice", PASSWORD_OF_ALICE);
        let again = server.alice();
        // What others may read is kept.
        assert_eq!(seen(&again), [0, 1, 0], "shared: {is_shared}");
        let item = again.get("/api/library").json()["items"][0].clone();
        assert_eq!(item["owner"], "alice");
        let place = format!("/api/library/{}", item["id"].as_str().expect("an id"));
        let refused = again.send("DELETE", &place, "", "");
        assert_eq!(refused.status, 403, "it is not the owner: {refused:?}");
        store(&again);
        assert_eq!(seen(&again), [1, 2, 1]);
        server.delete(&[]);
    }
}

#[test]
fn the_state_of_a_user_is_deleted_with_the_user_unless_it_is_to_be_kept() {
    let postgres = Postgres::new();
    for is_shared in [false, true] {
        let server = Server::new(&postgres, is_shared);
        let [ada, bob] = ["ada", "bob"].map(|name| server.client.logged_in(name, PASSWORD));
        let shared = || seen(&bob)[1];
        let path = "/api/admin/users/alice";
        let (by_command, by_request): (&dyn Fn(bool), &dyn Fn(bool)) = (
            &|keeps: bool| server.delete(if keeps { &["-keep-state"][..] } else { &[] }),
            &|keeps: bool| {
                let query = if keeps { "?keep_state=true" } else { "" };
                let answer = ada.send("DELETE", &format!("{path}{query}"), "", "");
                assert_eq!(answer.status, 204, "{answer:?}");
            },
        );
        let refused = ada.send("DELETE", &format!("{path}?keep_state=perhaps"), "", "");
        assert_eq!(refused.status, 400, "{refused:?}");
        let mut kept = 0;
        for (delete, keeps) in [
            (by_command, false),
            (by_command, true),
            (by_request, false),
            (by_request, true),
        ] {
            store(&server.alice());
            assert_eq!(shared(), kept + 1);
            delete(keeps);
            kept += usize::from(keeps);
            assert_eq!(shared(), kept, "shared: {is_shared}, keeps: {keeps}");
            server.home.user("alice", PASSWORD_OF_ALICE);
        }
        // The state of others stays.
        store(&bob);
        server.delete(&[]);
        assert_eq!(seen(&bob)[0], 1);
        postgres.run("DROP SCHEMA IF EXISTS ziggurat CASCADE");
    }
}
