//! A search for known values of B in a real database.

use serde_json::Value;

use crate::{
    calls::{self, Case, Known, LISTS, TURN, pipeline::Pipeline, request::Request},
    canary::Canaries,
    failure::ProveError,
    lists::listed,
    party::{Party, Side},
    planting::Planted,
    report::{Finding, Report},
    rule::{Level, Rule},
    schema::Schema,
};

/// A search by the calls of a proof, which writes nothing.
#[derive(Debug)]
pub struct Search {
    database: String,
    parties: [Party; 2],
    schema: Schema,
    planted: Planted,
}

// === impl Search ===

impl Search {
    /// Reads the objects that A may reach. Each value is one that only B may see.
    ///
    /// # Errors
    /// Fails if the catalogue cannot be read, or if each value is too short.
    pub async fn new(
        database: &str,
        parties: [Party; 2],
        values: &[String],
    ) -> Result<Self, ProveError> {
        let mut canaries = Canaries::default();
        for value in values {
            canaries.add(value);
        }
        if canaries.is_empty() {
            return Err(ProveError::NoValue);
        }
        let schema = Schema::of_caller(&parties[0].pool).await?;
        Ok(Self {
            database: database.to_owned(),
            parties,
            schema,
            planted: Planted::of_canaries(canaries),
        })
    }

    /// Makes the calls as A, with calls of B between them, and looks for the values in the answers. The
    /// pipelines are those that the server asks.
    pub async fn report(
        self,
        weaknesses: Vec<Finding>,
        pipelines: &[Pipeline],
        server: impl AsyncFn(Side, &Request) -> String,
    ) -> Report {
        let mut lists = Vec::new();
        for (method, member) in LISTS {
            lists.push(listed(method, member, &server).await);
        }
        let known = Known {
            database: &self.database,
            schema: &self.schema,
            whole: &self.schema,
            planted: &self.planted,
            other: &self.parties[1],
            writes: false,
            pipelines,
        };
        let lists: [Vec<Value>; 4] = lists.try_into().unwrap_or_default();
        let cases = calls::all(&known, &lists);
        let takes_database = calls::takes_database(&lists[0]);
        let mut report = Report {
            findings: weaknesses,
            inconclusive: calls::questions::failing(&cases, &server).await,
            calls: cases.len(),
            objects: self.schema.len(),
        };
        let canaries = &self.planted.canaries;
        for (number, case) in cases.iter().enumerate() {
            if number % TURN == 0
                && let Some(text) = calls::of_b(&self.schema, canaries, number / TURN)
            {
                let request = calls::statement(&text, &self.database, takes_database);
                server(Side::B, &request).await;
            }
            let answer = server(Side::A, &case.request).await;
            if canaries.are_in(&answer, &case.sent) {
                report.findings.push(finding(case, number + 1));
            }
        }
        report.finish();
        report
    }
}

/// Returns the finding of a known value.
fn finding(case: &Case, number: usize) -> Finding {
    let rule = match &case.rule {
        Rule::Count => Rule::Value,
        rule if rule.level() == Level::Note => Rule::Value,
        rule => rule.clone(),
    };
    Finding {
        place: case.place.clone(),
        text: rule.sentence().to_owned(),
        rule,
        case: Some((case.entrance.clone(), number)),
    }
}

#[cfg(test)]
mod tests;
