//! Runs statements with a mistake, and counts the errors that name the correction.

use std::{collections::BTreeMap, fmt::Write as _};

use ziggurat_local_pg::LocalPg;

use super::with_each;
use crate::{
    mutation::{Candidates, Kind, Mutation},
    server::Server,
};

/// The number of mistakes of each kind.
const PER_KIND: usize = 25;

/// Errors that name the correction, by the kind of the mistake.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    /// The mistakes of a kind, and how many of their errors name the correction.
    counts: BTreeMap<Kind, (usize, usize)>,
    missed: String,
}

/// Makes mistakes in the statements of all databases and runs them through servers.
pub(crate) async fn mutations(pg: &LocalPg) -> anyhow::Result<Shares> {
    let chosen = choose(pg).await?;
    let mut shares = Shares::default();
    with_each(pg, async |database, running, _| {
        let Some(mutations) = chosen.get(database.name) else {
            return Ok(());
        };
        let server = Server::start(&running.entry(database.name), None).await?;
        for mutation in mutations {
            let missed = mutation.missed(&server).await?;
            shares.add(database.name, mutation, missed)?;
        }
        Ok(())
    })
    .await?;
    Ok(shares)
}

/// Chooses the mistakes: of each kind about as many from each database.
async fn choose(pg: &LocalPg) -> anyhow::Result<BTreeMap<&'static str, Vec<Mutation>>> {
    let mut candidates = Vec::new();
    with_each(pg, async |database, running, asked| {
        let mut reader = running.connect_as_reader().await?;
        candidates.push((database.name, Candidates::make(&asked, &mut reader).await?));
        Ok(())
    })
    .await?;
    let mut chosen = BTreeMap::<_, Vec<_>>::new();
    for kind in Kind::ALL {
        let mut left = PER_KIND;
        while left > 0 {
            let before = left;
            for (database, candidates) in &mut candidates {
                if let Some(mutation) = candidates.take(kind).filter(|_| left > 0) {
                    chosen.entry(*database).or_default().push(mutation);
                    left -= 1;
                }
            }
            if left == before {
                break;
            }
        }
    }
    Ok(chosen)
}

// === impl Shares ===

impl Shares {
    /// Returns the share of the errors that name the correction, in percent.
    pub(crate) fn percent(&self) -> usize {
        let (all, right) = self.sum();
        right * 100 / all.max(1)
    }

    /// Returns the errors that do not name the correction.
    pub(crate) fn missed(&self) -> &str {
        &self.missed
    }

    /// Returns a table in Markdown.
    pub(crate) fn table(&self) -> String {
        let mut table =
            "| Mistake | Statements | Named | Share |\n|---|---:|---:|---:|\n".to_owned();
        let mut row = |name: &str, all: usize, right: usize| {
            let percent = right * 100 / all.max(1);
            writeln!(table, "| {name} | {all} | {right} | {percent} % |")
                .expect("a string takes all that is written");
        };
        for (kind, (all, right)) in &self.counts {
            row(kind.name(), *all, *right);
        }
        let (all, right) = self.sum();
        row("all", all, right);
        table
    }

    fn sum(&self) -> (usize, usize) {
        let counts = self.counts.values();
        counts.fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1))
    }

    fn add(&mut self, name: &str, made: &Mutation, missed: Option<String>) -> anyhow::Result<()> {
        let (all, right) = self.counts.entry(made.kind).or_default();
        *all += 1;
        *right += usize::from(missed.is_none());
        if let Some(text) = missed {
            let (kind, sql, missing) = (made.kind.name(), &made.sql, &made.right);
            writeln!(
                self.missed,
                "{name}, {kind}: {missing} is missing\n  {sql}\n{text}\n"
            )?;
        }
        Ok(())
    }
}
