//! Limit on the estimated cost of a statement.

use std::sync::Arc;

use serde::Deserialize;
use ziggurat_sql::Planned;

use crate::{
    driver::{DriverError, Event},
    error::{Phase, QueryError},
    statement::executor::{AttemptError, Execution, Route},
};

/// Limit on the bytes of a plan; a statement with a longer plan has no estimate.
const MAX_PLAN_BYTES: usize = 1 << 20;

const EXPLAIN: &str = "EXPLAIN (FORMAT JSON) ";

/// A plan, of which only the cost is read.
#[derive(Deserialize)]
struct Explained {
    #[serde(rename = "Plan")]
    plan: Plan,
}

#[derive(Deserialize)]
struct Plan {
    #[serde(rename = "Total Cost")]
    total_cost: f64,
}

impl Execution<'_> {
    /// Lets PostgreSQL plan the text in the open transaction, which is rolled back if the cost is
    /// above the limit.
    pub(super) async fn check_cost(&mut self, route: Route) -> Result<(), AttemptError> {
        let Some(max) = self.statement.max_cost else {
            return Ok(());
        };
        let text = &*self.statement.text;
        let planned = if route == Route::Script {
            Planned::Unknown
        } else {
            Planned::of(text)
        };
        let cost = match planned {
            Planned::Nothing => return Ok(()),
            Planned::Unknown => None,
            Planned::From(start) => {
                let characters = text[..start].chars().count();
                // Wide enough that positions do not become negative.
                let mut sql = format!("{EXPLAIN:characters$}");
                let lead = if matches!(route, Route::Limited | Route::Nested) {
                    self.write_limited(&mut sql)
                } else {
                    let lead = sql.len() - characters + self.statement.lead;
                    sql.push_str(&text[start..]);
                    lead
                };
                match self.cost(&sql).await {
                    Ok(cost) => cost,
                    Err(error) => {
                        let error = QueryError::new(error, Phase::Run, lead);
                        return Err(self.stop(error, route.wraps(), true).await);
                    }
                }
            }
        };
        if cost.is_some_and(|cost| cost <= max) {
            return Ok(());
        }
        // The estimate counts rows that the caller may not see.
        let cost = cost.filter(|_| !self.lease.database().hides_plans());
        Err(self.refuse(QueryError::TooCostly { cost, max }).await)
    }

    /// Returns the estimated cost of a plan; `None` if the plan is too long.
    async fn cost(&mut self, sql: &str) -> Result<Option<f64>, DriverError> {
        let values = Arc::clone(&self.statement.values);
        let client = self.lease.begin();
        client.set_max_row_bytes(MAX_PLAN_BYTES);
        client.set_large_rows(None);
        if values.is_empty() {
            client.queue(sql);
        } else {
            client.queue_with_values(sql, &values);
        }
        client.flush().await?;
        let mut cost = None;
        while let Some(event) = client.next().await? {
            if let Event::Row(row) = event {
                let plans: Option<Vec<Explained>> = serde_json::from_str(row.text(0)?).ok();
                // A rule of a table makes several plans of one statement.
                cost = plans.map(|plans| plans.iter().map(|it| it.plan.total_cost).sum());
            }
        }
        Ok(cost)
    }
}
