//! The result, in Markdown.

use std::process::ExitCode;

use crate::{
    Entry,
    measure::{Figures, Load},
};

/// The share of the processor time of `rmcp` that `ziggurat-mcp` may use.
const LAW: f64 = 1.0 / 3.0;

/// Prints the tables; fails if a figure is not what it has to be.
pub(crate) fn print(entries: &[Entry]) -> ExitCode {
    let loads = loads(entries);
    println!("Processor time of the server for each request, in microseconds:\n");
    print_figures(
        entries,
        &loads,
        |f| f.processor,
        |time| format!("{time:.1}"),
    );
    println!("\nRequests per second:\n");
    print_figures(entries, &loads, |f| f.rate, |rate| format!("{rate:.0}"));
    println!("\nLatency of half of the requests, in milliseconds:\n");
    print_figures(entries, &loads, |f| f.median, milliseconds);
    println!("\nLatency of 99 of 100 requests, in milliseconds:\n");
    print_figures(entries, &loads, |f| f.p99, milliseconds);
    println!("\nThe programs; memory is resident and in MiB:\n");
    print_programs(entries);

    let wrong: u32 = entries
        .iter()
        .flat_map(|entry| &entry.turns)
        .map(|(_, figures)| figures.wrong)
        .sum();
    println!("\nWrong answers: {wrong}");
    if wrong == 0 && keeps_law(entries, &loads) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// All loads, in the order in which they were first measured.
fn loads(entries: &[Entry]) -> Vec<Load> {
    let mut loads: Vec<Load> = Vec::new();
    for (load, _) in entries.iter().flat_map(|entry| &entry.turns) {
        if !loads.contains(load) {
            loads.push(*load);
        }
    }
    // The first server need not speak all dialects.
    loads.sort_by_key(|load| load.dialect.to_string());
    loads
}

fn print_figures(
    entries: &[Entry],
    loads: &[Load],
    figure: impl Fn(&Figures) -> f64,
    show: impl Fn(f64) -> String,
) {
    let names = entries.iter().map(|entry| entry.contender.name);
    row(["revision", "method", "connections"]
        .into_iter()
        .chain(names));
    row(["---"; 3].into_iter().chain(entries.iter().map(|_| "---:")));
    for load in loads {
        let labels = [
            load.dialect.to_string(),
            load.method.to_string(),
            load.connections.to_string(),
        ];
        let figures = entries.iter().map(|entry| {
            let median = entry.median(*load, &figure);
            median.map_or_else(|| "–".to_owned(), &show)
        });
        row(labels.into_iter().chain(figures));
    }
}

fn print_programs(entries: &[Entry]) {
    row([
        "server",
        "version",
        "revisions",
        "bytes of a list",
        "memory at start",
        "after the load",
        "after 100,000 requests",
        "after 1,000,000",
        "crates",
        "program, MiB",
    ]);
    row(["---", "---", "---"].into_iter().chain(["---:"; 7]));
    for entry in entries {
        let revisions: Vec<_> = entry.dialects.iter().map(ToString::to_string).collect();
        let million = |at: usize| {
            let memory = entry.memory.million.map(|memory| memory[at]);
            memory.map_or_else(|| "–".to_owned(), |memory| format!("{memory:.1}"))
        };
        row([
            entry.contender.name.to_owned(),
            entry.package.version.clone(),
            revisions.join(", "),
            entry.list.to_string(),
            format!("{:.1}", entry.memory.start),
            format!("{:.1}", entry.memory.load),
            million(0),
            million(1),
            entry.package.crates.to_string(),
            format!("{:.1}", entry.package.size),
        ]);
    }
}

/// Prints the ratios to `rmcp`, if both were measured; returns whether all are allowed.
fn keeps_law(entries: &[Entry], loads: &[Load]) -> bool {
    let named = |name| entries.iter().find(|entry| entry.contender.name == name);
    let (Some(ours), Some(theirs)) = (named("ziggurat-mcp"), named("rmcp")) else {
        return true;
    };
    println!("\nProcessor time of ziggurat-mcp, of rmcp's (allowed: {LAW:.2}):\n");
    let mut keeps = true;
    for load in loads {
        let processor = |entry: &Entry| entry.median(*load, |figures| figures.processor);
        let (Some(ours), Some(theirs)) = (processor(ours), processor(theirs)) else {
            continue;
        };
        let ratio = ours / theirs;
        keeps &= ratio <= LAW;
        println!(
            "- {}, {}, {}: {ratio:.2}",
            load.dialect, load.method, load.connections
        );
    }
    keeps
}

fn milliseconds(microseconds: f64) -> String {
    format!("{:.2}", microseconds / 1000.0)
}

fn row<T: AsRef<str>>(cells: impl IntoIterator<Item = T>) {
    let cells: Vec<_> = cells.into_iter().collect();
    let cells: Vec<_> = cells.iter().map(AsRef::as_ref).collect();
    println!("| {} |", cells.join(" | "));
}
