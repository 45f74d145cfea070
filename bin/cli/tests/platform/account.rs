//! Tests of clients and tenants, from creation to deletion.

use crate::support::{Machine, Platform};

#[test]
fn a_client_is_made_used_changed_and_deleted() {
    let platform = Platform::of("clients");
    let machine = platform.machine();
    let create = "platform client create --name ci --description runner";
    let before = machine.json("platform client list");
    let tried = machine.done(&format!("{create} --dry-run"));
    assert!(tried.contains("POST"), "{tried}");
    assert_eq!(
        machine.json("platform client list"),
        before,
        "nothing was made"
    );

    let created = machine.run(create);
    assert_eq!(created.exit, 0, "{}", created.stderr);
    let secret = created.stdout.trim_end();
    assert!(secret.len() >= 40, "a secret and nothing else");
    // Both may have been created within the same second, so their order is not defined.
    let clients = machine.json("platform client list");
    let mut clients = clients.as_array().expect("a list").iter();
    let client = clients.find(|client| client["name"] == "ci");
    let client = client.expect("it was made");
    let id = client["id"].as_str().expect("an id");
    let credential = client["credential_id"].as_str().expect("a credential id");
    assert!(created.stderr.contains(id), "{}", created.stderr);
    assert!(!created.stderr.contains(secret), "{}", created.stderr);

    // The new credential works from the environment, and its token is not cached.
    let other = platform.machine_with(credential, secret);
    let shown = other.json(&format!("platform client get {id}"));
    assert_eq!(shown["name"], "ci");
    assert!(!other.home().join(".ziggurat").exists());

    let renamed = machine.json(&format!("platform client update {id} --name ci-2"));
    assert_eq!(renamed["name"], "ci-2");
    assert_eq!(renamed["description"], "runner");
    let table = machine.done(&format!("platform client get {id}"));
    assert!(table.starts_with("ID "), "{table}");
    assert!(table.contains(" ci-2 "), "{table}");

    let asked = machine.run(&format!("platform client delete {id}"));
    assert_eq!(asked.exit, 2, "nobody is there to say yes");
    let gone = machine.run(&format!("platform client delete {id} --force"));
    assert_eq!((gone.exit, gone.stdout.as_str()), (0, ""));
    assert_eq!(gone.stderr, format!("API client {id} deleted.\n"));
    let missing = machine.run(&format!("platform client get {id}"));
    assert_eq!((missing.exit, missing.stdout.as_str()), (4, ""));
    assert!(
        missing
            .stderr
            .starts_with("Error: resource not found (404): "),
        "{}",
        missing.stderr
    );
    let refused = other.run("platform client list");
    assert_eq!(refused.exit, 5, "{}", refused.stderr);
}

#[test]
fn a_reader_may_look_and_an_admin_may_make_it_one_of_them() {
    let platform = Platform::of("roles");
    let machine = platform.machine();
    let create = "platform client create --name ci --description runner";
    let made = machine.json(create);
    assert_eq!(made["role"], "reader");
    let text = |name: &str| made[name].as_str().expect("a text");
    let other = platform.machine_with(text("credential_id"), text("credential_secret"));
    let roles = "platform client list --jq .[].role";
    let mut listed: Vec<_> = other.done(roles).lines().map(str::to_owned).collect();
    listed.sort();
    assert_eq!(listed, ["admin", "reader"]);
    let refused = other.run("platform client create --name more --description -");
    assert_eq!((refused.exit, refused.stdout.as_str()), (5, ""));
    assert!(
        refused
            .stderr
            .starts_with("Error: authentication error (403): "),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("the role admin"),
        "{}",
        refused.stderr
    );
    let changed = machine.json("platform client update ci --role admin");
    assert_eq!(
        (&changed["id"], &changed["role"]),
        (&made["id"], &"admin".into())
    );
    other.done("platform client create --name more --description - --role admin");
    let made = platform.administer(&["client", "create", "-name", "late", "-role", "admin"]);
    assert_eq!(made["role"], "admin");
}

#[test]
fn a_tenant_is_shown_and_renamed() {
    let platform = Platform::of("tenants");
    let machine = platform.machine();
    let id = platform.made("tenant_id");
    assert_eq!(machine.json("platform tenant list")[0]["id"], id);
    let renamed = machine.json(&format!("platform tenant update {id} --name Acme"));
    assert_eq!(renamed["name"], "Acme");
    let name = machine.done(&format!("platform tenant get {id} --jq .name"));
    assert_eq!(name, "Acme\n");
    let nil = "00000000-0000-4000-8000-000000000000";
    assert_eq!(machine.run(&format!("platform tenant get {nil}")).exit, 4);
}

#[test]
fn a_wrong_secret_is_refused_and_nothing_is_kept() {
    let platform = Platform::of("wrong-secret");
    let machine = Machine::new();
    let refused = machine.run(&format!("{} -o json", platform.login("wrong")));
    assert_eq!((refused.exit, refused.stdout.as_str()), (5, ""));
    let error: serde_json::Value = serde_json::from_str(&refused.stderr).expect("JSON");
    assert_eq!(error["error"]["code"], "auth");
    assert_eq!(error["error"]["exit_code"], 5);
    assert!(!machine.home().join(".ziggurat").exists());
}

#[test]
fn the_platform_sees_the_signed_in_client_until_the_logout() {
    let platform = Platform::of("signing-in");
    let machine = platform.machine();
    let seen = machine.json("platform auth whoami");
    assert_eq!(seen["credential_id"], platform.made("client_id"));
    assert_eq!(seen["tenant_id"], platform.made("tenant_id"));
    let status = machine.json("platform auth status");
    assert_eq!(status["token_valid"], true);
    assert_eq!(machine.run("platform doctor --strict").exit, 0);
    assert_eq!(machine.run("platform auth logout").exit, 0);
    assert_eq!(machine.run("platform tenant list").exit, 5);
}

#[test]
fn the_service_explains_why_it_refuses_a_name() {
    let platform = Platform::of("names");
    let machine = platform.machine();
    let name = "x".repeat(256);
    let line = format!("platform client create --name {name} --description d");
    let refused = machine.run(&line);
    assert_eq!((refused.exit, refused.stdout.as_str()), (1, ""));
    assert!(
        refused.stderr.starts_with("Error: API error (400): "),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("name"), "{}", refused.stderr);
}
