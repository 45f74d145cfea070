//! The same service on either store, and two services on one store.

use serde_json::json;
use ziggurat_black_box::Postgres;

use crate::support::{Home, Session, exchange};

fn with_postgres(postgres: &Postgres) -> Home {
    let mut home = Home::new();
    home.set("ZIGGURAT_PLATFORM_STATE_URL", postgres.url());
    home
}

fn uses_all_of_it(home: &Home) {
    let (_program, session, made) = home.started();
    let body = json!({"name": "ci", "description": "CI runner"});
    let ci = session.send("POST", "/clients", Some(&body));
    assert_eq!(ci.status, 200, "{ci:?}");
    let ci = ci.json();
    let path = format!("/clients/{}", ci["id"].as_str().expect("an id"));
    let changed = session.send("PATCH", &path, Some(&json!({"name": "cd"})));
    assert_eq!(changed.json()["name"], "cd");
    let other = Session::of(&session.client, &ci["auth0_id"], &ci["auth0_secret"]);
    assert_eq!(
        other.get("/clients").json().as_array().map(Vec::len),
        Some(2)
    );
    assert_eq!(session.send("DELETE", &path, None).status, 204);
    assert_eq!(other.get("/clients").status, 401);
    let wrong = exchange(&session.client, &ci["auth0_id"], &ci["auth0_secret"]);
    assert_eq!(
        wrong.body,
        r#"{"code":401,"message":"invalid client credentials"}"#
    );
    let gone = session
        .client
        .get("/.well-known/revoked-clients.json")
        .json();
    assert_eq!(gone["revoked"][0]["client"], ci["id"]);
    let tenant = format!("/tenants/{}", made["tenant_id"].as_str().expect("an id"));
    let renamed = session.send("PATCH", &tenant, Some(&json!({"name": "Acme"})));
    assert_eq!(renamed.json()["name"], "Acme");
}

#[test]
fn accounts_are_stored_in_a_file() {
    uses_all_of_it(&Home::new());
}

#[test]
fn accounts_are_stored_in_a_database() {
    let postgres = Postgres::new();
    let home = with_postgres(&postgres);
    uses_all_of_it(&home);
    assert!(!home.file("data/platform.db").exists());
    let kept = "SELECT count(*) FROM ziggurat.platform_clients";
    assert_eq!(postgres.count(kept), 1);
    let secrets = "SELECT count(*) FROM ziggurat.platform_clients WHERE length(secret_hash) = 64";
    assert_eq!(postgres.count(secrets), 1, "a digest");
}

#[test]
fn the_database_is_reached_by_a_service_and_by_programs() {
    let postgres = Postgres::new();
    let [(_, host), (_, port), (_, name), (_, user), (_, password)] = postgres.environment();
    let mut home = Home::new();
    let service = format!("[state]\nhost={host}\nport={port}\ndbname={name}\nuser={user}\n");
    home.replace(&home.file("services"), &service);
    home.replace(&home.file("secret"), &password);
    let services = home.file("services").display().to_string();
    home.set("PGSERVICEFILE", services);
    home.set("ACCOUNTS", &*password);
    let secret = home.file("secret").display().to_string();
    home.configure(&format!(
        "state: {{service: state, password_command: [cat, {secret}], password_lifetime: 1m}}\n"
    ));
    uses_all_of_it(&home);
    let kept = "SELECT count(*) FROM ziggurat.platform_clients";
    assert_eq!(postgres.count(kept), 1);
    home.configure(&format!(
        "state: {{url: 'postgres://{user}@{host}:{port}/{name}', password_env: ACCOUNTS}}\n"
    ));
    assert_eq!(home.ran(&["tenant", "list"]).code, Some(0));
    for (key, expected) in [
        ("password_env: NONE", "the variable NONE is not set"),
        (
            "connect_command: [/bin/sh, -c, 'exit 7']",
            "connect_command of 'state' did not connect: exit status 7",
        ),
    ] {
        home.configure(&format!("state: {{service: state, {key}}}\n"));
        let ran = home.ran(&["tenant", "list"]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains(expected), "{ran:?}");
    }
}

#[test]
fn a_change_at_one_of_two_services_holds_at_the_other() {
    let postgres = Postgres::new();
    let home = with_postgres(&postgres);
    let url = "https://accounts.example";
    let home = home.with_flags(&["-public-url", url]);
    let made = home.done(&["init"]);
    let ((_one, one), (_two, two)) = (home.serve(), home.serve());
    let session = Session::of(&one, &made["client_id"], &made["client_secret"]);
    let elsewhere = two.bearing(&session.token);
    assert_eq!(elsewhere.get("/account/v1/clients").status, 200, "one key");
    let path = format!(
        "/clients/{}",
        made["client_record_id"].as_str().expect("an id")
    );
    assert_eq!(session.send("DELETE", &path, None).status, 204);
    assert_eq!(elsewhere.get("/account/v1/clients").status, 401, "at once");
}

#[test]
fn the_server_starts_without_its_database() {
    let mut home = Home::new();
    home.set(
        "ZIGGURAT_PLATFORM_STATE_URL",
        "postgres://nobody:swordfish@127.0.0.1:1/none",
    );
    let (program, client) = home.serve();
    assert!(
        program
            .log()
            .contains("WARN the store is unreachable; the server keeps trying")
    );
    let answer = exchange(&client, &json!("a"), &json!("b"));
    assert_eq!(answer.status, 500, "{answer:?}");
    assert_eq!(
        answer.body,
        r#"{"code":500,"message":"internal server error"}"#
    );
    program.wait_for("ERROR");
    assert!(!program.log().contains("swordfish"));
    let ran = home.ran(&["tenant", "list"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(1), ""));
    assert!(!ran.stderr.contains("swordfish"), "{}", ran.stderr);
}
