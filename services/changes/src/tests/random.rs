//! Random statements from a fixed seed, and sessions that disturb them.

use std::time::Duration;

use sqlx::{AssertSqlSafe, PgConnection};
use tokio::{task::JoinSet, time::MissedTickBehavior};
use ziggurat_postgres::fixture::Fixture;

/// Time from one disturbance of a session to the next.
const PACE: Duration = Duration::from_millis(2);

/// Numbers from a seed.
pub(super) struct Random {
    state: u64,
    /// PostgreSQL has MERGE.
    has_merge: bool,
}

// === impl Random ===

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            has_merge: false,
        }
    }

    /// Sets whether PostgreSQL has MERGE.
    pub(super) fn with_merge(self, has_merge: bool) -> Self {
        Self { has_merge, ..self }
    }

    /// Returns a number from 1 to a limit.
    pub(super) fn up_to(&mut self, limit: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        1 + self.state % limit
    }

    /// Returns one statement, or several.
    pub(super) fn statement(&mut self) -> String {
        let first = self.one();
        if self.up_to(4) > 1 {
            return first;
        }
        format!("{first}; {}", self.one())
    }

    fn one(&mut self) -> String {
        let (n, few) = (self.up_to(60), self.up_to(8));
        let (child, part) = (self.up_to(180), self.up_to(80));
        match self.up_to(20) {
            1 => format!("DELETE FROM parent WHERE id BETWEEN {n} AND {n} + {few}"),
            2 => format!("UPDATE parent SET id = id + 1000 WHERE id BETWEEN {n} AND {n} + {few}"),
            3 => format!(
                "INSERT INTO parent (id, name) SELECT g, 'new' FROM generate_series({n} + 50, \
                 {n} + 50 + {few}) AS g ON CONFLICT (id) DO UPDATE SET name = excluded.name"
            ),
            4 => format!(
                "UPDATE part SET region = CASE region WHEN 'a' THEN 'b' ELSE 'a' END \
                 WHERE id BETWEEN {part} AND {part} + {few}"
            ),
            5 => format!("SELECT divided({child}, {child} + {few})"),
            6 => format!("SELECT divided({child}, {child} + 90)"),
            7 => format!("SELECT there_and_back({n})"),
            8 => format!("UPDATE child SET note = note WHERE id < {child}"),
            9 => format!("UPDATE leaf SET note = left(note, {n}) WHERE child_id = {child}"),
            10 => {
                format!("UPDATE loose SET a = a + 1 WHERE a = {few}; DELETE FROM loose WHERE a = 2")
            }
            11 => format!("INSERT INTO loose VALUES ({few}, 'b1', NULL), ({few}, 'b1', NULL)"),
            12 => format!(
                "WITH gone AS (DELETE FROM leaf WHERE id % 50 = {few} RETURNING id, note) \
                 INSERT INTO loose SELECT id, 'moved', left(note, 20) FROM gone"
            ),
            13 => format!("UPDATE shown SET name = 'shown' WHERE id = {n}"),
            14 => format!("DELETE FROM ruled WHERE a = {few}"),
            15 => format!("UPDATE child SET id = id + 1000 WHERE id = {child}"),
            16 if self.has_merge => format!(
                "MERGE INTO child AS c USING (SELECT g AS id FROM generate_series({child}, {child} \
                 + {few}) AS g) AS s ON c.id = s.id * 2 WHEN MATCHED AND c.id % 3 = 0 THEN DELETE \
                 WHEN MATCHED THEN UPDATE SET note = 'merged' \
                 WHEN NOT MATCHED THEN INSERT VALUES (s.id + 5000, {n}, 'merged')"
            ),
            // Values that PostgreSQL keeps in another table, since they cannot be compressed.
            17 => format!(
                "UPDATE leaf SET note = (SELECT string_agg(md5((g * leaf.id)::text), '') \
                 FROM generate_series(1, 300) AS g) WHERE child_id = {child}"
            ),
            18 => format!("UPDATE leaf SET id = id + 1000 WHERE length(note) > 8000 OR id = {n}"),
            19 => format!(
                "SET CONSTRAINTS ALL DEFERRED; UPDATE leaf SET note = 'deferred' WHERE id = {n}; \
                 SET CONSTRAINTS ALL IMMEDIATE; DELETE FROM leaf WHERE id = {n}"
            ),
            _ => format!(
                "INSERT INTO leaf VALUES ({n}, {child}, 'upsert') ON CONFLICT (id) DO UPDATE \
                 SET note = 'upsert' || leaf.id WHERE leaf.id % 2 = 0"
            ),
        }
    }

    /// Returns a statement that changes or locks a row.
    fn disturbance(&mut self) -> String {
        let (n, child) = (self.up_to(60), self.up_to(180));
        match self.up_to(8) {
            7 => format!("DELETE FROM leaf WHERE id = {n}"),
            8 => format!("SELECT 1 FROM child WHERE id BETWEEN {n} AND {n} + 9 FOR NO KEY UPDATE"),
            1 => format!("SELECT 1 FROM parent WHERE id = {n} FOR KEY SHARE"),
            2 => format!("SELECT 1 FROM child WHERE id = {child} FOR SHARE"),
            3 => format!("UPDATE leaf SET note = 'x' WHERE id = {child}"),
            4 => format!("UPDATE loose SET c = 'x' WHERE a = {}", n % 7),
            5 => format!("SELECT 1 FROM parent WHERE id BETWEEN {n} AND {n} + 9 FOR KEY SHARE"),
            _ => format!("UPDATE part SET note = 'x' WHERE id = {n}"),
        }
    }
}

/// Starts four sessions that disturb others until the result is dropped.
pub(super) async fn disturb_all(fixture: &Fixture) -> JoinSet<()> {
    let mut disturbing = JoinSet::new();
    for seed in 0..4 {
        let connection = fixture.connect().await;
        disturbing.spawn(disturb(connection, seed));
    }
    disturbing
}

/// Changes and locks rows without end, and undoes all of it.
async fn disturb(mut connection: PgConnection, seed: u64) {
    let mut random = Random::new(seed + 100);
    // At a pace that leaves most of the processors to the previews.
    let mut pace = tokio::time::interval(PACE);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        pace.tick().await;
        let text = format!("BEGIN; {}; {}", random.disturbance(), random.disturbance());
        // Two of these sessions may wait for each other.
        let _ = sqlx::raw_sql(AssertSqlSafe(text))
            .execute(&mut connection)
            .await;
        let undone = sqlx::raw_sql("ROLLBACK").execute(&mut connection).await;
        undone.expect("a connection");
    }
}
