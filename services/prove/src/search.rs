//! A search for known values of B in a real database.

use crate::{
    calls::{self, Case, Known, LISTS, request::Request},
    canary::Canaries,
    failure::ProveError,
    lists::listed,
    party::{Party, Side},
    planting::Planted,
    proof::place,
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
    /// Fails if the catalogue cannot be read.
    pub async fn new(
        database: &str,
        parties: [Party; 2],
        values: &[String],
    ) -> Result<Self, ProveError> {
        let schema = Schema::of_caller(&parties[0].pool).await?;
        let mut canaries = Canaries::default();
        for value in values {
            canaries.add(value);
        }
        Ok(Self {
            database: database.to_owned(),
            parties,
            schema,
            planted: Planted::of_canaries(canaries),
        })
    }

    /// Makes the calls as A, and looks for the values in the answers.
    pub async fn report(
        self,
        weaknesses: Vec<Finding>,
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
        };
        let cases = calls::all(&known, &lists.try_into().unwrap_or_default());
        let mut report = Report {
            findings: weaknesses,
            calls: cases.len(),
            objects: self.schema.len(),
            ..Report::default()
        };
        for (number, case) in cases.iter().enumerate() {
            let answer = server(Side::A, &case.request).await;
            if self.planted.canaries.are_in(&answer, &case.sent) {
                report.findings.push(self.finding(case, number + 1));
            }
        }
        report.finish();
        report
    }

    fn finding(&self, case: &Case, number: usize) -> Finding {
        let rule = match &case.rule {
            Rule::Count => Rule::Value,
            rule if rule.level() == Level::Note => Rule::Value,
            rule => rule.clone(),
        };
        Finding {
            place: place(&self.database, &self.schema, case.object),
            text: rule.sentence().to_owned(),
            rule,
            case: Some((case.entrance.clone(), number)),
        }
    }
}
