//! Tests of `-init`.

mod attacks;

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use serde_json::json;
use ziggurat_black_box::in_a_terminal;

use crate::support::{Home, OAuthClient, Postgres, Program, Ran, records};

/// Flags for standard input and output.
const STDIO: [&str; 4] = [
    "-init-writes=false",
    "-init-transport",
    "stdio",
    "-init-apply",
];

/// Runs the command with these flags, and one for the URL of the administrator.
fn init(home: &Home, postgres: &Postgres, flags: &[&str]) -> Ran {
    init_at(home, &postgres.url(), flags)
}

fn init_at(home: &Home, url: &str, flags: &[&str]) -> Ran {
    let file = home.file("admin-url");
    fs::write(&file, url).expect("written");
    let output = home
        .bare(&["-init", "-init-admin-url-file"])
        .arg(file)
        .arg("-init-dir")
        .arg(home.path())
        .args(flags)
        .output();
    Ran::from(output.expect("built"))
}

fn flags<'a>(role: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let usual = ["-init-role", role, "-init-schemas", "public"];
    [&usual, more].concat()
}

fn written(home: &Home) -> [PathBuf; 2] {
    [home.file("ziggurat-tools.yaml"), home.file("role.sql")]
}

#[test]
fn from_nothing_to_a_client_that_gets_answers() {
    let mut postgres = Postgres::with("CREATE TABLE things AS SELECT 7 AS id");
    let (home, role) = (Home::new(), postgres.future_role());
    let ran = init(&home, &postgres, &flags(&role, &STDIO));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("\"mcpServers\""), "{}", ran.stdout);
    assert!(!ran.stdout.contains(&postgres.password()), "{}", ran.stdout);
    for path in written(&home) {
        let about = fs::metadata(&path).expect("written");
        assert_eq!(about.permissions().mode() & 0o777, 0o600, "{path:?}");
        let text = fs::read_to_string(&path).expect("text");
        assert!(!text.contains(&postgres.password()), "{text}");
    }
    let [yaml, sql] = written(&home).map(|path| fs::read_to_string(path).expect("text"));
    let (_, rest) = yaml.split_once("password: \"").expect("a password");
    let (password, _) = rest.split_once('"').expect("its end");
    assert_eq!(password.len(), 32);
    assert!(
        sql.contains("'SCRAM-SHA-256$4096:") && !sql.contains(password),
        "{sql}"
    );
    // Again, as an administrator would.
    postgres.run(&sql);

    let mut command = home.bare(&["-negotiate", "-config"]);
    command.arg(home.file("ziggurat-tools.yaml"));
    let (_program, mut client) = Home::talking(&mut command);
    let (text, is_error) =
        client.tool("query_database", &json!({"query": "SELECT id FROM things"}));
    assert!(!is_error && text.contains('7'), "{text}");
    let (text, is_error) = client.tool(
        "query_database",
        &json!({"query": "CREATE TABLE t (id int)"}),
    );
    assert!(is_error, "{text}");
    let created = format!("SELECT count(*) FROM pg_tables WHERE tableowner = '{role}'");
    assert_eq!(postgres.count(&created), 0);
}

#[test]
fn over_http_the_first_token_is_made_and_works() {
    let mut postgres = Postgres::with("CREATE TABLE things AS SELECT 7 AS id");
    let (home, role) = (Home::new(), postgres.future_role());
    let http = [
        "-init-writes",
        "-init-transport",
        "http",
        "-init-auth",
        "tokens",
        "-init-apply",
    ];
    let ran = init(&home, &postgres, &flags(&role, &http));
    let token = ran
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("Token: "));
    let token = token.unwrap_or_else(|| panic!("a token in {ran:?}"));
    assert!(
        ran.stdout
            .contains("--header 'Authorization: Bearer <token>'"),
        "{}",
        ran.stdout
    );
    let config = home.file("ziggurat-tools.yaml");
    let mut command = home.bare(&["-addr", "127.0.0.1:0", "-config"]);
    let (_program, client) = Program::listening(command.arg(config));
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params":
        {"name": "query_database", "arguments": {"query": "INSERT INTO things VALUES (8)"}}});
    let answer = client.bearing(token).post("/mcp/v1", &call.to_string());
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(postgres.count("SELECT count(*) FROM things"), 2);
    assert_eq!(client.post("/mcp/v1", &call.to_string()).status, 401);
}

#[test]
fn with_sign_in_the_first_user_connects_a_client_with_a_browser() {
    let mut postgres = Postgres::with("CREATE TABLE things AS SELECT 7 AS id");
    let (home, role) = (Home::new(), postgres.future_role());
    let http = [
        "-init-writes=false",
        "-init-transport",
        "http",
        "-init-auth",
        "sign-in",
        "-init-apply",
    ];
    let ran = init(&home, &postgres, &flags(&role, &http));
    let shown = &ran.stdout;
    assert!(
        !shown.contains("<token>") && shown.contains("-add-user"),
        "{shown}"
    );
    let users = home.file("ziggurat-tools-users.yaml");
    let ann = records::user("ann", &[]);
    home.replace(&users, &records::users(&[ann]));
    let config = home.file("ziggurat-tools.yaml");
    let mut command = home.bare(&["-addr", "127.0.0.1:0", "-config"]);
    let (_program, client) = Program::listening(command.arg(config));
    let registered = OAuthClient::register(&client);
    let database = format!("database.{}", postgres.name());
    let tokens = registered.tokens("ann", records::PASSWORD, &[(&database, "1")]);
    let listed = client.bearing(&tokens.access).get("/api/databases");
    assert!(listed.body.contains(postgres.name()), "{listed:?}");
}

#[test]
fn without_a_terminal_missing_flags_are_named_and_files_are_not_replaced() {
    let mut postgres = Postgres::new();
    let (home, role) = (Home::new(), postgres.future_role());
    let ran = init(&home, &postgres, &["-init-transport", "http"]);
    assert_eq!(ran.code, Some(2));
    let missing = "-init-role, -init-schemas, -init-writes, -init-auth";
    assert!(ran.stderr.contains(missing), "{}", ran.stderr);
    fs::write(home.file("role.sql"), "mine").expect("written");
    let ran = init(&home, &postgres, &flags(&role, &STDIO));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("role.sql exists"), "{}", ran.stderr);
    assert_eq!(
        fs::read_to_string(home.file("role.sql")).expect("there"),
        "mine"
    );
    assert!(!home.file("ziggurat-tools.yaml").exists());
    let roles = format!("SELECT count(*) FROM pg_roles WHERE rolname = '{role}'");
    assert_eq!(postgres.count(&roles), 0, "nothing was applied");
    for wrong in [
        &["-init", "-init-transport", "smoke"][..],
        &["-init", "-init-auth", "badge"],
        &["-init", "-init-transport", "stdio", "-init-auth", "tokens"],
        &["-init-role", "reader"],
    ] {
        assert_eq!(home.ran(wrong, "").code, Some(2), "{wrong:?}");
    }
}

#[test]
fn on_a_terminal_the_questions_are_asked_and_the_url_is_not_shown() {
    let mut postgres = Postgres::with("CREATE TABLE things AS SELECT 7 AS id");
    let (home, role) = (Home::new(), postgres.future_role());
    let (url, named) = (format!("{}\n", postgres.url()), format!("{role}\n"));
    let program = env!("CARGO_BIN_EXE_ziggurat-tools");
    let line = format!("{program} -init -init-dir {}", home.path().display());
    let answers: [(&str, &[u8]); 6] = [
        ("Connection URL", url.as_bytes()),
        ("Role to connect as", named.as_bytes()),
        ("Schemas to read", b"\n"),
        ("change data?", b"\n"),
        ("Transport", b"\n"),
        ("Run role.sql", b"yes\n"),
    ];
    let Some(seen) = in_a_terminal(&line, [], &answers) else {
        return;
    };
    assert!(seen.contains("role.sql was applied."), "{seen}");
    assert!(seen.contains("ok  db.connect"), "{seen}");
    assert!(
        !seen.contains(&postgres.password()),
        "the echo is off: {seen}"
    );
}
