//! Random statements from a fixed seed, and sessions that disturb them.

use sqlx::{AssertSqlSafe, PgConnection};

/// Numbers from a seed.
pub(super) struct Random(u64);

// === impl Random ===

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns a number from 1 to a limit.
    pub(super) fn up_to(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        1 + self.0 % limit
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
        match self.up_to(16) {
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
            _ => format!(
                "INSERT INTO leaf VALUES ({n}, {child}, 'upsert') ON CONFLICT (id) DO UPDATE \
                 SET note = 'upsert' || leaf.id WHERE leaf.id % 2 = 0"
            ),
        }
    }

    /// Returns a statement that changes or locks a row.
    fn disturbance(&mut self) -> String {
        let (n, child) = (self.up_to(60), self.up_to(180));
        match self.up_to(6) {
            1 => format!("SELECT 1 FROM parent WHERE id = {n} FOR KEY SHARE"),
            2 => format!("SELECT 1 FROM child WHERE id = {child} FOR SHARE"),
            3 => format!("UPDATE leaf SET note = 'x' WHERE id = {child}"),
            4 => format!("UPDATE loose SET c = 'x' WHERE a = {}", n % 7),
            5 => format!("SELECT 1 FROM parent WHERE id BETWEEN {n} AND {n} + 9 FOR KEY SHARE"),
            _ => format!("UPDATE part SET note = 'x' WHERE id = {n}"),
        }
    }
}

/// Changes and locks rows without end, and undoes all of it.
pub(super) async fn disturb(mut connection: PgConnection, seed: u64) {
    let mut random = Random::new(seed + 100);
    loop {
        let text = format!("BEGIN; {}; {}", random.disturbance(), random.disturbance());
        // Two of these sessions may wait for each other.
        let _ = sqlx::raw_sql(AssertSqlSafe(text))
            .execute(&mut connection)
            .await;
        let undone = sqlx::raw_sql("ROLLBACK").execute(&mut connection).await;
        undone.expect("a connection");
    }
}
