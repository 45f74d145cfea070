//! Tests of `-adopt`: configurations of other servers become ours.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use serde_json::{Value, json};

use crate::support::{Home, Postgres, Ran};

const SHOP: &str = include_str!("../../../../tests/adopt/shop.sql");

/// Makes a folder with an example, and with variables for the database of the test.
fn home(postgres: &Postgres, example: &str) -> Home {
    let mut home = Home::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/adopt");
    fs::copy(examples.join(example), home.file(example)).expect("an example");
    for (name, value) in postgres.environment() {
        home.set(&name.replace("PG", "SHOP_"), value);
    }
    home
}

fn adopt(home: &Home, words: &[&str]) -> Ran {
    let words = [&["-adopt"], words].concat();
    Ran::from(home.bare(&words).output().expect("built"))
}

/// Checks the new configuration as an operator would.
fn check(home: &Home) {
    let words = [
        "-check-config",
        "-connect",
        "-config",
        "ziggurat-tools.yaml",
    ];
    let ran = Ran::from(home.bare(&words).output().expect("built"));
    let expected = (Some(0), "the configuration is valid\n");
    assert_eq!((ran.code, &*ran.stdout), expected, "{}", ran.stderr);
}

/// Calls a tool of the configuration, and returns the rows of its answer.
fn rows(home: &Home, calls: &[(&str, Value)]) -> Vec<Value> {
    let (_program, mut client) = home.bare_stdio(&["-config", "ziggurat-tools.yaml"]);
    let answers = calls.iter().map(|(tool, arguments)| {
        let (text, is_error) = client.tool(tool, arguments);
        assert!(!is_error, "{tool}: {text}");
        let answer: Value = serde_json::from_str(&text).expect(&text);
        answer["rows"].clone()
    });
    answers.collect()
}

#[test]
fn tools_of_mcp_toolbox_answer_here_with_the_types_of_postgresql() {
    let postgres = Postgres::with(SHOP);
    let home = home(&postgres, "toolbox-maps.yaml");
    let ran = adopt(&home, &["toolbox-maps.yaml"]);
    // A table that a caller names has no equal.
    assert_eq!((ran.code, &*ran.stderr), (Some(3), ""), "{}", ran.stdout);
    for line in [
        "same  toolbox-maps.yaml:3  shop  database shop",
        "changed  toolbox-maps.yaml:15  orders-by-status  its name is orders_by_status here",
        "changed  toolbox-maps.yaml:29  order_by_reference  parameter reference: uuid, because it is \
         uuid in PostgreSQL",
        "missing  toolbox-maps.yaml:90  any_table  table: text never becomes SQL here",
        "same  toolbox-maps.yaml:114  summarize  prompt summarize",
    ] {
        assert!(
            ran.stdout.lines().any(|it| it == line),
            "{line}\n{}",
            ran.stdout
        );
    }
    check(&home);
    let since = json!({"since": "2026-01-31T00:00:00Z"});
    let some = json!({"since": "2026-01-31T00:00:00Z", "numbers": [1, 3], "least": 1.5,
        "shipped": "2026-02-01", "limit": 1});
    let reference = json!({"reference": "0199a5f0-0003-7000-8000-000000000003"});
    let like = json!({"attributes": {"colour": "red"}, "tags": ["gift"], "sort_by": "total"});
    let answers = rows(
        &home,
        &[
            ("orders_by_status", json!({"status": "open"})),
            ("order_by_reference", reference),
            ("orders_since", since),
            ("orders_since", some),
            ("orders_like", like),
            ("customer_by_code", json!({"code": "A7"})),
        ],
    );
    let expected = [
        json!([[3, "42.00", "open"], [2, "5.00", "open"]]),
        json!([[3, "0199a5f0-0003-7000-8000-000000000003", "42.00"]]),
        json!([
            [1, "$1", "2026-01-31T09:00:00Z"],
            [2, "$1", "2026-01-31T10:30:00Z"],
            [3, "$1", "2026-02-01T12:00:00Z"]
        ]),
        json!([[1, "$1", "2026-01-31T09:00:00Z"]]),
        json!([[1]]),
        json!([[7, "Ada"]]),
    ];
    assert_eq!(answers, expected);
    assert_eq!(
        postgres.count("SELECT count(*) FROM orders WHERE status = 'cancelled'"),
        0
    );
}

#[test]
fn documents_of_mcp_toolbox_and_sources_of_dbhub_answer_too() {
    let postgres = Postgres::with(SHOP);
    let documents = home(&postgres, "toolbox-documents.yaml");
    let ran = adopt(&documents, &["toolbox-documents.yaml"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    check(&documents);
    let of_customer = ("orders_of_customer", json!({"customer": 7}));
    assert_eq!(
        rows(&documents, &[of_customer]),
        [json!([[1, "19.90"], [2, "5.00"]])]
    );

    let dbhub = home(&postgres, "dbhub.toml");
    let ran = adopt(&dbhub, &["dbhub.toml"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    check(&dbhub);
    let between = [
        ("orders_between", json!({"least": 5})),
        ("orders_between", json!({"least": 5, "most": 20.5})),
    ];
    let expected = [
        json!([[1, "19.90"], [2, "5.00"], [3, "42.00"]]),
        json!([[1, "19.90"], [2, "5.00"]]),
    ];
    assert_eq!(rows(&dbhub, &between), expected);
    let writes = fs::read_to_string(dbhub.file("writes.yaml")).expect("written");
    assert!(
        writes.contains("DELETE FROM orders WHERE id = :id::integer"),
        "{writes}"
    );
    let configuration = fs::read_to_string(dbhub.file("ziggurat-tools.yaml")).expect("written");
    assert!(!configuration.contains("allow_writes"), "{configuration}");
    assert_eq!(postgres.count("SELECT count(*) FROM orders"), 3);
}

#[test]
fn services_and_sets_of_mcp_toolbox_make_a_valid_configuration() {
    let home = Home::new();
    let text = "sources: {pg: {kind: postgres, host: h, user: u}}
authServices: {google-auth: {kind: google, clientId: abc}}
tools:
  mine:
    kind: postgres-sql
    source: pg
    description: Mine
    authRequired: [google-auth]
    statement: SELECT $1
    parameters: [{name: me, type: string, description: M, authServices: [{name: google-auth, field: email}]}]
  locks: {kind: postgres-list-locks, source: pg, description: Locks}
  clear: {kind: postgres-sql, source: pg, description: Clear, statement: TRUNCATE t}
toolsets: {everything: [mine, locks], dba: [locks, clear]}
";
    fs::write(home.file("tools.yaml"), text).expect("written");
    let ran = adopt(&home, &["tools.yaml", "-adopt-offline"]);
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{}", ran.stdout);
    for line in [
        "changed  tools.yaml:4  mine  authRequired: in the toolset for_google_auth: fill in its callers",
        "changed  tools.yaml:13  everything  toolset everything_set without mine",
        "changed  tools.yaml:13  dba  toolset dba_set without clear",
    ] {
        assert!(
            ran.stdout.lines().any(|it| it == line),
            "{line}\n{}",
            ran.stdout
        );
    }
}

#[test]
fn without_a_connection_the_declared_types_count_and_each_tool_says_so() {
    let postgres = Postgres::with(SHOP);
    let mut home = home(&postgres, "toolbox-documents.yaml");
    let what = "orders_of_customer  the types are as declared; check with -check-config -connect\n";
    let ran = adopt(&home, &["toolbox-documents.yaml", "-adopt-offline"]);
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
    assert!(ran.stdout.contains(what), "{}", ran.stdout);
    fs::create_dir(home.file("away")).expect("made");
    home.set("SHOP_PORT", "1");
    home.set("SHOP_HOST", "127.0.0.1");
    let ran = adopt(&home, &["toolbox-documents.yaml", "-adopt-dir", "away"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.contains(what), "{}", ran.stdout);
    assert!(
        ran.stderr
            .contains("database 'shop' is not asked for types: "),
        "{}",
        ran.stderr
    );
}

#[test]
fn files_are_new_and_private_and_nothing_is_written_if_one_exists() {
    let postgres = Postgres::with(SHOP);
    let home = home(&postgres, "dbhub.toml");
    let words = ["dbhub.toml", "-adopt-offline"];
    fs::write(home.file("writes.yaml"), "mine").expect("written");
    let ran = adopt(&home, &words);
    assert_eq!((ran.code, &*ran.stdout), (Some(1), ""));
    assert_eq!(
        ran.stderr,
        "ERROR: ./writes.yaml exists: nothing was written\n"
    );
    assert!(!home.file("ziggurat-tools.yaml").exists() && !home.file("definitions.yaml").exists());
    fs::remove_file(home.file("writes.yaml")).expect("removed");
    assert_eq!(adopt(&home, &words).code, Some(0));
    for name in ["ziggurat-tools.yaml", "definitions.yaml", "writes.yaml"] {
        let mode = fs::metadata(home.file(name))
            .expect("written")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    assert_eq!(adopt(&home, &words).code, Some(1), "they exist now");
}

#[test]
fn exit_codes_tell_what_is_missing_unreadable_or_used_wrongly() {
    let home = Home::new();
    let write = |name: &str, text: &str| fs::write(home.file(name), text).expect("written");
    write("bad.yaml", "a: [swordfish\n");
    write("other.yaml", "a: 1\n");
    let url = r#"{"mcpServers": {"s": {"url": "https://mcp.supabase.com/mcp?project_ref=abc"}}}"#;
    write("supabase.json", url);
    for (words, code) in [
        (&["nothing.yaml"][..], 1),
        (&["bad.yaml"], 1),
        (&["other.yaml"], 1),
        (&["supabase.json"], 3),
        (&["supabase.json", "-adopt-as", "server"], 2),
        (&["supabase.json", "-adopt-dir", "nowhere"], 1),
        (&["supabase.json", "-check-config"], 2),
        (&["supabase.json", "-json", "-connect"], 2),
    ] {
        let ran = adopt(&home, words);
        assert_eq!(ran.code, Some(code), "{words:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("swordfish"), "{}", ran.stderr);
    }
    let ran = Ran::from(home.bare(&["-adopt-dir", "."]).output().expect("built"));
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    let ran = home.ran(&["-adopt", "-", "-json"], url);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let line = json!({"status": "missing", "file": "-", "line": 1, "name": "s",
        "what": "take the connection string of project abc"});
    assert_eq!(
        report,
        json!({"report": [line], "written": [], "entries": []})
    );
}

#[test]
fn no_secret_is_in_a_file_or_on_a_stream() {
    let postgres = Postgres::with(SHOP);
    for example in ["secrets.yaml", "secrets.toml", "secrets.json"] {
        for format in [&[][..], &["-json"]] {
            let mut home = home(&postgres, example);
            for name in ["DB_PASSWORD", "API_TOKEN", "MY_KEY_USER"] {
                home.set(name, "SECRET-00");
            }
            let ran = adopt(&home, &[&[example, "-adopt-offline"], format].concat());
            assert!(ran.stdout.len() > 500, "{example}: {}", ran.stderr);
            let mut texts = vec![("output", ran.stdout), ("errors", ran.stderr)];
            for name in ["ziggurat-tools.yaml", "definitions.yaml", "writes.yaml"] {
                texts.extend(
                    fs::read_to_string(home.file(name))
                        .ok()
                        .map(|it| (name, it)),
                );
            }
            assert!(texts.len() > 2, "{example}: a file was written");
            for (name, text) in texts {
                assert!(!text.contains("SECRET"), "{example}, {name}: {text}");
            }
        }
    }
}

#[test]
fn a_password_in_a_variable_and_a_bastion_become_keys_that_work() {
    let postgres = Postgres::with(SHOP);
    let mut home = Home::new();
    for (name, value) in postgres.environment() {
        home.set(&name.replace("PG", "SHOP_"), value);
    }
    let text = "
[[sources]]
id = \"shop\"
type = \"postgres\"
host = \"${SHOP_HOST}\"
port = \"${SHOP_PORT}\"
database = \"${SHOP_DATABASE}\"
user = \"${SHOP_USER}\"
password = \"${SHOP_PASSWORD}\"

[[tools]]
name = \"execute_sql\"
source = \"shop\"
";
    fs::write(home.file("dbhub.toml"), text).expect("written");
    let ran = adopt(&home, &["dbhub.toml"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let configuration = fs::read_to_string(home.file("ziggurat-tools.yaml")).expect("written");
    assert!(
        configuration.contains("password_env: SHOP_PASSWORD"),
        "{configuration}"
    );
    assert!(
        !configuration.contains(&postgres.password()),
        "{configuration}"
    );
    check(&home);

    let other = Home::new();
    let bastion = "
[[sources]]
id = \"far\"
type = \"postgres\"
host = \"db.internal\"
user = \"reader\"
database = \"shop\"
ssh_host = \"bastion.example\"
ssh_user = \"tunnel\"
ssh_key = \"/etc/ssh/tunnel\"
";
    fs::write(other.file("dbhub.toml"), bastion).expect("written");
    let ran = adopt(&other, &["dbhub.toml", "-adopt-offline"]);
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{}", ran.stdout);
    let configuration = fs::read_to_string(other.file("ziggurat-tools.yaml")).expect("written");
    assert!(configuration.contains("connect_command"), "{configuration}");
}

#[test]
fn the_entry_that_replaces_server_postgres_starts_a_server_that_answers_the_same() {
    let postgres = Postgres::with("CREATE TABLE things AS SELECT 7 AS id");
    let mut home = Home::new();
    let entry = json!({"mcpServers": {"shop": {"command": "npx", "args":
        ["-y", "@modelcontextprotocol/server-postgres", postgres.url()]}}});
    fs::write(home.file("claude.json"), entry.to_string()).expect("written");
    let ran = adopt(&home, &["claude.json"]);
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{}", ran.stdout);
    assert!(!ran.stdout.contains(&postgres.password()), "{}", ran.stdout);
    let start = ran.stdout.find("{\n").expect("an entry");
    let entry: Value = serde_json::from_str(&ran.stdout[start..]).expect("JSON");
    let entry = &entry["mcpServers"]["shop"];
    let words = entry["args"].as_array().expect("arguments");
    let words: Vec<_> = words.iter().filter_map(Value::as_str).collect();
    assert_eq!(entry["env"]["PGPASSWORD"], "<password>");
    home.set("PGPASSWORD", postgres.password());
    let (_program, mut client) = home.bare_stdio(&words);
    let (text, is_error) = client.tool("query", &json!({"sql": "SELECT id FROM things"}));
    assert!(!is_error, "{text}");
    assert_eq!(text, "[\n  {\n    \"id\": 7\n  }\n]");
}
