//! The steps of a proof.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{
    calls::{self, Case, Known, LISTS, TURN, pipeline::Pipeline, request::Request},
    compare,
    failure::ProveError,
    lists::listed,
    party::{Party, Side},
    planting::{Planted, world::World},
    report::{Finding, Place, Report},
    rule::Rule,
    schema::Schema,
    throw_away::ThrowAwayDatabase,
};

/// Runs of a statement with a time.
const TIMED: usize = 21;

/// Times below it are noise.
const MIN_TIME: Duration = Duration::from_millis(25);

/// A proof for two callers.
#[derive(Debug)]
pub struct Proof {
    database: String,
    throw_away: ThrowAwayDatabase,
    parties: [Party; 2],
    schema: Schema,
    reachable: Schema,
    may_write: bool,
    worlds: Vec<Planted>,
    pipelines: Vec<Pipeline>,
    cases: Vec<Case>,
    /// Pipelines that find no row of B for B, and the reason.
    blind: Vec<(Place, String)>,
    /// Tools have the argument `database`.
    takes_database: bool,
    answers: [Vec<String>; 2],
    times: [Vec<Duration>; 2],
}

// === impl Proof ===

impl Proof {
    /// Reads the schema, and the part that A may reach. `may_write` says whether A's statements may
    /// change rows.
    ///
    /// # Errors
    /// Fails if the schema cannot be read.
    pub async fn new(
        database: &str,
        throw_away: &ThrowAwayDatabase,
        mut parties: [Party; 2],
        may_write: bool,
    ) -> Result<Self, ProveError> {
        let schema = Schema::of_owner(&mut throw_away.owner().await?).await?;
        for party in &mut parties {
            party.look_at(&schema).await?;
        }
        let reachable = schema.reachable(&parties[0].pool).await?;
        Ok(Self {
            database: database.to_owned(),
            throw_away: throw_away.clone(),
            parties,
            schema,
            reachable,
            may_write,
            worlds: Vec::new(),
            pipelines: Vec::new(),
            cases: Vec::new(),
            blind: Vec::new(),
            takes_database: false,
            answers: Default::default(),
            times: Default::default(),
        })
    }

    /// Empties the database and fills it with a world.
    ///
    /// # Errors
    /// Fails if the owner may not do that. A table without rows of B is part of the report.
    pub async fn plant(&mut self, world: World) -> Result<(), ProveError> {
        self.throw_away.empty().await?;
        let mut owner = self.throw_away.owner().await?;
        let filled = Planted::fill(&mut owner, &self.schema, &self.parties, world);
        self.worlds.push(filled.await?);
        Ok(())
    }

    /// Makes all calls of A in a world through a server, with calls of B between them. The pipelines
    /// are those that the server asks.
    pub async fn ask(
        &mut self,
        world: World,
        pipelines: &[Pipeline],
        server: impl AsyncFn(Side, &Request) -> String,
    ) {
        let canaries = &self.worlds[world.index()].canaries;
        if world == World::First {
            let mut lists = Vec::new();
            for (method, member) in LISTS {
                lists.push(listed(method, member, &server).await);
            }
            let lists: [Vec<Value>; 4] = lists.try_into().unwrap_or_default();
            self.pipelines = pipelines.to_vec();
            self.cases = calls::all(&self.known(), &lists);
            self.takes_database = calls::takes_database(&lists[0]);
            self.blind = calls::questions::blind(&self.cases, canaries, &server).await;
        }
        let mut answers = Vec::new();
        for (number, case) in self.cases.iter().enumerate() {
            if number % TURN == 0
                && let Some(text) = calls::of_b(&self.reachable, canaries, number / TURN)
            {
                server(Side::B, &self.statement(&text)).await;
            }
            answers.push(server(Side::A, &case.request).await);
        }
        self.answers[world.index()] = answers;
        self.times[world.index()] = self.timed(&server).await;
    }

    /// Returns the median time of a count, by table.
    async fn timed(&self, server: &impl AsyncFn(Side, &Request) -> String) -> Vec<Duration> {
        let mut medians = Vec::new();
        for table in &self.reachable.relations {
            let text = format!("SELECT count(*) FROM {}", table.quoted);
            let request = self.statement(&text);
            let mut times = Vec::new();
            for _ in 0..TIMED {
                let begun = Instant::now();
                server(Side::A, &request).await;
                times.push(begun.elapsed());
            }
            times.sort_unstable();
            medians.push(times[TIMED / 2]);
        }
        medians
    }

    fn statement(&self, text: &str) -> Request {
        calls::statement(text, &self.database, self.takes_database)
    }

    fn known(&self) -> Known<'_> {
        Known {
            database: &self.database,
            schema: &self.reachable,
            whole: &self.schema,
            planted: &self.worlds[0],
            other: &self.parties[1],
            writes: self.may_write,
            pipelines: &self.pipelines,
        }
    }

    /// Compares the answers. `weaknesses` are findings about the definition of the schema.
    #[must_use]
    pub fn report(self, weaknesses: Vec<Finding>) -> Report {
        let mut report = Report {
            findings: weaknesses,
            inconclusive: self.inconclusive(),
            calls: self.cases.len(),
            objects: self.reachable.len(),
        };
        let [first, second] = &self.answers;
        if let [one, two] = &self.worlds[..] {
            let answers = first.iter().zip(second);
            for (number, (case, (first, second))) in self.cases.iter().zip(answers).enumerate() {
                let canaries = [&one.canaries, &two.canaries];
                if let Some(rule) = compare::broken(case, [first, second], canaries) {
                    report.findings.push(Finding {
                        place: case.place.clone(),
                        text: rule.sentence().to_owned(),
                        rule,
                        case: Some((case.entrance.clone(), number + 1)),
                    });
                }
            }
        }
        report.findings.extend(self.slow());
        report.finish();
        report
    }

    /// Returns the tables on which the time of a count depends on the world.
    fn slow(&self) -> Vec<Finding> {
        let [first, second] = &self.times;
        let pairs = first.iter().zip(second).enumerate();
        let is_slow = |(_, (one, two)): &(usize, (&Duration, &Duration))| {
            let (less, more) = (one.min(two), one.max(two));
            **more >= MIN_TIME && **more >= **less * 2
        };
        let finding = |(number, _): (usize, _)| Finding {
            place: Place::of_relation(&self.database, &self.reachable.relations[number]),
            rule: Rule::Timing,
            text: Rule::Timing.sentence().to_owned(),
            case: None,
        };
        pairs.filter(is_slow).map(finding).collect()
    }

    fn inconclusive(&self) -> Vec<(Place, String)> {
        let mut found = self.blind.clone();
        for (oid, error) in self.worlds.iter().flat_map(|it| &it.failed) {
            let Some(table) = self.schema.relations.iter().find(|it| it.oid == *oid) else {
                continue;
            };
            let reason = format!(
                "no canary of B could be planted in {}: {error}",
                table.quoted
            );
            let place = Place::of_relation(&self.database, table);
            if !found.iter().any(|(known, _)| *known == place) {
                found.push((place, reason));
            }
        }
        found.sort();
        found
    }
}
