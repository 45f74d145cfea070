//! The commands of the program.

mod gold;
mod learn;
mod mutations;

use std::collections::BTreeSet;

use anyhow::{Context as _, ensure};
use ziggurat_local_pg::LocalPg;

pub(crate) use self::{gold::gold, learn::learn, mutations::mutations};
use crate::{
    databases::{self, Database, Running},
    question::{Fact, Question},
};

/// The number of questions of a database.
const QUESTIONS: usize = 20;

/// The questions of a database, with what their statements need.
type Asked = Vec<(Question, BTreeSet<Fact>)>;

/// Makes each database in turn and does something with it. A role is dropped also after an error.
async fn with_each(
    pg: &LocalPg,
    mut act: impl AsyncFnMut(&Database, &Running, Asked) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for database in databases::all() {
        let running = database.start(pg).await?;
        let outcome = async {
            let asked = asked(&database, &running).await?;
            act(&database, &running, asked).await
        };
        let outcome = outcome.await.context(database.name);
        running.close().await?;
        outcome?;
    }
    Ok(())
}

async fn asked(database: &Database, running: &Running) -> anyhow::Result<Asked> {
    let questions = Question::parse(database.questions)?;
    ensure!(
        questions.len() == QUESTIONS,
        "it has {} questions",
        questions.len()
    );
    let mut owner = running.connect().await?;
    let mut asked = Vec::new();
    for question in questions {
        let facts = question.facts(&mut owner).await?;
        asked.push((question, facts));
    }
    Ok(asked)
}
