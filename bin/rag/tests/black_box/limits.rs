//! Limits of callers.

use rustix::process::Signal;
use ziggurat_black_box::{Answer, MetricsPage, within_a_day};

use crate::support::{Home, library, nowhere, pipeline, question, server};

const FERNS: &str = "What do ferns like?";

/// Returns a configuration with these limits of the local caller.
fn limited(section: &str, limits: &str, list: &str) -> String {
    let callers = format!("limits: {{callers: [{{for: {{local: true}}, {limits}}}]}}\n");
    format!("{section}{callers}pipelines:\n{list}")
}

fn is_refused(answer: &Answer, sentence: &str) {
    assert_eq!(answer.status, 429, "{answer:?}");
    let error = &answer.json()["error"];
    assert_eq!(error["code"], "RATE_LIMITED", "{error}");
    let message = error["message"].as_str().expect("a sentence");
    assert!(message.starts_with(sentence), "{message}");
    let seconds = answer.header("retry-after").expect("a time");
    assert!(seconds.parse::<u32>().is_ok_and(|it| it > 0), "{seconds}");
    for name in ["ratelimit", "ratelimit-policy"] {
        assert!(answer.header(name).is_some(), "{name}: {answer:?}");
    }
}

#[test]
fn questions_beyond_the_limit_are_recorded_and_a_flood_is_only_counted() {
    let postgres = library();
    let section = format!(
        "{}audit: {{file: audit.jsonl}}\ntelemetry: {{metrics: {{address: '127.0.0.1:0'}}}}\n",
        server("")
    );
    let list = pipeline("docs", &postgres, "");
    let home = Home::with(&limited(&section, "calls: 2 per day", &list));
    let (mut program, client) = home.serve();
    let page = MetricsPage::of(&program);
    let ask = || client.post("/v1/pipelines/docs", &question(FERNS));
    for left in ["\"calls\";r=1;t=", "\"calls\";r=0;t="] {
        let answer = ask();
        assert_eq!(answer.status, 200, "{answer:?}");
        let rest = answer.header("ratelimit").expect("a field");
        assert!(rest.starts_with(left), "{rest}");
    }
    let sentence = "Too many calls: 2 per day. Try again in ";
    for _ in 0..2 {
        is_refused(&ask(), sentence);
    }
    // Its body never comes.
    let flood = format!(
        "POST /v1/pipelines/docs HTTP/1.1\r\nhost: {}\r\ncontent-length: 9\r\n\r\n",
        client.address()
    );
    for _ in 0..3 {
        is_refused(&client.exchange(flood.as_bytes()), sentence);
    }
    let other = client.get("/v1/pipelines");
    assert_eq!((other.status, other.header("ratelimit")), (200, None));

    let labels = r#"method="POST /v1/pipelines/{name}",verdict="limited",caller_kind="local""#;
    for (series, expected) in [
        (format!("ziggurat_calls_total{{{labels}}}"), 2.0),
        (
            r#"ziggurat_limits_reached_total{limit="calls"}"#.to_owned(),
            5.0,
        ),
        (r#"ziggurat_refused_total{reason="limit"}"#.to_owned(), 3.0),
    ] {
        let value = page.value(&series);
        assert_eq!(value, Some(expected), "{series}: {}", page.text());
    }
    program.signal(Signal::TERM);
    assert!(program.ended().success(), "{}", program.log());
    let trail = std::fs::read_to_string(home.file("audit.jsonl")).expect("a trail");
    assert_eq!(trail.matches(r#""kind":"call""#).count(), 4, "{trail}");
    let limited = r#""verdict":"limited","code":"429""#;
    assert_eq!(trail.matches(limited).count(), 2, "{trail}");
}

#[test]
fn a_reload_replaces_the_limits_and_keeps_the_counts() {
    within_a_day(|| {
        let postgres = library();
        let (section, list) = (server(""), pipeline("docs", &postgres, ""));
        let home = Home::with(&limited(&section, "rows_per_day: 3", &list));
        let (program, client) = home.serve();
        program.wait_for("watching for configuration changes");
        let ask = || client.post("/v1/pipelines/docs", &question(FERNS));
        let used_up = "The allowance of rows for today is used up.";
        assert_eq!(ask().status, 200);
        is_refused(&ask(), used_up);
        program.until_it_says("configuration reloaded", || {
            home.configure(&limited(&section, "rows_per_day: 4", &list));
        });
        let answer = ask();
        assert_eq!(answer.status, 200, "{answer:?}");
        is_refused(&ask(), used_up);

        // An invalid file changes nothing.
        program.until_it_says("config reload failed", || {
            home.configure(&limited(&section, "rows_per_day: none", &list));
        });
        is_refused(&ask(), used_up);
        program.until_it_says("configuration reloaded", || {
            home.configure(&format!("{section}pipelines:\n{list}"));
            program.signal(Signal::HUP);
        });
        let answer = ask();
        assert_eq!((answer.status, answer.header("ratelimit")), (200, None));
    });
}

#[test]
fn limits_without_effect_are_reported_and_unknown_ones_refused() {
    let (section, list) = (server(""), nowhere("docs", ""));
    let home = Home::with(&limited(
        &section,
        "max_cost: 5, max_changed_rows: 5",
        &list,
    ));
    let ran = home.ran(&["-check-config"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    let warnings = ["max_cost", "max_changed_rows"].map(|key| {
        format!(
            "warning: limits.callers[0].{key} has no effect: clients of this server send no \
             statements\n"
        )
    });
    assert_eq!(ran.stderr, warnings.concat());

    home.configure(&limited(&section, "call: 5 per day", &list));
    let ran = home.ran(&["-check-config"]);
    assert_eq!(ran.code, Some(1));
    let problem = "unknown key 'limits.callers[0].call'";
    assert!(ran.stdout.contains(problem), "{}", ran.stdout);
}
