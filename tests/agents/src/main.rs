//! Shows what a model can learn about a database from a few answers of `ziggurat-tools`.
//!
//! The corpus has eight databases, each with 20 questions and the statements that answer them. The
//! commands:
//!
//! - `gold` runs the statements of the corpus: each returns a row.
//! - `table` asks all questions with `search_schema` and with `get_schema_info`, and prints how many
//!   of the facts that the statements need are in the answers. With `--missed` it lists the others.
//! - `check` asks them with `search_schema` only. It ends with 1 if a fact is missing after three
//!   calls and 4,000 tokens, and lists it. With `--answers` it prints the answers about it, too.
//! - `mutations` runs statements with a mistake, and prints the share of errors that name the
//!   correction. It ends with 1 below 90 %. With `--missed` it prints the other errors.

mod commands;
mod conversation;
mod databases;
mod known;
mod mutation;
mod question;
mod server;
mod sql_text;
mod strategy;

use std::{env, ffi::OsString, process::ExitCode};

use anyhow::bail;
use ziggurat_local_pg::LocalPg;
use ziggurat_runtime::console::{print, print_error};

use crate::strategy::Strategy;

const USAGE: &str = "usage: ziggurat-agents gold | table [--missed] | check [--answers] | \
                     mutations [--missed]";

/// The share of errors that must name the correction, in percent.
const MIN_PERCENT: usize = 90;

fn main() -> ExitCode {
    let mut words = env::args_os().skip(1).peekable();
    // The program is the server, too, so that it is built with it.
    if words.next_if(|word| word == "server").is_some() {
        return ziggurat_tools::run(words, |_| {});
    }
    match run(words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            print_error(&format!("ERROR: {error:#}\n"));
            ExitCode::FAILURE
        }
    }
}

/// Runs a command. Returns whether the corpus passes.
fn run(words: impl Iterator<Item = OsString>) -> anyhow::Result<bool> {
    let words: Vec<OsString> = words.collect();
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let words: Vec<_> = words.iter().map(AsRef::as_ref).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let pg = LocalPg::start().await?;
        match words.as_slice() {
            ["gold"] => {
                let problems = commands::gold(&pg).await?;
                print(&problems.join("\n"))?;
                Ok(problems.is_empty())
            }
            ["table", options @ ..] => {
                let both = [Strategy::Search, Strategy::SchemaInfo];
                let learnt = commands::learn(&pg, &both).await?;
                if options.contains(&"--missed") {
                    print(learnt.missed())?;
                }
                print(&learnt.table())?;
                Ok(true)
            }
            ["check", options @ ..] => {
                let learnt = commands::learn(&pg, &[Strategy::Search]).await?;
                print(learnt.missed())?;
                if options.contains(&"--answers") {
                    print(learnt.transcripts())?;
                }
                print(&learnt.table())?;
                Ok(learnt.passes())
            }
            ["mutations", options @ ..] => {
                let shares = commands::mutations(&pg).await?;
                if options.contains(&"--missed") {
                    print(shares.missed())?;
                }
                print(&shares.table())?;
                Ok(shares.percent() >= MIN_PERCENT)
            }
            _ => bail!("{USAGE}"),
        }
    })
}
