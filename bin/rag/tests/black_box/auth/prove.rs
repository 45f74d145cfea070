//! The questions of `ziggurat-tools -prove`, over standard streams.

use std::{io::Write as _, process::Stdio};

use serde_json::{Value, json};
use ziggurat_black_box::{Postgres, Ran, output_of};

use crate::support::{Home, database, described, library, server};

/// Two owners of documents.
const OWNERS: &str = "
    ALTER TABLE documents ADD COLUMN owner text;
    UPDATE documents SET owner = id;
    ALTER TABLE documents ENABLE ROW LEVEL SECURITY;
    CREATE POLICY own ON documents USING (owner = current_setting('app.owner', true));
    GRANT SELECT ON documents TO PUBLIC;
    REVOKE EXECUTE ON FUNCTION pg_catalog.set_config(text, text, boolean) FROM PUBLIC;";

/// Makes a configuration for a role that reads documents by a claim of the asker.
fn home(postgres: &mut Postgres) -> Home {
    let login = postgres.role();
    postgres.run(OWNERS);
    let models = "  embedding_llm: {provider: local}\n  rag_llm: {provider: ollama, model: m, \
                  base_url: 'http://127.0.0.1:1'}\n  min_score: 2\n";
    let [(_, host), (_, port), (_, name), ..] = postgres.environment();
    let by_claim = format!(
        "{{host: '{host}', port: {port}, database: {name}, username: {login}, password: {login}, \
         identity: {{settings: [{{name: app.owner, from: {{claim: owner}}}}]}}}}"
    );
    let bare = "{host: '127.0.0.1', port: 1, database: none, username: nobody}";
    let home = Home::new();
    home.write("tokens.yaml", "tokens: []\n");
    home.configure(&format!(
        "{}pipelines:\n{}{}{}",
        server("  auth: {token_file: tokens.yaml}\n"),
        described("own", &by_claim, models),
        described("all", &database(postgres), models),
        described("elsewhere", bare, models),
    ));
    home
}

/// Runs the command with these lines.
fn asked(home: &Home, lines: &[Value]) -> Ran {
    let mut command = home.bare(&["prove-questions", "-config"]);
    command.arg(home.file("ziggurat-rag.yaml"));
    let mut child = command.stdin(Stdio::piped()).spawn().expect("built");
    let mut stdin = child.stdin.take().expect("piped");
    for line in lines {
        // The program may end without reading all of them.
        writeln!(stdin, "{line}").ok();
    }
    drop(stdin);
    Ran::from(output_of(child))
}

fn place(postgres: &Postgres) -> Value {
    let [(_, host), (_, port), (_, name), ..] = postgres.environment();
    let port: u16 = port.parse().expect("a number");
    json!({"hosts": [[host, port]], "name": name})
}

#[test]
fn each_question_is_answered_for_its_caller_with_the_passages_of_its_rows() {
    let mut postgres = library();
    let home = home(&mut postgres);
    let caller = |owner: &str| json!({"kind": "token", "name": "t", "scopes": [], "claims": {"owner": owner}});
    let ask = |caller, pipeline| json!({"caller": caller, "pipeline": pipeline, "query": "What do ferns like?"});
    let ran = asked(
        &home,
        &[
            json!({"database": place(&postgres), "copy": null}),
            ask(caller("doc-0"), "own"),
            ask(caller("doc-1"), "own"),
            ask(caller("doc-1"), "all"),
            ask(Value::Null, "all"),
            ask(caller("doc-1"), "elsewhere"),
        ],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect();
    let tables = json!([["documents", "content"]]);
    assert_eq!(
        lines[0]["pipelines"],
        json!([{"name": "own", "tables": tables}, {"name": "all", "tables": tables}])
    );
    let has = |line: &Value, text: &str| line.as_str().expect("text").contains(text);
    assert!(
        has(&lines[1], "Ferns like shade") && !has(&lines[1], "Wool"),
        "{ran:?}"
    );
    assert!(
        has(&lines[2], "Wool is washed") && !has(&lines[2], "Ferns"),
        "{ran:?}"
    );
    assert!(
        has(&lines[3], "Ferns like shade") && has(&lines[3], "Wool"),
        "{ran:?}"
    );
    for line in &lines[4..] {
        assert!(has(line, "PIPELINE_NOT_FOUND"), "{ran:?}");
    }
}

#[test]
fn questions_go_to_the_copy_with_the_same_role() {
    let mut postgres = library();
    let home = home(&mut postgres);
    let copy = library();
    copy.run(&format!(
        "{OWNERS} UPDATE documents SET content = 'Copied: ' || content"
    ));
    let caller =
        json!({"kind": "client", "name": "c", "scopes": ["x"], "claims": {"owner": "doc-0"}});
    let lines = [
        json!({"database": place(&postgres), "copy": place(&copy)}),
        json!({"caller": caller, "pipeline": "own", "query": "What do ferns like?"}),
    ];
    let ran = asked(&home, &lines);
    assert!(ran.stdout.contains("Copied: Ferns like shade"), "{ran:?}");
}

#[test]
fn a_configuration_without_a_pipeline_of_the_database_is_refused() {
    let mut postgres = library();
    let home = home(&mut postgres);
    let other = json!({"hosts": [["127.0.0.1", 5432]], "name": "another"});
    let ran = asked(&home, &[json!({"database": other, "copy": null})]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(
        ran.stderr,
        "no pipeline reads the database another, 127.0.0.1:5432\n"
    );
    home.configure("pipelines: []\n");
    assert_eq!(asked(&home, &[]).code, Some(1));
}
