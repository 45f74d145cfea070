//! Tests of `-doctor` and `-healthcheck`.

use std::{
    fs::{self, Permissions},
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
};

use serde_json::Value;
use ziggurat_runtime::listen::HeldPort;

use crate::support::{Home, Postgres, Program, records};

/// A home with a database and an HTTP server on a free port, all as it should be.
fn well(postgres: &mut Postgres) -> (Home, String) {
    let role = postgres.role();
    let database = postgres.name();
    postgres.run(&format!(
        "CREATE TABLE things AS SELECT 1 AS id;
         GRANT SELECT ON things TO \"{role}\";
         REVOKE TEMPORARY ON DATABASE \"{database}\" FROM PUBLIC;
         REVOKE CREATE ON SCHEMA public FROM PUBLIC;
         ALTER ROLE \"{role}\" SET temp_file_limit = '1GB'"
    ));
    let home = Home::new();
    let entry = postgres.entry_as("main", &role);
    let yaml = format!("databases:\n{entry}http: {{enabled: true, address: '127.0.0.1:0'}}\n");
    home.configure(&yaml);
    close(&home, "ziggurat-tools.yaml");
    home.replace(
        &home.tokens(),
        &records::tokens(&[records::token(1, "one", &[])]),
    );
    (home, yaml)
}

fn close(home: &Home, name: &str) {
    let path = home.file(name);
    fs::set_permissions(path, Permissions::from_mode(0o600)).expect("set");
}

/// Returns the exit code, and each finding that is not well.
pub(crate) fn found(home: &Home, flags: &[&str]) -> (Option<i32>, Vec<Value>) {
    let ran = home.ran(&[&["-doctor", "-json"], flags].concat(), "");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    let checks = report["checks"].as_array().expect("checks");
    // The server of the tests is as new as its package.
    let is_bad = |it: &&Value| it["status"] != "ok" && it["id"] != "db.version";
    (ran.code, checks.iter().filter(is_bad).cloned().collect())
}

/// Returns the ids of the findings that are not well.
fn ids(home: &Home) -> Vec<String> {
    let (_, findings) = found(home, &[]);
    let id = |it: &Value| {
        assert!(it["fix"].is_string(), "{it}");
        it["id"].as_str().expect("an id").to_owned()
    };
    findings.iter().map(id).collect()
}

#[test]
fn a_good_installation_has_nothing_to_mend_and_nothing_is_changed() {
    let mut postgres = Postgres::new();
    let (home, _) = well(&mut postgres);
    let state = "SELECT count(*) FROM pg_class";
    let before = postgres.count(state);
    let (code, findings) = found(&home, &[]);
    assert_eq!((code, findings), (Some(0), Vec::new()));
    assert_eq!(postgres.count(state), before);
    let ran = home.ran(&["-doctor"], "");
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert!(lines[0].starts_with("ok  config.read  read "), "{lines:?}");
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("ok  db.connect  database 'main': "))
    );
    assert!(!ran.stdout.contains(&postgres.password()), "no secret");
}

#[test]
fn mistakes_in_the_files_are_found_until_they_are_mended() {
    let mut postgres = Postgres::new();
    let (home, yaml) = well(&mut postgres);
    let mended = || {
        home.configure(&yaml);
        close(&home, "ziggurat-tools.yaml");
        assert_eq!(ids(&home), [""; 0]);
    };
    let other = TcpListener::bind("127.0.0.1:0").expect("bound");
    let taken = other.local_addr().expect("bound").to_string();
    for (broken, id) in [
        (yaml.replace("http:", "htp:"), "config.keys"),
        (yaml.replace("enabled: true", "enabled: maybe"), "config.read"),
        (format!("{yaml}custom_definitions_path: gone.yaml\n"), "config.read"),
        (format!("{yaml}audit: {{file: /no/such/folder/a.jsonl}}\n"), "config.read"),
        ("databases: [".to_owned(), "config.read"),
        (yaml.replace("127.0.0.1:0", &taken), "listen.address"),
        (yaml.replace("127.0.0.1:0'", "0.0.0.0:0'"), "listen.open"),
        (
            yaml.replace("127.0.0.1:0'", "127.0.0.1:0', tls: {enabled: true, cert_file: no.pem}"),
            "listen.tls",
        ),
        (format!("{yaml}state: {{url: 'postgres://a:b@127.0.0.1:1/s'}}\n"), "state"),
        (
            format!("{yaml}embedding: {{enabled: true, provider: ollama, ollama_url: 'http://127.0.0.1:1'}}\n"),
            "providers",
        ),
        (
            format!("{yaml}knowledgebase: {{enabled: true, database_path: no.db, embedding_provider: local}}\n"),
            "knowledgebase",
        ),
        (
            yaml.replace("127.0.0.1:0'", "127.0.0.1:0', auth: {issuer: {url: 'http://127.0.0.1:1', public_url: 'https://a.example'}}"),
            "auth.issuer",
        ),
    ] {
        home.configure(&broken);
        close(&home, "ziggurat-tools.yaml");
        let found = ids(&home);
        assert!(found.iter().any(|found| found == id), "{id}: {found:?} of {broken}");
        mended();
    }
}

#[test]
fn modes_tokens_and_users_that_are_wrong_are_found_until_they_are_mended() {
    let mut postgres = Postgres::new();
    let (home, _) = well(&mut postgres);
    let path = home.file("ziggurat-tools.yaml");
    fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("set");
    let (code, findings) = found(&home, &[]);
    assert_eq!(
        (code, findings[0]["id"].as_str()),
        (Some(1), Some("config.modes"))
    );
    close(&home, "ziggurat-tools.yaml");
    let good = fs::read_to_string(home.tokens()).expect("there");
    let expired = records::token(2, "two", &["expires_at: \"2026-01-02T00:00:00Z\""]);
    home.replace(&home.tokens(), &records::tokens(&[expired]));
    let (code, findings) = found(&home, &[]);
    assert_eq!(
        (code, findings[0]["id"].as_str()),
        (Some(0), Some("auth.tokens"))
    );
    assert_eq!(found(&home, &["-strict"]).0, Some(1));
    let fix = findings[0]["fix"].as_str().expect("a fix");
    let words: Vec<_> = fix.split(' ').skip(1).collect();
    assert_eq!(home.ran(&words, "").code, Some(0), "{fix}");
    assert_eq!(ids(&home), [""; 0]);
    fs::remove_file(home.tokens()).expect("removed");
    assert_eq!(ids(&home), ["auth.tokens"]);
    home.replace(&home.tokens(), &good);
    let user = records::user("ann", &[]);
    let without = user
        .lines()
        .map(|line| match line.split_once("password_hash:") {
            Some((lead, _)) => format!("{lead}password_hash: \"\""),
            None => line.to_owned(),
        });
    let without = without.collect::<Vec<_>>().join("\n") + "\n";
    home.replace(&home.users(), &records::users(&[without]));
    assert_eq!(ids(&home), ["auth.users"]);
    home.replace(&home.users(), &records::users(&[user]));
    assert_eq!(ids(&home), [""; 0]);
}

#[test]
fn a_superuser_is_a_failure() {
    let postgres = Postgres::new();
    let home = Home::with(&postgres);
    let (code, findings) = found(&home, &[]);
    assert_eq!(code, Some(1));
    let role = findings
        .iter()
        .find(|it| it["id"] == "db.role")
        .expect("found");
    assert_eq!(
        (&role["status"], &role["database"]),
        (&"fail".into(), &"main".into())
    );
}

#[test]
fn a_running_server_has_its_address_and_answers_about_its_health() {
    let mut postgres = Postgres::new();
    let (home, yaml) = well(&mut postgres);
    let held = HeldPort::new().expect("a port");
    let address = format!("127.0.0.1:{}", held.number());
    home.configure(&yaml.replace("127.0.0.1:0", &address));
    close(&home, "ziggurat-tools.yaml");
    let asked = home.ran(&["-healthcheck"], "");
    assert_eq!(asked.code, Some(1));
    assert_eq!(asked.stderr.lines().count(), 1, "{}", asked.stderr);
    let (server, _) = Program::listening(&mut home.command(&[]));
    assert_eq!(home.ran(&["-healthcheck"], "").code, Some(0));
    assert_eq!(home.ran(&["-healthcheck=ready"], "").code, Some(0));
    assert_eq!(ids(&home), [""; 0], "its own server has the address");
    drop(server);
    let over_streams = Home::with(&postgres).ran(&["-healthcheck"], "");
    assert_eq!(over_streams.code, Some(1));
    assert_eq!(over_streams.stderr, "ERROR: HTTP is not enabled\n");
}

#[test]
fn a_sign_in_that_clients_do_not_find_is_found_until_it_is_mended() {
    let mut postgres = Postgres::new();
    let (home, yaml) = well(&mut postgres);
    let users = records::users(&[records::user("ann", &[])]);
    home.replace(&home.users(), &users);
    let configure = |address: &str, more: &str| {
        let oauth = format!("{address}', {more}auth: {{oauth: {{enabled: true}}}}");
        home.configure(&yaml.replace("127.0.0.1:0'", &oauth));
        close(&home, "ziggurat-tools.yaml");
    };
    configure("127.0.0.1:0", "");
    let (server, client) = Program::listening(&mut home.command(&[]));
    let (address, port) = (client.address(), client.address().rsplit_once(':'));
    let port = port.expect("a port").1;
    configure(address, "");
    assert_eq!(ids(&home), [""; 0], "clients find it");
    for (url, problem) in [
        // The server says that it is localhost.
        (
            format!("http://127.0.0.1:{port}"),
            "has the issuer \"http://localhost:",
        ),
        (
            "http://localhost:1".to_owned(),
            "oauth-authorization-server: ",
        ),
    ] {
        configure(address, &format!("public_url: '{url}', "));
        let (code, findings) = found(&home, &[]);
        assert_eq!((code, findings.len()), (Some(1), 1), "{findings:?}");
        assert_eq!(findings[0]["id"], "auth.oauth");
        let finding = findings[0]["finding"].as_str().expect("a sentence");
        assert!(finding.contains(problem), "{finding}");
    }
    configure(address, "");
    let keys = home.file("data/signing-keys.json");
    let good = fs::read_to_string(&keys).expect("the server made it");
    fs::write(&keys, "{}").expect("written");
    assert_eq!(ids(&home), ["auth.oauth"], "the keys");
    fs::write(&keys, good).expect("written");
    fs::set_permissions(&keys, Permissions::from_mode(0o644)).expect("set");
    assert_eq!(ids(&home), ["config.modes"]);
    close(&home, "data/signing-keys.json");
    drop(server);
    assert_eq!(ids(&home), [""; 0], "it needs no running server");
    home.replace(&home.users(), &records::users(&[]));
    let (code, findings) = found(&home, &[]);
    assert_eq!((code, &findings[0]["id"]), (Some(0), &"auth.oauth".into()));
    assert_eq!(
        findings[0]["finding"],
        "there is no account that could sign in"
    );
}

#[test]
fn a_provider_out_of_reach_is_found() {
    let mut postgres = Postgres::new();
    let (home, yaml) = well(&mut postgres);
    fs::write(home.file("secret"), "s").expect("written");
    close(&home, "secret");
    let secret = home.file("secret");
    let oauth = format!(
        "127.0.0.1:0', auth: {{oauth: {{enabled: true, upstreams: [{{name: corp, title: Corp, \
         issuer: 'https://127.0.0.1:1', client_id: a, client_secret_file: '{}', \
         map: [{{when: {{groups: a}}, then: {{groups: [a]}}}}]}}]}}}}",
        secret.display()
    );
    home.configure(&yaml.replace("127.0.0.1:0'", &oauth));
    close(&home, "ziggurat-tools.yaml");
    let (code, findings) = found(&home, &[]);
    assert_eq!((code, findings.len()), (Some(1), 1), "{findings:?}");
    assert_eq!(findings[0]["id"], "auth.oauth");
    let finding = findings[0]["finding"].as_str().expect("a sentence");
    assert!(finding.starts_with("https://127.0.0.1:1: "), "{finding}");
}

#[test]
fn row_security_and_masks_without_a_weakness_are_well() {
    let mut postgres = Postgres::new();
    let (home, yaml) = well(&mut postgres);
    let all = |home: &Home| {
        let ran = home.ran(&["-doctor"], "");
        let lines = ran.stdout.lines().map(str::to_owned);
        lines
            .filter(|it| it.contains("  db.policies  ") || it.contains("  db.masks  "))
            .collect()
    };
    let none: Vec<String> = all(&home);
    assert_eq!(none, [""; 0], "nothing is configured");
    let identity = "    identity: {settings: [{name: app.user, from: user}]}\n";
    let masks = "masking: {databases: {main: [{column: public.things.id, mask: null}]}}\n";
    let with = yaml.replace("http:", &format!("{identity}{masks}http:"));
    home.configure(&with);
    close(&home, "ziggurat-tools.yaml");
    let lines: Vec<String> = all(&home);
    assert_eq!(
        lines,
        [
            "ok  db.policies  database 'main': no way around row security was found",
            "ok  db.masks  database 'main': no way around the masks was found"
        ]
    );
    home.configure(&with.replace("things.id", "things.gone"));
    close(&home, "ziggurat-tools.yaml");
    let (code, findings) = found(&home, &[]);
    assert_eq!((code, findings.len()), (Some(0), 1), "{findings:?}");
    assert_eq!(findings[0]["id"], "db.masks");
    assert_eq!(
        findings[0]["finding"],
        "masking: public.things.gone does not exist"
    );
}

#[test]
fn flags_of_the_checks_go_with_them_only() {
    let home = Home::new();
    for wrong in [
        &["-json"][..],
        &["-strict"],
        &["-timeout", "5s"],
        &["-doctor", "-timeout", "soon"],
        &["-doctor", "-timeout", "0s"],
        &["-doctor", "-check-config"],
        &["-healthcheck=soon"],
    ] {
        assert_eq!(home.ran(wrong, "").code, Some(2), "{wrong:?}");
    }
}
