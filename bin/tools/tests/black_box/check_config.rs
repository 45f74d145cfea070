//! Tests of `-check-config` with `-connect` and `-as`.

use std::fs;

use rustix::process::Signal;
use serde_json::json;

use crate::support::{Client, Home, Postgres, records, records::PASSWORD};

const DEFINITIONS: &str = "
tools:
- {name: good, description: D, database: main, statement: SELECT id FROM people}
- {name: bad, description: D, database: main, statement: SELECT idd FROM people}
- {name: of_user, description: D, statement: 'SELECT :who', parameters: [{name: who, type: string, from: user}]}
- {name: away, description: D, database: far, statement: SELECT 1}
prompts:
- {name: analyze, messages: [{role: user, content: {type: text, text: T}}]}
resources:
- {uri: custom://limits, name: L, type: static, data: 1}
";

const TOOLSETS: &str = r#"
toolsets:
- name: analyst
  tools: [query_database, "o*", good]
  prompts: [analyze]
  resources: ["custom://*", "pg://main/*"]
  rest: [databases, llm]
  for: {users: [alice], scopes: [shop.read]}
- {name: keeper, tools: [count_rows], for: {tokens: [token-1]}}
limits:
  callers: [{for: {users: [alice]}, calls: 120 per minute, rows_per_day: 1000}]
http:
  auth:
    issuer: {url: "https://id.example", public_url: "https://shop.example", scopes: [mcp], databases: [main]}
"#;

/// A home with a database that is away, and all kinds of callers.
fn home(postgres: &Postgres, toolsets: &str) -> Home {
    let home = Home::new();
    fs::write(home.file("own.yaml"), DEFINITIONS).expect("written");
    let tokens = [
        records::token(1, "one", &["database: far"]),
        records::token(2, "two", &["expires_at: \"2026-01-02T00:00:00Z\""]),
    ];
    home.replace(&home.tokens(), &records::tokens(&tokens));
    let users = [
        records::user("alice", &[]),
        records::user("locked", &["enabled: false"]),
    ];
    home.replace(&home.users(), &records::users(&users));
    let far = "  - {name: far, host: 127.0.0.1, port: 1, user: reader, password: x}\n";
    home.configure(&format!(
        "databases:\n{}{far}custom_definitions_path: own.yaml\n{toolsets}",
        postgres.entry("main")
    ));
    home
}

#[test]
fn databases_check_the_statements_and_bad_ones_are_problems() {
    let postgres = Postgres::with("CREATE TABLE people AS SELECT 1 AS id");
    let home = home(&postgres, TOOLSETS.split("http:").next().expect("a part"));
    let ran = home.ran(&["-check-config"], "");
    assert_eq!(
        (ran.code, &*ran.stdout),
        (Some(0), "the configuration is valid\n"),
        "without a connection"
    );
    let ran = home.ran(&["-check-config", "-connect"], "");
    assert_eq!(ran.code, Some(1));
    let (problem, unchecked) = (ran.stdout.lines(), ran.stderr.lines());
    let problems: Vec<_> = problem.collect();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].starts_with("database 'far': "), "{problems:?}");
    assert!(
        problems[1].starts_with("own.yaml:4: tool 'bad' cannot run: ")
            && problems[1].contains("column \"idd\" does not exist"),
        "{problems:?}"
    );
    let unchecked: Vec<_> = unchecked.collect();
    assert_eq!(unchecked.len(), 2, "{unchecked:?}");
    let nowhere = "warning: own.yaml:5: tool 'of_user' is unchecked: it names no database";
    assert_eq!(unchecked[0], nowhere);
    let away = "warning: own.yaml:6: tool 'away' is unchecked: ";
    assert!(unchecked[1].starts_with(away), "{unchecked:?}");

    let there = DEFINITIONS.replace("idd", "id").replace("far", "main");
    fs::write(home.file("own.yaml"), there).expect("written");
    home.configure(&format!(
        "databases:\n{}custom_definitions_path: own.yaml\n",
        postgres.entry("main")
    ));
    let ran = home.ran(&["-check-config", "-connect"], "");
    assert_eq!(
        (ran.code, &*ran.stdout),
        (Some(0), "the configuration is valid\n"),
        "{}",
        ran.stderr
    );
}

/// Returns the lines of a check that finds problems.
fn problems(home: &Home, flags: &[&str]) -> Vec<String> {
    let ran = home.ran(&[&["-check-config"], flags].concat(), "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    ran.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn every_connection_is_tried_and_each_failure_has_its_cause() {
    let postgres = Postgres::new();
    let home = Home::new();
    let nowhere = "http://127.0.0.1:1";
    let refused = "{name: refused, host: 127.0.0.1, port: 1, user: reader, password: x}";
    let [(_, host), (_, port), ..] = postgres.environment();
    let unknown = format!("{{name: unknown, host: '{host}', port: {port}, user: no_such_role}}");
    home.configure(&format!(
        "databases:\n{}  - {refused}\n  - {unknown}\n\
         http: {{auth: {{issuer: {{url: '{nowhere}', public_url: 'https://a.example'}}}}}}\n\
         state: {{url: 'postgres://reader:swordfish@127.0.0.1:1/state'}}\n\
         embedding: {{enabled: true, provider: ollama, ollama_url: '{nowhere}'}}\n\
         knowledgebase: {{enabled: true, database_path: kb.db, embedding_ollama_url: '{nowhere}'}}\n\
         llm: {{enabled: true, provider: openai, openai_api_key: x, openai_base_url: '{nowhere}'}}\n",
        postgres.entry("main"),
    ));
    assert_eq!(
        home.ran(&["-check-config"], "").code,
        Some(0),
        "connects to nothing"
    );
    let found = problems(&home, &["-connect"]);
    let places: Vec<_> = found
        .iter()
        .filter_map(|line| Some(line.split_once(": ")?.0))
        .collect();
    let expected = [
        "database 'refused'",
        "database 'unknown'",
        "state.url",
        "http.auth.issuer",
        "embedding",
        "knowledgebase",
        "llm",
    ];
    assert_eq!(places, expected, "{found:?}");
    for (line, cause) in [(0, "refuse"), (1, "PostgreSQL refuses the"), (2, "refuse")] {
        assert!(found[line].contains(cause), "{found:?}");
    }
    assert!(!found.concat().contains("swordfish"), "{found:?}");
}

#[test]
fn all_problems_are_printed_and_those_of_files_name_the_file() {
    let home = Home::new();
    fs::write(home.file("own.yaml"), "resources: [{name: Limits}]").expect("written");
    home.configure(
        "databases: [{name: far, host: 127.0.0.1, port: 1, user: reader, password: x}]\n\
         http: {enabled: true, tls: {enabled: true, cert_file: c.pem, key_file: k.pem}}\n\
         audit: {file: no/folder/audit.jsonl}\ncustom_definitions_path: own.yaml\n",
    );
    let found = problems(&home, &["-connect"]);
    let has = |part: &str| {
        let lines = found.iter().filter(|line| line.contains(part));
        assert_eq!(lines.count(), 1, "{part}: {found:?}");
    };
    has("Certificate file not found: c.pem");
    has("Key file not found: k.pem");
    has("Token file not found: ");
    let folder = home.file("no/folder");
    has(&format!(
        "audit.file: the folder {} does not exist",
        folder.display()
    ));
    let file = home.file("own.yaml");
    has(&format!(
        "Failed to load custom definitions: {}: validation failed: resource 0: uri is required",
        file.display()
    ));
    has("database 'far': ");
    fs::write(home.file("own.yaml"), "prompts: [").expect("written");
    let found = problems(&home, &[]);
    let expected = format!("Failed to load custom definitions: {}: ", file.display());
    let lines = found.iter().filter(|line| line.starts_with(&expected));
    assert_eq!(lines.count(), 1, "{found:?}");
}

#[test]
fn what_a_caller_would_see_is_one_list() {
    let postgres = Postgres::with("CREATE TABLE people AS SELECT 1 AS id");
    let home = home(&postgres, TOOLSETS);
    let view = |caller: &str| {
        let ran = home.ran(&["-check-config", "-as", caller], "");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran.stdout
    };
    assert_eq!(
        view("user:alice"),
        "user:alice
databases:
  main
  far
tools:
  good
  of_user
  query_database
prompts:
  analyze
resources:
  custom://limits
resource templates:
  pg://{database}/{schema}/{table}
  pg://{database}/{schema}/{table}/{column}
rest:
  databases
  llm
limits:
  calls: 120 per minute
  rows_per_day: 1000
the configuration is valid
"
    );
    let nothing = "prompts: none\nresources: none\nresource templates: none\nrest: none\n\
                   limits: none\nthe configuration is valid\n";
    assert_eq!(
        view("token:token-1"),
        format!("token:token-1\ndatabases:\n  far\ntools:\n  count_rows\n{nothing}")
    );
    assert_eq!(
        view("local"),
        format!("local\ndatabases:\n  main\n  far\ntools: none\n{nothing}")
    );
    let client = view("client:bot,mcp,shop.read");
    assert!(client.starts_with("client:bot,mcp,shop.read\ndatabases:\n  main\ntools:\n  good\n"));
    assert!(!client.contains("of_user"), "{client}");
    let client = view("client:bot,mcp");
    assert!(client.contains("\ntools: none\n"), "{client}");
}

#[test]
fn the_view_has_the_tools_that_the_server_lists() {
    let postgres = Postgres::with("CREATE TABLE people AS SELECT 1 AS id");
    let home = home(&postgres, TOOLSETS);
    let (_program, anonymous) = home.serve(&[]);
    let callers: [(&str, Client); 2] = [
        ("user:alice", anonymous.logged_in("alice", PASSWORD)),
        ("token:token-1", anonymous.bearing("one")),
    ];
    for (name, client) in callers {
        let answer = client.call("tools/list", &json!({}));
        let tools = answer["result"]["tools"].as_array().expect("a list").iter();
        let tools = tools.map(|tool| tool["name"].as_str().expect("a name"));
        // The endpoint of earlier revisions does not list `count_rows`.
        let mut tools: Vec<_> = tools
            .chain((name != "user:alice").then_some("count_rows"))
            .collect();
        tools.dedup();
        let view = home.ran(&["-check-config", "-as", name], "").stdout;
        let section = view.split("tools:\n").nth(1).expect("tools");
        let section: Vec<_> = section
            .lines()
            .map_while(|line| line.strip_prefix("  "))
            .collect();
        assert_eq!(section, tools, "{name}");
    }
}

/// Tools that need claims; no client has the name of a user, and `other` is in no toolset.
const CLAIMED: &str = "
tools:
- {name: of_tenant, description: D, statement: 'SELECT :a, :b', parameters: [
    {name: a, type: string, from: {claim: tenant}}, {name: b, type: string, from: {claim: realm.unit}}]}
- {name: of_user, description: D, statement: 'SELECT :a, :b', parameters: [
    {name: a, type: string, from: user}, {name: b, type: string, from: {claim: floor}}]}
- {name: other, description: D, statement: 'SELECT :a', parameters: [
    {name: a, type: string, from: {claim: tenant}}]}
";

#[test]
fn clients_are_shown_which_tools_need_claims_and_claims_that_are_not_kept_are_warnings() {
    let postgres = Postgres::new();
    let rest = |claims: &str| {
        format!(
            "toolsets: [{{name: a, tools: ['of_*'], for: {{scopes: [shop.read], users: [alice]}}}}]\n\
             identity: {{claims: {claims}}}\nhttp: {{auth: {{issuer: {{url: 'https://id.example', \
             public_url: 'https://shop.example'}}}}}}\n"
        )
    };
    let home = home(&postgres, &rest("[tenant]"));
    fs::write(home.file("own.yaml"), CLAIMED).expect("written");
    let warning = "own.yaml:3: tool 'of_tenant' needs the claim 'realm.unit', which \
                   identity.claims does not keep of the tokens of http.auth.issuer";
    let ran = home.ran(&["-check-config", "-as", "client:bot,shop.read"], "");
    assert_eq!(ran.code, Some(0));
    assert_eq!(ran.stderr, format!("warning: {warning}\n"));
    let end = "limits: none\nalso, if its token has these claims:\n  of_tenant: tenant, realm.unit\n\
               the configuration is valid\n";
    assert!(ran.stdout.ends_with(end), "{}", ran.stdout);
    assert!(ran.stdout.contains("\ntools: none\n"), "{}", ran.stdout);
    for caller in ["client:bot", "user:alice"] {
        let ran = home.ran(&["-check-config", "-as", caller], "");
        assert!(
            ran.stdout
                .ends_with("limits: none\nthe configuration is valid\n")
        );
    }

    let (program, _) = home.serve(&[]);
    program.wait_for(warning);
    home.configure(&format!(
        "databases:\n{}custom_definitions_path: own.yaml\n{}",
        postgres.entry("main"),
        rest("[realm.unit]")
    ));
    let missing = "tool 'of_tenant' needs the claim 'tenant'";
    program.until_it_says(missing, || program.signal(Signal::HUP));
}

#[test]
fn a_caller_that_cannot_come_in_is_an_error() {
    let postgres = Postgres::new();
    let home = home(&postgres, TOOLSETS);
    for (caller, problem) in [
        ("token:token-9", "no API token has the id token-9"),
        ("token:token-2", "the API token has expired"),
        ("user:bob", "no user is named bob"),
        ("user:locked", "the account is locked"),
        ("client:bot", "its tokens need the scope mcp"),
    ] {
        let ran = home.ran(&["-check-config", "-as", caller], "");
        let expected = format!("-as {caller}: {problem}\n");
        assert_eq!((ran.code, ran.stdout), (Some(1), expected));
    }
    let ran = home.ran(&["-check-config", "-as", "user:alice", "-no-auth"], "");
    let expected = "-as user:alice: authentication is off, so every caller is local\n";
    assert_eq!((ran.code, &*ran.stdout), (Some(1), expected));
    let without = TOOLSETS.split("http:").next().expect("a part");
    let home = self::home(&postgres, without);
    let ran = home.ran(&["-check-config", "-as", "client:bot"], "");
    let expected = "-as client:bot: there is no http.auth.issuer\n";
    assert_eq!((ran.code, &*ran.stdout), (Some(1), expected));

    let ran = home.ran(&["-check-config", "-as", "alice"], "");
    assert_eq!(ran.code, Some(2));
    let expected = "Error: invalid value 'alice' for '-as <caller>': expected token:ID, user:NAME, \
                    client:ID[,scope…] or local\n";
    assert!(ran.stderr.starts_with(expected), "{}", ran.stderr);
    for (flag, commands) in [
        ("-connect", "-check-config"),
        ("-as=local", "-check-config or -verify-receipt or -prove"),
    ] {
        let ran = home.ran(&[flag], "");
        let name = flag.split('=').next().expect("a name");
        let expected = format!("Error: {name} goes with {commands}\n");
        assert!(ran.stderr.starts_with(&expected), "{}", ran.stderr);
    }
}
