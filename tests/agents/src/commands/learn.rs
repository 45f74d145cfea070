//! Asks all questions, and counts the facts that the answers hold.

use std::fmt::Write as _;

use ziggurat_local_pg::LocalPg;

use super::with_each;
use crate::{
    conversation::{Conversation, MAX_CALLS, MAX_TOKENS},
    server::Server,
    strategy::Strategy,
};

/// Sums over questions.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    questions: usize,
    calls: usize,
    tokens: usize,
    most_tokens: usize,
    facts: usize,
    missed: usize,
}

/// The result for all questions.
#[derive(Debug, Default)]
pub(crate) struct Learnt {
    rows: Vec<(&'static str, Strategy, Sums)>,
    missed: String,
    transcripts: String,
}

/// Asks the questions of all databases in these ways.
pub(crate) async fn learn(pg: &LocalPg, strategies: &[Strategy]) -> anyhow::Result<Learnt> {
    let mut learnt = Learnt::default();
    with_each(pg, async |database, running, asked| {
        let server = Server::start(&running.entry(database.name), database.glossary).await?;
        for &strategy in strategies {
            let mut sums = Sums::default();
            for (question, facts) in &asked {
                let mut conversation = Conversation::new(&server);
                strategy.ask(&mut conversation, &question.text).await?;
                let known = &conversation.known;
                let missed: Vec<_> = facts.iter().filter(|fact| !known.holds(fact)).collect();
                sums.add(&conversation, facts.len(), missed.len());
                for fact in &missed {
                    let (name, tool) = (database.name, strategy.tool());
                    let question = &question.text;
                    writeln!(learnt.missed, "{name}, {tool}: {fact}\n  {question}")?;
                }
                if !missed.is_empty() {
                    let text = &conversation.transcript;
                    writeln!(learnt.transcripts, "# {}\n{text}", question.text)?;
                    for fact in &missed {
                        writeln!(learnt.transcripts, "MISSED {fact}")?;
                    }
                }
            }
            learnt.rows.push((database.name, strategy, sums));
        }
        Ok(())
    })
    .await?;
    Ok(learnt)
}

// === impl Sums ===

impl Sums {
    fn add(&mut self, conversation: &Conversation<'_>, facts: usize, missed: usize) {
        self.questions += 1;
        self.calls += conversation.calls;
        self.tokens += conversation.tokens;
        self.most_tokens = self.most_tokens.max(conversation.tokens);
        self.facts += facts;
        self.missed += missed;
    }

    fn join(self, other: Self) -> Self {
        Self {
            questions: self.questions + other.questions,
            calls: self.calls + other.calls,
            tokens: self.tokens + other.tokens,
            most_tokens: self.most_tokens.max(other.most_tokens),
            facts: self.facts + other.facts,
            missed: self.missed + other.missed,
        }
    }
}

// === impl Learnt ===

impl Learnt {
    /// Returns whether `search_schema` told every fact within the limits.
    pub(crate) fn passes(&self) -> bool {
        let mut rows = self
            .rows
            .iter()
            .filter(|(_, strategy, _)| *strategy == Strategy::Search);
        rows.all(|(_, _, sums)| {
            sums.missed == 0
                && sums.most_tokens <= MAX_TOKENS
                && sums.calls <= MAX_CALLS * sums.questions
        })
    }

    /// Returns the facts that were missed, each with its question.
    pub(crate) fn missed(&self) -> &str {
        &self.missed
    }

    /// Returns the calls and answers of the questions with missed facts.
    pub(crate) fn transcripts(&self) -> &str {
        &self.transcripts
    }

    /// Returns a table in Markdown.
    pub(crate) fn table(&self) -> String {
        let mut table = "\
| Database | Tool | Questions | Calls, mean | Tokens, mean | Tokens, max | Facts | Missed |
|---|---|---:|---:|---:|---:|---:|---:|
"
        .to_owned();
        let mut row = |name: &str, strategy: Strategy, sums: Sums| {
            let tenths = sums.calls * 10 / sums.questions.max(1);
            let (calls, tenth) = (tenths / 10, tenths % 10);
            let tokens = sums.tokens / sums.questions.max(1);
            let Sums {
                questions,
                most_tokens,
                facts,
                missed,
                ..
            } = sums;
            let tool = strategy.tool();
            writeln!(
                table,
                "| {name} | {tool} | {questions} | {calls}.{tenth} | {tokens} | {most_tokens} | \
                 {facts} | {missed} |"
            )
            .expect("a string takes all that is written");
        };
        for (name, strategy, sums) in &self.rows {
            row(name, *strategy, *sums);
        }
        for strategy in [Strategy::Search, Strategy::SchemaInfo] {
            let rows = self.rows.iter().filter(|(_, of, _)| *of == strategy);
            let all = rows.fold(Sums::default(), |sum, (_, _, sums)| sum.join(*sums));
            if all.questions > 0 {
                row("all", strategy, all);
            }
        }
        table
    }
}
