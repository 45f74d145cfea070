//! Tests that secrets are in no log, at any level, and in no answer.

use rustix::process::Signal;
use serde_json::json;

use crate::support::{Home, Postgres, records, records::PASSWORD};

#[test]
fn no_log_at_any_level_has_a_secret_in_it() {
    let postgres = Postgres::new();
    let mut home = Home::new();
    for name in ["MCP", "DB", "LLM"] {
        let level = if name == "MCP" { "debug" } else { "trace" };
        home.set(&format!("ZIGGURAT_{name}_LOG_LEVEL"), level);
    }
    home.set("RUST_LOG", "trace");
    home.configure(&format!("databases:\n{}", postgres.entry("main")));
    home.user("alice", "swordfish of alice");
    let token = home.token("main");
    let (mut program, client) = home.serve(&["-debug"]);

    let stranger = client.bearing("guessed token of a stranger");
    assert_eq!(stranger.post("/mcp/v1", "{}").status, 401);
    client.login("alice", "mistyped swordfish");
    client.login("nobody", "swordfish of nobody");
    client.post("/mcp/v1", "{\"params\": \"broken swordfish\"");
    let answer = client.login("alice", "swordfish of alice");
    let body = answer.json();
    let text = body["result"]["content"][0]["text"].as_str().expect("text");
    let session: serde_json::Value = serde_json::from_str(text).expect("JSON");
    let session = session["session_token"]
        .as_str()
        .expect("a token")
        .to_owned();
    for client in [client.bearing(&token), client.bearing(&session)] {
        client.query("SELECT 'value nobody logs' AS v");
        for query in ["SELECT no_such_column", "INSERT INTO t VALUES (1)"] {
            client.tool("query_database", &json!({"query": query}));
        }
        client.call("resources/read", &json!({"uri": "pg://system_info"}));
        client.call("tools/list", &json!({}));
    }
    // The errors of failed connections could repeat the URL.
    let url = format!("{}x", postgres.url());
    let query = format!("SELECT 1 at {url}");
    client
        .bearing(&token)
        .tool("query_database", &json!({"query": query}));
    program.signal(Signal::HUP);
    program.wait_for("configuration reloaded");
    program.signal(Signal::TERM);
    assert!(program.ended().success());

    let log = program.log();
    let entry = postgres.entry("main");
    let password = entry
        .lines()
        .find_map(|line| line.trim().strip_prefix("password: "));
    let password = password.expect("it has one").trim_matches('"');
    assert!(password.len() > 5, "a password worth looking for");
    for secret in [&*token, &session, "swordfish", password, "guessed token"] {
        assert!(!log.contains(secret), "{secret} in {log}");
    }
    assert!(!log.contains("value nobody logs"), "{log}");
}

#[test]
fn no_answer_has_the_password_of_the_database_in_it() {
    let postgres = Postgres::new();
    let home = Home::new();
    let entry = postgres
        .entry("main")
        .replace(postgres.name(), "no_such_database");
    home.configure(&format!("databases:\n{entry}"));
    let password = entry
        .lines()
        .find_map(|line| line.trim().strip_prefix("password: "));
    let password = password.expect("it has one").trim_matches('"').to_owned();
    for flags in [&["-no-auth"][..], &["-no-auth", "-debug"]] {
        let (program, client) = home.serve(flags);
        let (text, is_error) = client.tool("query_database", &json!({"query": "SELECT 1"}));
        assert!(is_error, "{text}");
        assert!(!text.contains(&password), "{text}");
        let answer = client.call("resources/read", &json!({"uri": "pg://system_info"}));
        assert!(!answer.to_string().contains(&password), "{answer}");
        assert!(!program.log().contains(&password), "{}", program.log());
    }
}

#[test]
fn a_mistyped_command_line_does_not_repeat_passwords() {
    let home = Home::new();
    for words in [
        &["-db-password", "swordfish", "-unknown"][..],
        &["-add-user", "-password", "swordfish", "-username"],
        &["-password", "swordfish"],
        &["-db-password=swordfish", "-db-port", "many"],
    ] {
        let ran = home.ran(words, "");
        assert_ne!(ran.code, Some(0), "{words:?}");
        assert!(!format!("{ran:?}").contains("swordfish"), "{ran:?}");
    }
    home.replace(&home.users(), &format!("users: {{a: {PASSWORD}}}\n"));
    home.replace(&home.tokens(), &records::tokens(&[]));
    let ran = home.ran(&["-http"], "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(!ran.stderr.contains(PASSWORD), "{ran:?}");
}
