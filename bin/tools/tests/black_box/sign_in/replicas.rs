//! A sign-in over replicas with one `state.url`, and at a server that is killed.

use std::{fs, thread};

use rustix::process::Signal;
use serde_json::json;

use super::ALL;
use crate::support::{
    Browser, Client, Home, OAuthClient, Postgres, Program, granted, records, records::PASSWORD,
    until,
};

/// The address that clients know all replicas by.
const PUBLIC: &str = "http://localhost:4443";

/// Replicas with one state database and the same keys.
struct Fleet {
    _postgres: Postgres,
    homes: Vec<Home>,
    running: Vec<(Program, Client)>,
}

impl Fleet {
    fn new(number: usize) -> Self {
        let postgres = Postgres::new();
        let homes: Vec<_> = (0..number).map(|_| home(&postgres)).collect();
        let mut fleet = Self {
            _postgres: postgres,
            homes,
            running: Vec::new(),
        };
        let first = serve(&fleet.homes[0]);
        let keys = "data/signing-keys.json";
        for home in &fleet.homes[1..] {
            fs::create_dir_all(home.file("data")).expect("a folder");
            fs::copy(fleet.homes[0].file(keys), home.file(keys)).expect("copied");
        }
        fleet.running.push(first);
        fleet.running.extend(fleet.homes[1..].iter().map(serve));
        fleet
    }

    fn client(&self, number: usize) -> &Client {
        &self.running[number].1
    }

    /// Kills a replica and starts it again.
    fn replace(&mut self, number: usize) {
        self.running[number].0.signal(Signal::KILL);
        self.running[number] = serve(&self.homes[number]);
    }
}

fn home(postgres: &Postgres) -> Home {
    let mut home = Home::new();
    let shop = postgres.entry("shop");
    home.configure(&format!("databases:\n{shop}    allow_writes: true\n"));
    let users = ["ann", "bob"].map(|name| records::user(name, &[]));
    home.replace(&home.users(), &records::users(&users));
    home.set("ZIGGURAT_STATE_URL", postgres.url());
    home
}

fn serve(home: &Home) -> (Program, Client) {
    home.serve(&["-oauth", "-public-url", PUBLIC])
}

fn info(client: &Client, token: &str) -> u16 {
    client.bearing(token).get("/api/user/info").status
}

#[test]
fn a_sign_in_goes_on_at_another_replica_after_each_step() {
    let mut fleet = Fleet::new(3);
    let registered = OAuthClient::register(fleet.client(0));
    fleet.replace(0);
    let browser = Browser::new(fleet.client(1));
    let page = browser.open(&registered.request("mcp"));
    fleet.replace(1);
    let browser = browser.at(fleet.client(2));
    let form = [("name", "ann"), ("password", PASSWORD)];
    let page = browser.submit(&page, "/oauth/login", &form);
    fleet.replace(2);
    let browser = browser.at(fleet.client(0));
    let code = registered.allow(&browser, &page, &[("database.shop", "1")]);
    fleet.replace(0);
    let first = granted(&registered.at(fleet.client(1)).exchange(&code));
    fleet.replace(1);
    assert_eq!(info(fleet.client(2), &first.access), 200);
    let second = granted(&registered.at(fleet.client(2)).refresh(&first.refresh));
    let retried = granted(&registered.at(fleet.client(0)).refresh(&first.refresh));
    assert_eq!(
        second.refresh, retried.refresh,
        "a retry has the same successor"
    );
    // The code again, elsewhere: the grant ends at all replicas.
    let again = registered.at(fleet.client(0)).exchange(&code);
    assert_eq!(
        (again.status, &again.json()["error"]),
        (400, &json!("invalid_grant"))
    );
    for number in 0..3 {
        until("the replica follows", || {
            info(fleet.client(number), &second.access) == 401
        });
    }
}

#[test]
fn many_clients_are_signed_in_and_revoked_while_replicas_are_killed() {
    let mut fleet = Fleet::new(2);
    let registered = OAuthClient::register(fleet.client(0));
    let kept: Vec<_> = (0..4)
        .map(|number| {
            let client = registered.at(fleet.client(number % 2));
            client.tokens("bob", PASSWORD, &[("database.shop", "1")])
        })
        .collect();
    let mut revoked = Vec::new();
    for round in 0..3 {
        let made = thread::scope(|scope| {
            let signing = (0..4).map(|number| {
                let client = registered.at(fleet.client(number % 2));
                scope.spawn(move || client.tokens("ann", PASSWORD, ALL))
            });
            let signing: Vec<_> = signing.collect();
            let made = signing
                .into_iter()
                .map(|one| one.join().expect("signed in"));
            made.collect::<Vec<_>>()
        });
        fleet.replace(round % 2);
        for tokens in made {
            let other = registered.at(fleet.client((round + 1) % 2));
            let next = granted(&other.refresh(&tokens.refresh));
            assert_eq!(other.revoke(&next.refresh).status, 200);
            revoked.push(next.access);
        }
    }
    for number in 0..2 {
        for token in &revoked {
            until("a revoked token is refused", || {
                info(fleet.client(number), token) == 401
            });
        }
        for tokens in &kept {
            assert_eq!(
                info(fleet.client(number), &tokens.access),
                200,
                "of another person"
            );
        }
    }
    for tokens in &kept {
        granted(&registered.at(fleet.client(0)).refresh(&tokens.refresh));
    }
}
