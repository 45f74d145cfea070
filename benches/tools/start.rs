//! Time from the start of the program to its first answer, and the memory it uses when idle.

use std::{process::ExitCode, time::Instant};

use ziggurat_benches::tools::{Home, Load, Postgres, Report, median, post};

/// Starts per kind.
const STARTS: usize = 21;

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"bench","version":"0"}}}"#;

fn main() -> ExitCode {
    let postgres = Postgres::with("");
    let home = Home::new(&postgres.entry(""));
    let token = home.token();
    let mut report = Report::default();

    let (mut times, mut memory) = (Vec::new(), 0.0_f64);
    for _ in 0..STARTS {
        let begun = Instant::now();
        let (program, address) = home.serve();
        let answer = Load::new(&address, 1, post(&address, &token, CALL)).once();
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        assert!(answer.contains("serverInfo"), "{answer}");
        memory = program.memory().max(memory);
    }
    report.less_than("from start to answer, HTTP", median(&times), 50.0, " ms");
    report.less_than("idle, HTTP", memory, 20.0, " MiB");

    times.clear();
    let line = format!("{CALL}\n");
    for _ in 0..STARTS {
        let begun = Instant::now();
        let (program, mut client) = home.serve_stdio();
        let answer = client.request(&line);
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        assert!(answer.contains("serverInfo"), "{answer}");
        memory = program.memory();
    }
    report.less_than("from start to answer, stdio", median(&times), 50.0, " ms");
    report.less_than("idle, stdio", memory, 20.0, " MiB");
    report.exit_code()
}
