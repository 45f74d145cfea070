//! Questions and answers from end to end, without an external model.

use std::{fs, io::Write as _, thread};

use serde_json::json;
use ziggurat_black_box::{connect, until};
use ziggurat_fake_providers::{Fake, Turn};

use crate::support::{Home, asking, library, pipeline, question, server};

#[test]
fn a_question_is_answered_from_a_table_whole_and_as_a_stream() {
    let postgres = library();
    let list = pipeline("docs", &postgres, "  allow_include_sources: true\n");
    let home = Home::with(&format!("{}pipelines:\n{list}", server("")));
    let (_program, client) = home.serve();
    let body = json!({"query": "What do ferns like?", "include_sources": true, "top_n": 1});
    let answer = client.post("/v1/pipelines/docs", &body.to_string());
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = answer.json();
    assert_eq!(answer["sources"][0]["id"], "doc-0", "{answer}");
    let text = answer["answer"].as_str().expect("an answer");
    assert!(text.contains("Ferns like shade"), "{text}");

    let body = json!({"query": "What do ferns like?", "stream": true});
    let answer = client.post("/v1/pipelines/docs", &body.to_string());
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert_eq!(answer.header("link"), None);
    assert!(
        answer.body.ends_with("data: {\"type\":\"done\"}\n\n"),
        "{answer:?}"
    );
    assert!(answer.body.contains("Ferns like shade"), "{answer:?}");

    let listed = client.get("/v1/pipelines").json();
    assert_eq!(
        listed,
        json!({"pipelines": [{"name": "docs", "description": ""}]})
    );
    assert_eq!(client.get("/v1/health").json()["status"], "healthy");
    let missing = client.post("/v1/pipelines/none", &question("ferns"));
    assert_eq!(missing.status, 404);
}

#[test]
fn every_answer_has_the_headers_that_keep_browsers_from_using_it() {
    let postgres = library();
    let list = pipeline("docs", &postgres, "");
    let home = Home::with(&format!("{}pipelines:\n{list}", server("")));
    let (_program, client) = home.serve();
    for answer in [
        client.get("/v1/health"),
        client.get("/v1/nowhere"),
        client.post("/v1/pipelines/docs", &question("What do ferns like?")),
        client.post("/v1/pipelines/docs", "{}"),
    ] {
        assert_eq!(
            answer.header("x-content-type-options"),
            Some("nosniff"),
            "{answer:?}"
        );
        assert_eq!(answer.header("x-frame-options"), Some("DENY"), "{answer:?}");
        assert!(answer.header("referrer-policy").is_some(), "{answer:?}");
    }
}

#[test]
fn a_table_that_was_dropped_is_said_to_be_gone() {
    let postgres = library();
    let list = pipeline("docs", &postgres, "");
    let home = Home::with(&format!("{}pipelines:\n{list}", server("")));
    let (_program, client) = home.serve();
    let answer = client.post("/v1/pipelines/docs", &question("What do ferns like?"));
    assert_eq!(answer.status, 200, "{answer:?}");
    postgres.run("DROP TABLE documents");
    let answer = client.post("/v1/pipelines/docs", &question("What do ferns like?"));
    assert_eq!(answer.status, 500, "{answer:?}");
    let message = answer.json()["error"]["message"].to_string();
    assert!(
        message.contains("a table or column that the pipeline searches"),
        "{message}"
    );
}

#[test]
fn pipelines_with_the_same_settings_share_their_connections() {
    let postgres = library();
    let one = pipeline("one", &postgres, "");
    let limited = one.replace("password: ", "max_connections: 1, password: ");
    let list = limited.clone() + &limited.replace("name: one", "name: two");
    let home = Home::with(&format!("{}pipelines:\n{list}", server("")));
    let (_program, client) = home.serve();
    for name in ["one", "two", "one", "two"] {
        let path = format!("/v1/pipelines/{name}");
        let answer = client.post(&path, &question("What do ferns like?"));
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let connections = postgres.count(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
         AND application_name = 'ziggurat-rag'",
    );
    assert_eq!(connections, 1);
}

#[test]
fn an_answer_cites_its_sources_also_for_clients_of_the_chat_completions_api() {
    let postgres = library();
    let settings =
        "  allow_include_sources: true\n  allow_debug: true\n  query_rewrite: {enabled: true}\n";
    let list = pipeline("docs", &postgres, settings);
    let home = Home::with(&format!(
        "{}pipelines:\n{list}",
        server("  openai_compatible: true\n")
    ));
    let (_program, client) = home.serve();
    let body = json!({"query": "And what do they like?", "citations": true, "debug": true,
        "messages": [{"role": "user", "content": "Tell me about ferns."}]});
    let answer = client.post("/v1/pipelines/docs", &body.to_string());
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = answer.json();
    let text = answer["answer"].as_str().expect("an answer");
    let citation = &answer["citations"][0];
    let at = |name: &str| {
        citation[name]
            .as_u64()
            .and_then(|at| usize::try_from(at).ok())
    };
    let (start, end) = (at("start").expect("a start"), at("end").expect("an end"));
    let mark: String = text.chars().skip(start).take(end - start).collect();
    assert_eq!(mark, format!("[{}]", citation["marker"]), "{answer}");
    let rewritten = answer["debug"]["rewritten_query"]
        .as_str()
        .expect("a question");
    assert!(rewritten.contains("ferns"), "{answer}");

    let body =
        json!({"model": "docs", "messages": [{"role": "user", "content": "What do ferns like?"}]});
    let answer = client.post("/v1/chat/completions", &body.to_string());
    assert_eq!(answer.status, 200, "{answer:?}");
    let message = &answer.json()["choices"][0]["message"];
    let text = message["content"].as_str().expect("a text");
    assert!(text.contains("Ferns like shade"), "{text}");
    assert_eq!(message["annotations"][0]["type"], "url_citation");
    assert_eq!(client.get("/v1/models").json()["data"][0]["id"], "docs");
}

#[test]
fn questions_with_more_bytes_than_their_caller_may_hold_are_refused_and_small_ones_are_not() {
    let postgres = library();
    let list = pipeline("docs", &postgres, "");
    let home = Home::with(&format!("{}pipelines:\n{list}", server("")));
    let (_program, client) = home.serve();
    // Of the share of 8 MiB large bodies get six, one MiB each.
    let head = "POST /v1/pipelines/docs HTTP/1.1\r\nhost: localhost\r\n\
                content-type: application/json\r\ncontent-length: 1048576\r\n\r\n";
    let mut bodies = Vec::new();
    let large = question(&"fern ".repeat(20_000));
    until("the bodies are awaited", || {
        let mut stream = connect(client.address());
        stream.write_all(head.as_bytes()).expect("sent");
        bodies.push(stream);
        client.post("/v1/pipelines/docs", &large).status == 429
    });
    assert!(bodies.len() >= 6, "{}", bodies.len());
    let refused = client.post("/v1/pipelines/docs", &large);
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert!(
        refused.body.contains("Too many large requests"),
        "{refused:?}"
    );
    let answer = client.post("/v1/pipelines/docs", &question("What do ferns like?"));
    assert_eq!(answer.status, 200, "{answer:?}");
    drop(bodies);
    until("there is room", || {
        client.post("/v1/pipelines/docs", &large).status == 400
    });
}

#[test]
fn answers_of_a_provider_that_are_too_long_are_errors_and_take_little_memory() {
    const QUESTIONS: usize = 12;
    let postgres = library();
    let fake = Fake::start();
    fake.always(Turn::huge(24 << 20));
    let list = asking("docs", &postgres, &fake, "");
    let mut home = Home::with(&format!("{}pipelines:\n{list}", server("")));
    home.set("ANTHROPIC_API_KEY", "sk-ant-wq8JkLmN2pRs7TuV");
    let (program, client) = home.serve();
    thread::scope(|scope| {
        for _ in 0..QUESTIONS {
            scope.spawn(|| {
                let answer = client.post("/v1/pipelines/docs", &question("What do ferns like?"));
                assert!(answer.status >= 500, "{answer:?}");
                assert!(answer.body.contains("error"), "{answer:?}");
            });
        }
    });
    let status = fs::read_to_string(format!("/proc/{}/status", program.id())).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    if let Some(peak) = peak {
        let kilobytes: u64 = peak
            .trim()
            .trim_end_matches(" kB")
            .parse()
            .expect("a number");
        assert!(kilobytes < 128 << 10, "{peak}");
    }
}
