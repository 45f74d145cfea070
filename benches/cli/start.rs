//! Run time of short commands, with and without a call of the platform, and the program's size.

use std::{fs, process::ExitCode, time::Instant};

use ziggurat_benches::{
    cli::{SignedInCli, TENANT},
    tools::{Report, median},
};

/// Starts per kind.
const STARTS: usize = 101;

fn main() -> ExitCode {
    let cli = SignedInCli::new();
    let mut report = Report::default();
    for (what, words, says, target) in [
        ("--version", &["--version"][..], "modules:", 5.0),
        ("--help", &["--help"], "Usage:", 50.0),
        (
            "tenant get, token cached",
            &["platform", "tenant", "get", TENANT],
            "Acme",
            15.0,
        ),
    ] {
        let mut times = Vec::new();
        for _ in 0..STARTS {
            let begun = Instant::now();
            let printed = cli.run(words);
            times.push(begun.elapsed().as_secs_f64() * 1e3);
            assert!(printed.contains(says), "{printed}");
        }
        report.less_than(what, median(&times), target, " ms");
    }
    let bytes = fs::metadata(cli.program()).expect("built").len();
    let mebibytes = u32::try_from(bytes >> 10).map_or(f64::MAX, f64::from) / 1024.0;
    report.less_than("size", mebibytes, 8.0, " MiB");
    report.exit_code()
}
