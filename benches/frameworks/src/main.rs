//! Compares MCP servers that are written with different frameworks.
//!
//! Starts each server on a free port of this machine, checks its answers, measures lists and calls
//! in turns, and prints tables in Markdown. Fails if an answer is wrong, or if a request costs
//! `ziggurat-mcp` more than a third of the processor time that it costs `rmcp`.

mod http;
mod measure;
mod numbered;
mod options;
mod package;
mod protocol;
mod server;
mod tables;

use std::{env, error::Error, process::ExitCode};

use crate::{
    measure::{Figures, Load, Until, measure},
    options::{Options, USAGE},
    package::Package,
    protocol::{Client, Dialect, Method},
    server::{Contender, Server},
};

/// Connections that send a million requests.
const MILLION_CONNECTIONS: u32 = 16;

/// Requests after which memory is read for the first time, and for the second.
const EARLY: u32 = 100_000;
const MILLION: u32 = 1_000_000;

/// A server and its figures.
#[derive(Debug)]
struct Entry {
    contender: Contender,
    package: Package,
    server: Server,
    dialects: Vec<Dialect>,
    /// Bytes of a list of five tools, in the first dialect.
    list: usize,
    memory: Memory,
    turns: Vec<(Load, Figures)>,
}

/// Mebibytes of memory of a server.
#[derive(Clone, Copy, Debug, Default)]
struct Memory {
    /// Before the first request.
    start: f64,
    /// After all turns.
    load: f64,
    /// After a hundred thousand and after a million requests, in another process.
    million: Option<[f64; 2]>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    if env::args().any(|argument| argument == "--help") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    compare().await.unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::FAILURE
    })
}

async fn compare() -> Result<ExitCode, Box<dyn Error>> {
    let options = Options::parse(env::args().skip(1))?;
    if options.builds {
        package::build(&options.contenders)?;
    }
    let mut entries = Vec::new();
    for &contender in &options.contenders {
        entries.push(Entry::start(contender, options.threads).await?);
    }
    for round in 1..=options.rounds {
        eprintln!("round {round} of {}", options.rounds);
        take_turns(&mut entries, &options).await?;
    }
    for entry in &mut entries {
        entry.memory.load = entry.server.memory()?;
        if options.has_million(&entry.contender) {
            eprintln!("a million requests to {}", entry.contender.name);
            entry.memory.million = Some(million(entry, options.threads).await?);
        }
    }
    Ok(tables::print(&entries))
}

/// One turn of every server for every load.
async fn take_turns(entries: &mut [Entry], options: &Options) -> Result<(), Box<dyn Error>> {
    for dialect in Dialect::ALL {
        for method in Method::ALL {
            for &connections in &options.connections {
                let load = Load {
                    dialect,
                    method,
                    connections,
                };
                let speakers = entries
                    .iter_mut()
                    .filter(|entry| entry.dialects.contains(&dialect));
                for entry in speakers {
                    let until = Until::After(options.turn);
                    let figures = measure(&entry.server, load, until).await?;
                    entry.turns.push((load, figures));
                }
            }
        }
    }
    Ok(())
}

/// Sends a million requests to a new process of the server, and returns the memory on the way and
/// at the end.
async fn million(entry: &Entry, threads: Option<u32>) -> Result<[f64; 2], Box<dyn Error>> {
    let server = entry.contender.start(threads).await?;
    let load = Load {
        dialect: entry.dialects[0],
        method: Method::Echo,
        connections: MILLION_CONNECTIONS,
    };
    let mut memory = [0.0; 2];
    for (memory, requests) in memory.iter_mut().zip([EARLY, MILLION - EARLY]) {
        let until = Until::Requests(requests / MILLION_CONNECTIONS);
        let figures = measure(&server, load, until).await?;
        if figures.wrong > 0 {
            return Err(format!("{} wrong answers", figures.wrong).into());
        }
        *memory = server.memory()?;
    }
    Ok(memory)
}

// === impl Entry ===

impl Entry {
    /// Starts a server and checks its answers in the dialects that it speaks.
    async fn start(contender: Contender, threads: Option<u32>) -> Result<Self, Box<dyn Error>> {
        let package = Package::of(&contender)?;
        let server = contender.start(threads).await?;
        let start = server.memory()?;
        let (mut dialects, mut list) = (Vec::new(), 0);
        for dialect in Dialect::ALL {
            match check(&server, dialect).await {
                Ok(bytes) => {
                    if dialects.is_empty() {
                        list = bytes;
                    }
                    dialects.push(dialect);
                }
                Err(error) => eprintln!("{} without {dialect}: {error}", contender.name),
            }
        }
        if dialects.is_empty() {
            return Err(format!("{} speaks neither dialect", contender.name).into());
        }
        Ok(Self {
            contender,
            package,
            server,
            dialects,
            list,
            memory: Memory {
                start,
                ..Memory::default()
            },
            turns: Vec::new(),
        })
    }

    /// The median of a figure over the turns with a load; `None` without such turns.
    fn median(&self, load: Load, figure: impl Fn(&Figures) -> f64) -> Option<f64> {
        let turns = self.turns.iter().filter(|(turn, _)| *turn == load);
        let mut figures: Vec<f64> = turns.map(|(_, figures)| figure(figures)).collect();
        figures.sort_by(f64::total_cmp);
        figures.get(figures.len() / 2).copied()
    }
}

/// Checks one list and one call; returns the bytes of the list.
async fn check(server: &Server, dialect: Dialect) -> Result<usize, Box<dyn Error>> {
    let mut client = Client::connect(&server.address, dialect).await?;
    let mut list = client.prepare(Method::List).await?;
    client.prepare(Method::Echo).await?;
    client.close().await;
    Ok(list.answer_bytes())
}
