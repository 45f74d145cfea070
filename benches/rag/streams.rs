//! Two thousand streams that pause in the middle of their answers.
//!
//! The provider is a fake that sends the beginning of an answer and then waits. All streams run at
//! once; then the fake continues, and every stream must reach its end.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    process::ExitCode,
    time::Instant,
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use ziggurat_benches::{
    rag::Answers,
    tools::{Postgres, Report, send},
};
use ziggurat_fake_providers::{Api, Fake, Gate, Turn};

const STREAMS: usize = 2000;

/// Bytes of the provider's answer that are sent before it waits.
const BEGINNING: usize = 600;

const TABLE: &str = "CREATE EXTENSION IF NOT EXISTS vector;
    CREATE TABLE page (id int PRIMARY KEY, body text NOT NULL, body_embedding vector(256));
    INSERT INTO page SELECT n, repeat('wool is washed by hand, page ' || n || '. ', 20),
        (SELECT array_agg(random() - 0.5)::vector FROM generate_series(1, 256) WHERE n > 0)
        FROM generate_series(1, 200) AS n; ANALYZE page;";

const QUESTION: &str = r#"{"query":"How is wool washed by hand?","stream":true}"#;

fn main() -> ExitCode {
    allow_files();
    let (gate, fake) = (Gate::new(), Fake::start());
    let answer = "Wool is washed by hand. ".repeat(40);
    let turn = Turn::text(&answer).held_after(BEGINNING, &gate);
    fake.always_of(Api::OpenAi, turn);
    let postgres = Postgres::with(TABLE);
    let server = Answers::serve(
        &postgres,
        &format!(
            "  rag_llm: {{provider: openai, model: fake, base_url: \"{}\"}}\n",
            fake.url(Api::OpenAi)
        ),
    );
    let mut report = Report::default();
    let idle = server.program.memory();
    let request = send(
        "POST",
        "/v1/pipelines/bench",
        &server.address,
        None,
        QUESTION,
    );

    let begun = Instant::now();
    let mut streams: Vec<_> = (0..STREAMS)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.address).expect("listening");
            stream.write_all(&request).expect("sent");
            (stream, String::new())
        })
        .collect();
    for (stream, heard) in &mut streams {
        until(stream, heard, "\"type\":\"chunk\"");
    }
    report.print(format_args!(
        "{STREAMS} streams under way after {:.1} s; idle {idle:.1} MiB",
        begun.elapsed().as_secs_f64()
    ));
    report.less_than("with all of them", server.program.memory(), 200.0, " MiB");
    gate.open();
    for (stream, heard) in &mut streams {
        until(stream, heard, "\"type\":\"done\"");
        assert!(!heard.contains("\"type\":\"error\""), "{heard}");
    }
    report.less_than("the most ever", server.program.peak_memory(), 200.0, " MiB");
    report.exit_code()
}

fn until(stream: &mut TcpStream, heard: &mut String, words: &str) {
    let mut piece = [0; 4096];
    while !heard.contains(words) {
        let read = stream.read(&mut piece).expect("a stream");
        assert!(read > 0, "it broke off: {heard}");
        heard.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
}

/// Raises the limit of open files: this process has both ends of the provider's streams, and the
/// client ends of the server's.
fn allow_files() {
    let limit = getrlimit(Resource::Nofile);
    let all = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, all).expect("within what is allowed");
}
