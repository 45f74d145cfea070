//! Shows what a model can learn about a database from a few answers of `ziggurat-tools`.
//!
//! The corpus has eight databases, each with 20 questions and the statements that answer them. The
//! commands:
//!
//! - `gold` runs the statements of the corpus: each returns a row.

mod databases;
mod question;

use std::{env, ffi::OsStr, process::ExitCode};

use anyhow::{Context as _, bail, ensure};
use ziggurat_local_pg::LocalPg;
use ziggurat_runtime::console::{print, print_error};

use crate::{
    databases::{Database, Running},
    question::Question,
};

/// The number of questions of a database.
const QUESTIONS: usize = 20;

fn main() -> ExitCode {
    let mut words = env::args_os().skip(1);
    let command = words.next().unwrap_or_default();
    if command == "server" {
        return ziggurat_tools::run(words, |_| {});
    }
    match run(&command) {
        Ok(code) => code,
        Err(error) => {
            print_error(&format!("ERROR: {error:#}\n"));
            ExitCode::FAILURE
        }
    }
}

fn run(command: &OsStr) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let pg = LocalPg::start().await?;
        match command.to_str() {
            Some("gold") => gold(&pg).await,
            _ => bail!("usage: ziggurat-agents gold"),
        }
    })
}

/// Runs all statements of the corpus.
async fn gold(pg: &LocalPg) -> anyhow::Result<ExitCode> {
    let mut problems = Vec::new();
    for database in databases::all() {
        let running = database.start(pg).await?;
        let checked = gold_of(&database, &running, &mut problems).await;
        running.close().await?;
        checked?;
    }
    for problem in &problems {
        print(&format!("{problem}\n"))?;
    }
    Ok(ExitCode::from(u8::from(!problems.is_empty())))
}

/// Runs the statements of a database as the server would.
async fn gold_of(
    database: &Database,
    running: &Running,
    problems: &mut Vec<String>,
) -> anyhow::Result<()> {
    let questions = Question::parse(database.questions).context(database.name)?;
    ensure!(
        questions.len() == QUESTIONS,
        "{}: {} questions",
        database.name,
        questions.len()
    );
    let mut owner = running.connect().await?;
    let mut reader = running.connect_as_reader().await?;
    for question in &questions {
        let outcome = async {
            question.check(&mut reader).await?;
            question.facts(&mut owner).await
        };
        if let Err(error) = outcome.await {
            problems.push(format!("{}: {error:#}", database.name));
        }
    }
    Ok(())
}
