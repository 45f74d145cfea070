//! Tests of several replicas with one `state.url`, behind a random load balancer.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{
    Client, Home, Postgres, Program, TcpProxy, exchange, records, records::PASSWORD, until,
};

const DISABLED: &str = "authentication failed: user account is disabled";
const SELECT: &str = "/api/databases/select";

/// Replicas with separate files of the same content.
struct Fleet {
    homes: Vec<Home>,
    programs: Vec<Program>,
    clients: Vec<Client>,
}

impl Fleet {
    fn of(number: usize, state: &str, auth: &str, databases: &str) -> Self {
        let homes: Vec<_> = (0..number).map(|_| home(state, auth, databases)).collect();
        // Started at the same time, so that they create the tables concurrently.
        let started = thread::scope(|scope| {
            let starting: Vec<_> = homes
                .iter()
                .map(|home| scope.spawn(|| home.serve(&[])))
                .collect();
            let started = starting.into_iter();
            started
                .map(|one| one.join().expect("started"))
                .collect::<Vec<_>>()
        });
        let (programs, clients) = started.into_iter().unzip();
        Self {
            homes,
            programs,
            clients,
        }
    }

    fn tcp_proxy(&self) -> TcpProxy {
        TcpProxy::new(
            self.clients
                .iter()
                .map(|client| client.address().to_owned()),
        )
    }
}

fn home(state: &str, auth: &str, databases: &str) -> Home {
    let mut home = Home::new();
    home.configure(&format!(
        "http: {{auth: {{{auth}}}}}\ndatabases:\n{databases}"
    ));
    home.replace(&home.tokens(), &records::tokens(&[]));
    let users = ["alice", "bob", "cyd", "dee"].map(|name| records::user(name, &[]));
    home.replace(&home.users(), &records::users(&users));
    home.set("ZIGGURAT_STATE_URL", state);
    home
}

/// Describes databases that are never connected to.
fn described() -> String {
    ["one", "two", "three"]
        .map(|name| format!("  - {{name: {name}, host: 127.0.0.1, port: 1, user: nobody}}\n"))
        .concat()
}

fn current(client: &Client) -> Value {
    client.get("/api/databases").json()["current"].clone()
}

fn select(client: &Client, name: &str) {
    let answer = client.post(SELECT, &json!({"name": name}).to_string());
    assert_eq!(answer.status, 200, "{answer:?}");
}

fn data(answer: &crate::support::Answer) -> Value {
    answer.json()["error"]["data"].clone()
}

#[test]
fn a_session_and_its_database_are_valid_for_the_next_request_at_any_replica() {
    let postgres = Postgres::new();
    let fleet = Fleet::of(3, &postgres.url(), "", &described());
    let alice = fleet.clients[0].logged_in("alice", PASSWORD);
    let at = |replica: usize| alice.at(&fleet.clients[replica]);
    assert_eq!(current(&at(2)), "one");
    let names = ["one", "two", "three"];
    for turn in 0..60 {
        let name = names[turn * 7 % 3];
        select(&at(turn % 3), name);
        for other in [1, 2] {
            assert_eq!(current(&at((turn + other) % 3)), name, "turn {turn}");
        }
    }
    let unknown = at(1).post(SELECT, r#"{"name":"four"}"#);
    assert_eq!(unknown.status, 404);
    // Another session of the same user keeps the default.
    assert_eq!(
        current(&fleet.clients[1].logged_in("alice", PASSWORD)),
        "one"
    );
    // The digest of the token is stored, not the token.
    let token = alice.token().expect("logged in");
    let kept =
        format!("SELECT count(*) FROM ziggurat.sessions s WHERE strpos(s::text, '{token}') > 0");
    assert_eq!(postgres.count(&kept), 0);
    assert_eq!(postgres.count("SELECT count(*) FROM ziggurat.sessions"), 2);
}

#[test]
fn each_way_of_selecting_a_database_applies_to_statements_at_every_replica() {
    let postgres = [Postgres::new(), Postgres::new(), Postgres::new()];
    let names = ["one", "two", "three"];
    let described = names.iter().zip(&postgres);
    let described = described.map(|(name, postgres)| postgres.entry(name));
    let fleet = Fleet::of(2, &postgres[0].url(), "", &described.collect::<String>());
    let alice = fleet.clients[0].logged_in("alice", PASSWORD);
    let through_mcp = |client: &Client, name: &str| {
        let answer = client.call("svc/selectDatabase", &json!({"name": name}));
        assert_eq!(answer["result"]["success"], true, "{answer}");
        assert_eq!(answer["result"]["current"], name);
    };
    let through_rest = |client: &Client, name: &str| {
        select(client, name);
    };
    for turn in 0..6 {
        let at = turn % 3;
        let client = alice.at(&fleet.clients[turn / 2 % 2]);
        let way = if turn % 2 == 0 {
            through_rest(&client, names[at]);
            "/api/databases/select"
        } else {
            through_mcp(&client, names[at]);
            "svc/selectDatabase"
        };
        for client in &fleet.clients {
            let text = alice.at(client).query("SELECT current_database()");
            assert!(text.ends_with(postgres[at].name()), "{way} {turn}: {text}");
            let listed = alice.at(client).call("svc/listDatabases", &json!({}));
            assert_eq!(listed["result"]["current"], names[at], "{way} {turn}");
        }
    }
    // A session that has ended cannot select a database, and gets an error.
    postgres[0].run("DELETE FROM ziggurat.sessions");
    assert_eq!(alice.post(SELECT, r#"{"name":"one"}"#).status, 401);
}

#[test]
fn failed_logins_at_all_replicas_are_added_up() {
    let postgres = Postgres::new();
    let fleet = Fleet::of(
        3,
        &postgres.url(),
        "rate_limit_max_attempts: 4",
        &described(),
    );
    for turn in 0..4 {
        let answer = fleet.clients[turn % 3].login("nobody", "wrong");
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    for client in &fleet.clients {
        let answer = client.login("alice", PASSWORD);
        assert_eq!(answer.status, 429, "{answer:?}");
        let wait = answer
            .header("retry-after")
            .and_then(|text| text.parse().ok());
        assert!(
            wait.is_some_and(|wait: u64| (1..=900).contains(&wait)),
            "{answer:?}"
        );
    }
    // The window ends for all replicas, and a login clears the failures for all.
    postgres.run("UPDATE ziggurat.failed_logins SET ends_at = clock_timestamp()");
    for round in 0..3 {
        for turn in 0..3 {
            let answer = fleet.clients[(round + turn) % 3].login("nobody", "wrong");
            assert_eq!(answer.status, 200, "{answer:?}");
        }
        fleet.clients[round].logged_in("alice", PASSWORD);
    }
}

#[test]
fn a_locked_account_is_locked_at_all_replicas_until_an_administrator_enables_it() {
    let postgres = Postgres::new();
    let auth = "max_failed_attempts_before_lockout: 3";
    let fleet = Fleet::of(3, &postgres.url(), auth, &described());
    let alice = fleet.clients[0].logged_in("alice", PASSWORD);
    for client in &fleet.clients {
        client.login("alice", "wrong");
    }
    for client in &fleet.clients {
        assert_eq!(data(&client.login("alice", PASSWORD)), DISABLED);
        client.logged_in("bob", PASSWORD);
        until("the session has ended", || {
            alice.at(client).get("/api/user/info").status == 401
        });
    }
    let listed = fleet.homes[1].ran(&["-list-users"], "").stdout;
    let line = |name: &str| {
        let found = listed.lines().find(|line| line.starts_with(name));
        found
            .unwrap_or_else(|| panic!("{name} in {listed}"))
            .to_owned()
    };
    assert!(line("alice").contains("DISABLED"), "{listed}");
    assert!(line("bob").contains("Enabled"), "{listed}");

    let enabled = fleet.homes[2].ran(&["-enable-user", "-username", "alice"], "");
    assert_eq!(enabled.code, Some(0), "{enabled:?}");
    for client in &fleet.clients {
        client.logged_in("alice", PASSWORD);
    }
}

#[test]
fn a_disabled_user_loses_all_sessions_at_all_replicas_for_good() {
    let postgres = Postgres::new();
    let fleet = Fleet::of(2, &postgres.url(), "", &described());
    let alice = fleet.clients[0].logged_in("alice", PASSWORD);
    let bob = fleet.clients[0].logged_in("bob", PASSWORD);
    assert_eq!(
        alice.at(&fleet.clients[1]).get("/api/user/info").status,
        200
    );
    for command in ["-disable-user", "-enable-user"] {
        let ran = fleet.homes[0].ran(&[command, "-username", "alice"], "");
        assert_eq!(ran.code, Some(0), "{ran:?}");
        for client in &fleet.clients {
            until("the session has ended", || {
                alice.at(client).get("/api/user/info").status == 401
            });
        }
    }
    assert_eq!(bob.at(&fleet.clients[1]).get("/api/user/info").status, 200);
}

/// Creates a proxy to PostgreSQL that can be cut, and the URL of the database behind it.
fn behind_proxy(postgres: &Postgres) -> (TcpProxy, String) {
    let url = postgres.url();
    let (_, place) = url.split_once('@').expect("a user");
    let authority = place.split('/').next().expect("a host");
    let proxy = TcpProxy::new([authority.to_owned()]);
    let behind_proxy = url.replace(authority, proxy.address());
    (proxy, behind_proxy)
}

#[test]
fn without_the_state_database_known_sessions_continue_and_no_request_hangs() {
    let postgres = Postgres::new();
    let (proxy, url) = behind_proxy(&postgres);
    let fleet = Fleet::of(2, &url, "", &described());
    let alice = fleet.clients[0].logged_in("alice", PASSWORD);
    select(&alice, "two");
    assert_eq!(current(&alice), "two");
    let elsewhere = alice.at(&fleet.clients[1]);

    proxy.disconnect();
    let begun = Instant::now();
    for _ in 0..20 {
        assert_eq!(current(&alice), "two");
    }
    let refused =
        json!({"success": false, "error": "Tokens cannot be checked now, try again later"});
    // The other replica does not know this session.
    for client in [&elsewhere, &alice.bearing("unknown")] {
        let answer = client.get("/api/databases");
        assert_eq!((answer.status, answer.json()), (503, refused.clone()));
    }
    let answer = fleet.clients[0].login("alice", PASSWORD);
    assert_eq!(answer.status, 503, "{answer:?}");
    assert!(answer.header("retry-after").is_some(), "{answer:?}");
    let words =
        "authentication failed: logins are unavailable at the moment, please try again later";
    assert_eq!(data(&answer), words);
    let answer = alice.post(SELECT, r#"{"name":"one"}"#);
    assert_eq!(answer.status, 503, "{answer:?}");
    assert_eq!(answer.json()["success"], false);
    let answer = alice.call("svc/selectDatabase", &json!({"name": "one"}));
    let refused = json!({"success": false,
        "error": "Databases cannot be selected now, try again later"});
    assert_eq!(answer["result"], refused);
    let answer = alice.get("/api/conversations");
    let failed = json!({"error": "Failed to list conversations"});
    assert_eq!((answer.status, answer.json()), (500, failed));
    assert_eq!(fleet.clients[0].get("/health").status, 200);
    assert!(begun.elapsed().as_secs() < 15, "{:?}", begun.elapsed());

    proxy.restore();
    until("the other replica knows the session", || {
        elsewhere.get("/api/databases").status == 200
    });
    select(&elsewhere, "three");
    assert_eq!(current(&alice), "three");
    fleet.clients[0].logged_in("alice", PASSWORD);
}

#[test]
fn a_replica_starts_without_the_state_database_and_connects_to_it_later() {
    let postgres = Postgres::new();
    let (proxy, url) = behind_proxy(&postgres);
    proxy.disconnect();
    let fleet = Fleet::of(1, &url, "", &described());
    assert_eq!(fleet.clients[0].login("alice", PASSWORD).status, 503);
    fleet.programs[0].wait_for("the state database is unreachable");
    proxy.restore();
    let alice = fleet.clients[0].logged_in("alice", PASSWORD);
    assert_eq!(current(&alice), "one");
    let password = url
        .split(':')
        .nth(2)
        .and_then(|rest| rest.split('@').next());
    let password = password.expect("it has one");
    assert!(!fleet.programs[0].log().contains(password));
}

/// User who calls the replicas, and records what they acknowledge.
struct Worker<'a> {
    address: &'a str,
    token: String,
    done: &'a AtomicUsize,
    kept: &'a Mutex<Vec<(String, String)>>,
}

impl Worker<'_> {
    /// Sends a request, and sends it again if its replica was killed.
    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        loop {
            match exchange(self.address, &self.token, (method, path), body) {
                Ok(answer) => return answer,
                Err(_) => thread::yield_now(),
            }
        }
    }

    fn turn(&self, text: &str, database: &str) {
        let choice = json!({"name": database}).to_string();
        let (status, answer) = self.ask("POST", SELECT, &choice);
        assert_eq!(status, 200, "{answer}");
        let (_, list) = self.ask("GET", "/api/databases", "");
        assert_eq!(list["current"], database, "{list}");

        let messages = json!([{"role": "user", "content": text}]);
        let body = json!({"messages": messages}).to_string();
        let (status, made) = self.ask("POST", "/api/conversations", &body);
        assert_eq!(status, 201, "{made}");
        let id = made["id"].as_str().expect("an id").to_owned();
        let (status, found) = self.ask("GET", &format!("/api/conversations/{id}"), "");
        assert_eq!((status, &found), (200, &made));
        self.kept.lock().expect("whole").push((id, text.to_owned()));
        self.done.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn three_replicas_behind_a_random_balancer_act_as_one_even_if_one_is_killed() {
    const TURNS: usize = 25;
    let postgres = Postgres::new();
    let fleet = Fleet::of(3, &postgres.url(), "", &described());
    let tcp_proxy = fleet.tcp_proxy();
    let (done, kept) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let workers: Vec<_> = ["alice", "bob", "cyd", "dee"]
        .into_iter()
        .map(|user| {
            let session = fleet.clients[0].logged_in(user, PASSWORD);
            Worker {
                address: tcp_proxy.address(),
                token: session.token().expect("logged in").to_owned(),
                done: &done,
                kept: &kept,
            }
        })
        .collect();
    thread::scope(|scope| {
        for (number, worker) in workers.iter().enumerate() {
            scope.spawn(move || {
                for turn in 0..TURNS {
                    let database = ["one", "two", "three"][(number + turn) % 3];
                    worker.turn(&format!("{number} {turn}"), database);
                }
            });
        }
        until("a third is done", || {
            done.load(Ordering::SeqCst) > TURNS * 4 / 3
        });
        fleet.programs[1].signal(Signal::KILL);
    });
    assert_eq!(done.load(Ordering::SeqCst), TURNS * 4);
    // No client had to log in again, and all acknowledged changes are stored.
    for (id, text) in kept.lock().expect("whole").iter() {
        let worker = &workers[text[..1].parse::<usize>().expect("a number")];
        let (status, found) = worker.ask("GET", &format!("/api/conversations/{id}"), "");
        assert_eq!(status, 200, "{found}");
        assert_eq!(found["messages"][0]["content"], *text, "{found}");
    }
    let logins = postgres.count("SELECT count(*) FROM ziggurat.sessions");
    assert_eq!(logins, 4);
}
