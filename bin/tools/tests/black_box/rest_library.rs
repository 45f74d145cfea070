//! Tests of the library, in a file and in PostgreSQL.

use std::thread;

use serde_json::{Value, json};

use crate::support::{Answer, Client, Home, Postgres, records, records::PASSWORD};

const PATH: &str = "/api/library";

/// Creates a folder with the users alice, bob, who may not use the second database, and root, an
/// administrator.
fn home() -> Home {
    let home = Home::new();
    home.configure(
        "databases:\n- {name: main, user: reader}\n\
         - {name: team, user: reader, available_to_users: [alice, root]}\n",
    );
    let token = records::token(1, "a-program", &[]);
    home.replace(&home.tokens(), &records::tokens(&[token]));
    let [alice, bob] = ["alice", "bob"].map(|name| records::user(name, &[]));
    let root = records::user("root", &["admin: true"]);
    home.replace(&home.users(), &records::users(&[alice, bob, root]));
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

fn send(client: &Client, method: &str, path: &str, body: &Value) -> Answer {
    let headers = "content-type: application/json\r\n";
    client.send(method, path, headers, &body.to_string())
}

fn query(title: &str, database: Option<&str>, shared: bool) -> Value {
    json!({"kind": "query", "title": title, "text": "SELECT 1", "database": database,
        "tags": [], "shared": shared})
}

fn made(client: &Client, item: &Value) -> Value {
    let answer = send(client, "POST", PATH, item);
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    answer.json()
}

fn place(item: &Value) -> String {
    format!("{PATH}/{}", item["id"].as_str().expect("an id"))
}

fn titles(client: &Client, query: &str) -> Vec<String> {
    let answer = client.get(&format!("{PATH}{query}"));
    assert_eq!(answer.status, 200, "{answer:?}");
    let list = answer.json();
    let items = list["items"].as_array().expect("a list").iter();
    let titles = items.map(|item| item["title"].as_str().expect("a title").to_owned());
    titles.collect()
}

fn check(answer: &Answer, status: u16, code: &str) {
    let refusal = answer.json();
    assert_eq!((answer.status, &refusal["code"]), (status, &json!(code)));
    assert!(refusal["error"].is_string(), "{refusal}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

#[test]
fn users_keep_share_change_and_delete_queries() {
    on_both(|_, client| {
        let [alice, bob, root] =
            ["alice", "bob", "root"].map(|name| client.logged_in(name, PASSWORD));
        made(&alice, &query("own", None, false));
        let shared = made(&alice, &query("for all", Some("main"), true));
        let team = made(&alice, &query("for the team", Some("team"), true));
        assert_eq!(titles(&alice, ""), ["for the team", "for all", "own"]);
        assert_eq!(titles(&root, ""), ["for the team", "for all"]);
        assert_eq!(titles(&bob, ""), ["for all"]);
        assert_eq!(titles(&alice, "?kind=prompt"), [""; 0]);
        assert_eq!(
            titles(&alice, "?q=FOR+select&limit=1&offset=1"),
            ["for all"]
        );

        let mut change = query("changed", Some("main"), true);
        change["version"] = json!(1);
        check(
            &send(&bob, "PUT", &place(&shared), &change),
            403,
            "not_owner",
        );
        check(&send(&bob, "PUT", &place(&team), &change), 404, "not_found");
        check(&bob.send("DELETE", &place(&team), "", ""), 404, "not_found");
        let answer = send(&root, "PUT", &place(&shared), &change);
        assert_eq!(answer.status, 200, "{answer:?}");
        let changed = answer.json();
        let mut expected = shared.clone();
        for (member, value) in [("title", json!("changed")), ("version", json!(2))] {
            expected[member] = value;
        }
        expected["updated_at"] = changed["updated_at"].clone();
        assert_eq!(changed, expected, "the owner stays");
        check(
            &send(&alice, "PUT", &place(&shared), &change),
            409,
            "changed",
        );
        let answer = root.send("DELETE", &place(&team), "", "");
        assert_eq!((answer.status, &*answer.body), (204, ""), "{answer:?}");
        assert_eq!(titles(&alice, ""), ["changed", "own"]);
        check(
            &send(&bob, "POST", PATH, &query("x", Some("team"), false)),
            404,
            "not_found",
        );
        check(
            &send(&bob, "POST", PATH, &json!({"kind": "query"})),
            400,
            "bad_request",
        );
    });
}

#[test]
fn of_two_tabs_that_save_at_once_one_is_told_that_the_other_was_first() {
    on_both(|_, client| {
        let alice = client.logged_in("alice", PASSWORD);
        let item = made(&alice, &query("first", None, false));
        for version in 1..=20 {
            let mut change = query("next", None, false);
            change["version"] = json!(version);
            let statuses = thread::scope(|scope| {
                let tab = || send(&alice, "PUT", &place(&item), &change).status;
                let tabs = [scope.spawn(tab), scope.spawn(tab)];
                let mut statuses = tabs.map(|tab| tab.join().expect("answered"));
                statuses.sort_unstable();
                statuses
            });
            assert_eq!(statuses, [200, 409], "version {version}");
        }
    });
}

#[test]
fn programs_and_servers_without_users_have_no_library() {
    let home = home();
    let (program, client) = home.serve(&[]);
    let item = query("x", None, false);
    let bearer = client.bearing("a-program");
    for (method, path) in [("GET", PATH), ("POST", PATH), ("DELETE", "/api/library/7")] {
        check(&send(&bearer, method, path, &item), 403, "users_only");
    }
    assert_eq!(client.get(PATH).status, 401);
    drop(program);
    let (_program, client) = home.serve(&["-no-auth"]);
    for method in ["GET", "POST"] {
        let answer = send(&client, method, PATH, &item);
        assert_eq!(
            (answer.status, answer.json()),
            (404, json!({"error": "Not found"}))
        );
    }
}

#[test]
fn items_are_there_after_a_restart_and_hidden_by_toolsets() {
    let home = home();
    let (program, client) = home.serve(&[]);
    let alice = client.logged_in("alice", PASSWORD);
    made(&alice, &query("kept", None, false));
    drop(program);
    home.configure(
        "databases: [{name: main, user: reader}]\n\
         toolsets:\n- {name: all, rest: [library], for: {users: [alice]}}\n\
         - {name: some, rest: [conversations], for: {users: [bob]}}\n",
    );
    let (_program, client) = home.serve(&[]);
    for (user, has_library) in [("alice", true), ("bob", false)] {
        let headers = "ziggurat-console:\r\ncontent-type: application/json\r\n";
        let credentials = json!({"username": user, "password": PASSWORD}).to_string();
        let session = client.send("POST", "/api/console/session", headers, &credentials);
        let features = &session.json()["features"];
        assert_eq!(features["library"], has_library, "{features}");
        assert_eq!(features["conversations"], !has_library, "{features}");
        let caller = client.logged_in(user, PASSWORD);
        if has_library {
            assert_eq!(titles(&caller, ""), ["kept"]);
        } else {
            assert_eq!(caller.get(PATH).json(), json!({"error": "Not found"}));
        }
    }
}
