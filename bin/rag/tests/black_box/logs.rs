//! Content of the log.

use serde_json::Value;
use ziggurat_fake_providers::{Fake, Turn};

use crate::support::{Home, asking, library, nowhere, question, server};

const KEY: &str = "sk-ant-wq8JkLmN2pRs7TuV";

#[test]
fn every_request_is_one_line_without_query_and_body() {
    let home = Home::with(&format!(
        "{}pipelines:\n{}",
        server(""),
        nowhere("docs", "")
    ));
    let (program, client) = home.serve();
    client.get("/v1/live?secret=1");
    let line = program.wait_for("msg=request");
    for expected in [
        "level=INFO msg=request method=GET path=/v1/live status=200 duration=",
        " remote=127.0.0.1",
    ] {
        assert!(line.contains(expected), "{expected} in {line}");
    }
    client.post("/v1/pipelines/docs", &question("swordfish"));
    program.wait_for("path=/v1/pipelines/docs status=500");
    let log = program.log();
    assert_eq!(log.matches("msg=request").count(), 2, "{log}");
    assert!(
        !log.contains("secret=1") && !log.contains("swordfish"),
        "{log}"
    );
}

#[test]
fn either_variable_selects_json_lines() {
    let mut home = Home::with(&format!(
        "{}pipelines:\n{}",
        server(""),
        nowhere("docs", "")
    ));
    for [format, level] in [
        ["LOG_FORMAT", "LOG_LEVEL"],
        ["ZIGGURAT_LOG_FORMAT", "ZIGGURAT_LOG"],
    ] {
        home.set(format, "json");
        home.set(level, "warn");
        assert_json(&home);
        // The variables with a prefix take precedence.
        home.set("LOG_FORMAT", "text");
        home.set("LOG_LEVEL", "debug");
    }
}

fn assert_json(home: &Home) {
    let program = ziggurat_black_box::Program::start_on_stdout(&mut home.command(&[]));
    program.wait_for("failed to connect to database");
    let log = program.log();
    for line in log.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        assert!(
            matches!(line["level"].as_str(), Some("warn" | "error")),
            "{line}"
        );
        assert!(
            line["timestamp"].is_string() && line["message"].is_string(),
            "{line}"
        );
    }
}

#[test]
fn no_key_no_password_and_no_header_is_in_the_log_or_an_answer() {
    let (postgres, fake) = (library(), Fake::start());
    let more = "  llm_headers: {X-Team: team-header-5X7q9Z}\n";
    let entry = asking("docs", &postgres, &fake, more);
    let wrong = nowhere("wrong", "").replace(
        "username: nobody",
        "username: nobody, password: swordfish77",
    );
    let mut home = Home::with(&format!("{}pipelines:\n{entry}{wrong}", server("")));
    home.set("ANTHROPIC_API_KEY", KEY);
    home.set("LOG_LEVEL", "debug");
    let (program, client) = home.serve();
    for echo in [
        format!("invalid x-api-key: {KEY}"),
        format!(
            "invalid x-api-key: {}********{}",
            &KEY[..14],
            &KEY[KEY.len() - 4..]
        ),
        "who is team-header-5X7q9Z? password=swordfish77".to_owned(),
    ] {
        fake.next(Turn::refusal_with(401, &echo));
        let answer = client.post("/v1/pipelines/docs", &question("What do ferns like?"));
        assert_eq!(answer.status, 500);
        assert_eq!(
            answer.body,
            "{\"error\":{\"code\":\"EXECUTION_ERROR\",\"message\":\"the configured provider \
             rejected the server's credentials\"}}\n"
        );
    }
    program.wait_for("pipeline execution failed");
    program.wait_for("failed to connect to database");
    let log = program.log();
    for secret in [
        KEY,
        "wq8JkL",
        "s7TuV",
        "swordfish77",
        "team-header",
        "5X7q9Z",
    ] {
        assert!(!log.contains(secret), "{secret} in {log}");
    }
    assert!(log.contains("[redacted]"), "{log}");
}
