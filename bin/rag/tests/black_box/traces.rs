//! Tests of the spans of questions and of comments in their statements.

use rustix::process::Signal;
use serde_json::{Value, json};
use ziggurat_black_box::{Client, Collector, Postgres, Program, spans_of};
use ziggurat_fake_providers::{Fake, Turn};

use crate::support::{Home, asking, library, server};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

const QUESTION: &str = "What do ferns like?";

/// Starts a server with the provider as its model.
fn started(postgres: &Postgres, fake: &Fake, telemetry: &str) -> (Home, Program, Client) {
    let list = asking("docs", postgres, fake, "  allow_include_sources: true\n");
    let mut home = Home::with(&format!(
        "{}telemetry: {{{telemetry}}}\npipelines:\n{list}",
        server("")
    ));
    home.set("ANTHROPIC_API_KEY", "sk-ant-wq8JkLmN2pRs7TuV");
    home.set("LOG_FORMAT", "json");
    let program = Program::start_on_stdout(&mut home.command(&[]));
    let line = program.wait_for("starting server");
    let line: Value = serde_json::from_str(&line).expect("JSON");
    let address = line["address"].as_str().expect("an address").to_owned();
    (home, program, Client::new(address))
}

/// Asks a question, and returns the response.
fn ask(client: &Client, is_streamed: bool) -> String {
    let header = format!("traceparent: 00-{TRACE}-00f067aa0ba902b7-01\r\n");
    let question = json!({"query": QUESTION, "include_sources": true, "stream": is_streamed});
    let path = "/v1/pipelines/docs";
    let answer = client.send("POST", path, &header, &question.to_string());
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

/// Returns the spans below another one with a name.
fn below<'a>(spans: &'a [Value], parent: &Value, name: &str) -> Vec<&'a Value> {
    let is_it = |span: &&Value| span["parentSpanId"] == parent["spanId"] && span["name"] == name;
    spans.iter().filter(is_it).collect()
}

#[test]
fn a_question_has_spans_of_its_statements_and_its_model() {
    for is_streamed in [false, true] {
        let (postgres, fake, collector) = (library(), Fake::start(), Collector::start());
        let url = &collector.url;
        let telemetry = format!("otlp: {{url: '{url}', ratio: 1}}, propagate_to_providers: true");
        let (_home, mut program, client) = started(&postgres, &fake, &telemetry);
        fake.next(Turn::text("Shade."));
        ask(&client, is_streamed);
        let line = program.wait_for("\"/v1/pipelines/docs\"");
        program.signal(Signal::TERM);
        assert!(program.ended().success());

        let spans = spans_of(&collector.exports());
        let mut questions = spans.iter();
        let is_question = |span: &&Value| span["name"] == "POST /v1/pipelines/{name}";
        let question = questions.find(is_question).expect("a question");
        let statements = below(&spans, question, postgres.name());
        // By vector and by keyword.
        assert!(statements.len() >= 2, "{spans:?}");
        for statement in statements {
            let attributes = statement["attributes"].to_string();
            assert!(attributes.contains("postgresql"), "{attributes}");
            assert!(attributes.contains("db.query.summary"), "{attributes}");
        }
        let models = below(&spans, question, "provider anthropic");
        let [model] = &models[..] else {
            panic!("{spans:?}");
        };
        let own = model["spanId"].as_str().expect("an id");
        let sent = fake.request();
        let parent = format!("00-{TRACE}-{own}-01");
        assert_eq!(sent.header("traceparent"), Some(&*parent));
        assert!(!json!(spans).to_string().contains("ferns"), "{spans:?}");
        let line: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(line["trace_id"], TRACE, "{line}");
        assert!(line["request_id"].is_string(), "{line}");
    }
}

#[test]
fn a_trace_of_a_client_ends_in_the_comments_of_statements() {
    let postgres = library();
    // Each document is the message that PostgreSQL runs.
    postgres.run(
        "ALTER TABLE documents RENAME TO stored;
         CREATE VIEW documents AS
             SELECT id, current_query() || content AS content, embedding FROM stored",
    );
    for (kind, is_named) in [("off", false), ("call", true), ("trace", true)] {
        let (fake, collector) = (Fake::start(), Collector::start());
        let url = &collector.url;
        let telemetry = format!("otlp: {{url: '{url}', ratio: 1}}, sql_comment: {kind}");
        let (_home, mut program, client) = started(&postgres, &fake, &telemetry);
        fake.next(Turn::text("Shade."));
        let answer = ask(&client, false);
        program.signal(Signal::TERM);
        assert!(program.ended().success());
        let comment = "/*caller='local',pipeline='docs',request='";
        assert_eq!(answer.contains(comment), is_named, "{kind}: {answer}");
        let spans = spans_of(&collector.exports());
        let mut statements = spans.iter().filter(|span| span["name"] == postgres.name());
        let is_traced = statements.any(|statement| {
            let own = statement["spanId"].as_str().expect("an id");
            answer.contains(&format!("',traceparent='00-{TRACE}-{own}-01'*/"))
        });
        assert_eq!(is_traced, kind == "trace", "{kind}: {answer}");
        assert_eq!(fake.request().header("traceparent"), None);
    }
}
