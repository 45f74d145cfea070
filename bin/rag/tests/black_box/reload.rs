//! Reload of the configuration after a change of its files.

use std::{os::unix::fs::symlink, thread};

use rustix::process::Signal;
use serde_json::json;
use ziggurat_black_box::{Postgres, Program, until};
use ziggurat_fake_providers::{Fake, Gate, Turn};

use crate::support::{Client, Home, asking, library, nowhere, pipeline, question, server};

const RELOADED: &str = "msg=\"configuration reloaded\"";

fn serve(yaml: &str) -> (Home, Program, Client) {
    let mut home = Home::with(yaml);
    home.set("ANTHROPIC_API_KEY", "sk-ant-wq8JkLmN2pRs7TuV");
    let (program, client) = home.serve();
    program.wait_for("watching for configuration changes");
    (home, program, client)
}

fn names(client: &Client) -> Vec<String> {
    let listed = client.get("/v1/pipelines").json();
    let listed = listed["pipelines"].as_array().expect("a list").iter();
    listed
        .filter_map(|pipeline| pipeline["name"].as_str().map(str::to_owned))
        .collect()
}

fn connections(postgres: &Postgres) -> i64 {
    postgres.count(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
         AND application_name = 'ziggurat-rag'",
    )
}

fn process(postgres: &Postgres) -> i64 {
    postgres.count(
        "SELECT min(pid)::bigint FROM pg_stat_activity WHERE datname = current_database() \
         AND application_name = 'ziggurat-rag'",
    )
}

#[test]
fn a_changed_file_changes_what_is_served() {
    let section = server("");
    let (one, two) = (nowhere("one", ""), nowhere("two", ""));
    let (home, program, client) = serve(&format!("{section}pipelines:\n{one}"));
    assert_eq!(names(&client), ["one"]);
    let line = program.until_it_says(RELOADED, || {
        home.configure(&format!("{section}pipelines:\n{two}{one}"));
    });
    assert!(
        line.contains("level=INFO") && line.contains("pipelines=2"),
        "{line}"
    );
    assert_eq!(names(&client), ["two", "one"]);
    program.until_it_says(RELOADED, || {
        home.configure(&format!("{section}pipelines:\n{two}"));
    });
    assert_eq!(names(&client), ["two"]);
    let gone = client.post("/v1/pipelines/one", &question("ferns"));
    assert_eq!(gone.status, 404);
    assert!(gone.body.contains("PIPELINE_NOT_FOUND"), "{gone:?}");
}

#[test]
fn an_invalid_configuration_changes_nothing() {
    let section = server("");
    let one = nowhere("one", "");
    let (home, program, client) = serve(&format!("{section}pipelines:\n{one}"));
    let needs_a_key = one.replace(
        "rag_llm: {provider: local}",
        "rag_llm: {provider: gemini, model: m}",
    );
    for (yaml, said, reason) in [
        (
            "pipelines: [".to_owned(),
            "config reload failed; keeping previous configuration",
            "failed to parse config file: ",
        ),
        (
            format!("{section}pipelines:\n{one}{one}"),
            "config reload failed; keeping previous configuration",
            "invalid configuration: pipelines[1].name: duplicate pipeline name: one",
        ),
        (
            format!("{section}pipelines:\n{needs_a_key}"),
            "pipeline reload failed; keeping previous configuration",
            "failed to create pipeline one: failed to load API keys: Gemini API key not found",
        ),
    ] {
        let line = program.until_it_says(said, || home.configure(&yaml));
        assert!(
            line.contains("level=ERROR") && line.contains(reason),
            "{line}"
        );
        assert_eq!(names(&client), ["one"]);
    }
    program.until_it_says(RELOADED, || {
        home.configure(&format!("{section}pipelines:\n{}", nowhere("three", "")));
    });
    assert_eq!(names(&client), ["three"]);
}

#[test]
fn sighup_reloads_and_changes_of_other_files_do_not() {
    let section = server("");
    let mut home = Home::with(&format!("{section}pipelines:\n{}", nowhere("one", "")));
    home.set("LOG_LEVEL", "debug");
    let (program, _client) = home.serve();
    program.wait_for("watching for configuration changes");
    program.until_it_says("another file has changed", || home.write("other", "x"));
    program.until_it_says(RELOADED, || program.signal(Signal::HUP));
    program.until_it_says(RELOADED, || program.signal(Signal::HUP));
    program.until_it_says(RELOADED, || {
        home.configure(&format!("{section}pipelines:\n{}", nowhere("two", "")));
    });
    program.until_it_says(RELOADED, || program.signal(Signal::HUP));
    let log = program.log();
    assert_eq!(log.matches(RELOADED).count(), 4, "{log}");
}

#[test]
fn settings_of_the_server_need_a_restart() {
    let section = server("");
    let list = nowhere("one", "");
    let (home, program, client) = serve(&format!("{section}pipelines:\n{list}"));
    let line = program.until_it_says("server settings have changed", || {
        let other = server("  ping_timeout: 9s\n");
        home.configure(&format!("{other}pipelines:\n{list}"));
    });
    assert!(
        line.contains("level=WARN") && line.contains("keys=port,ping_timeout"),
        "{line}"
    );
    program.wait_for(RELOADED);
    assert_eq!(client.get("/v1/live").status, 200);
}

#[test]
fn a_key_is_rotated_by_replacing_a_symbolic_link() {
    let (postgres, fake) = (library(), Fake::start());
    let mut home = Home::new();
    for (folder, key) in [
        ("first", "sk-ant-first-11111111"),
        ("second", "sk-ant-second-22222222"),
    ] {
        std::fs::create_dir(home.file(folder)).expect("created");
        std::fs::write(home.file(folder).join("key"), key).expect("written");
    }
    // Mounted secrets work like this: the link to their folder is replaced as a whole.
    symlink("first", home.file("now")).expect("linked");
    symlink("now/key", home.file("key")).expect("linked");
    let key = home.file("key");
    let more = format!("  api_keys: {{anthropic: {}}}\n", key.display());
    home.configure(&format!(
        "{}pipelines:\n{}",
        server(""),
        asking("docs", &postgres, &fake, &more)
    ));
    home.set("ANTHROPIC_API_KEY", "sk-ant-not-this-one");
    let (program, client) = home.serve();
    program.wait_for("watching for configuration changes");
    let ask = || {
        let answer = client.post("/v1/pipelines/docs", &question("What do ferns like?"));
        assert_eq!(answer.status, 200, "{answer:?}");
        let asked = fake.requests();
        asked.last().expect("asked").key().map(str::to_owned)
    };
    assert_eq!(ask().as_deref(), Some("sk-ant-first-11111111"));
    program.until_it_says(RELOADED, || {
        symlink("second", home.file("next")).expect("linked");
        std::fs::rename(home.file("next"), home.file("now")).expect("renamed");
    });
    assert_eq!(ask().as_deref(), Some("sk-ant-second-22222222"));
}

#[test]
fn unchanged_parts_keep_their_connections_and_counters() {
    let (postgres, fake) = (library(), Fake::start());
    let section = server("");
    let entry = asking("docs", &postgres, &fake, "");
    let (home, program, client) = serve(&format!("{section}pipelines:\n{entry}"));
    let ask = || client.post("/v1/pipelines/docs", &question("What do ferns like?"));
    assert_eq!(ask().status, 200);
    let counted = || client.get("/v1/stats").json()["pipelines"][0]["completion"].clone();
    let (before, connection) = (counted(), process(&postgres));
    assert_ne!(before["total_tokens"], json!(0), "{before}");
    program.until_it_says(RELOADED, || {
        let changed = asking("docs", &postgres, &fake, "  top_n: 3\n  description: new\n");
        home.configure(&format!(
            "{section}pipelines:\n{changed}{}",
            nowhere("more", "")
        ));
    });
    assert_eq!(counted(), before);
    assert_eq!(process(&postgres), connection);
    assert_eq!(ask().status, 200);
    assert_ne!(counted(), before);

    program.until_it_says(RELOADED, || {
        let other = entry.replace("model: m,", "model: other,");
        home.configure(&format!("{section}pipelines:\n{other}"));
    });
    assert_eq!(
        counted()["total_tokens"],
        json!(0),
        "another client counts anew"
    );
}

#[test]
fn a_request_in_flight_keeps_its_pipeline() {
    let (old, new, fake) = (library(), library(), Fake::start());
    let section = server("");
    let entry = asking("docs", &old, &fake, "");
    let (home, program, client) = serve(&format!("{section}pipelines:\n{entry}"));
    let gate = Gate::new();
    fake.next(Turn::text("The old one.").held(&gate));
    let asked = {
        let client = client.clone();
        thread::spawn(move || client.post("/v1/pipelines/docs", &question("What do ferns like?")))
    };
    fake.wait_for(1);
    program.until_it_says(RELOADED, || {
        home.configure(&format!(
            "{section}pipelines:\n{}",
            pipeline("docs", &new, "")
        ));
    });
    let answer = client.post("/v1/pipelines/docs", &question("What do ferns like?"));
    assert!(answer.body.contains("[local]"), "{answer:?}");
    gate.open();
    let answer = asked.join().expect("answered");
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["answer"], "The old one.");
    until("the old connections close", || connections(&old) == 0);
    assert!(connections(&new) > 0);
}

/// Writes a certificate for this machine and its key to files with these names.
fn papers(home: &Home, certificate: &str, key: &str) {
    let papers = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("papers");
    home.write(key, &papers.signing_key.serialize_pem());
    home.write(certificate, &papers.cert.pem());
}

#[test]
fn a_certificate_is_read_again_when_it_changes() {
    let home = Home::new();
    papers(&home, "cert.pem", "key.pem");
    let (cert, key) = (home.file("cert.pem"), home.file("key.pem"));
    let tls = format!(
        "  tls: {{enabled: true, cert_file: {}, key_file: {}}}\n",
        cert.display(),
        key.display()
    );
    home.configure(&format!(
        "{}pipelines:\n{}",
        server(&tls),
        nowhere("one", "")
    ));
    let (program, client) = home.serve();
    program.wait_for("watching for configuration changes");
    assert!(program.log().contains("tls=true"));
    let plain = client.get("/v1/live");
    assert_eq!(plain.status, 400, "{plain:?}");
    let line = program.until_it_says("msg=\"certificate reloaded\"", || {
        papers(&home, "cert.pem", "key.pem");
    });
    assert!(line.contains("level=INFO"), "{line}");
    let failed = "certificate reload failed; keeping previous certificate";
    let line = program.until_it_says(failed, || home.write("cert.pem", "no certificate"));
    assert!(line.contains("level=ERROR"), "{line}");
}
