//! Measures the processor time of PostgreSQL for a text before it checks for a cancellation.
//!
//! Makes random texts of up to 10 MB of comments, operators, quotes, dollar quotes and brackets,
//! sends those that the policy admits to a real PostgreSQL, and fails if one of them takes more
//! than two seconds of processor time beyond the statement timeout:
//!
//! ```sh
//! bash tests/long/run lexing
//! ```
//!
//! The arguments are the number of texts, the maximum run time in seconds (unlimited by default),
//! and the seed (1).

use std::{
    env,
    error::Error,
    fs,
    io::{self, Write as _},
    time::{Duration, Instant},
};

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use ziggurat_local_pg::{LocalPg, TestDatabase};
use ziggurat_sql::Policy;

const MAX_BYTES: u64 = 10_000_000;

const TIMEOUT: Duration = Duration::from_millis(500);

/// Processor time that a text may take beyond its timeout.
const ALLOWED: Duration = Duration::from_secs(2);

/// Processor time is counted in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

const PIECES: &[&str] = &[
    "/*", "*/", "/**/", "--", "--\n", "\n", " ", "+", "-", "*", "/", "+-", "=", "<>", "<", "|",
    "||", "@", "~", "!", "#", "%", "^", "&", "`", "?", "'", "''", "\"", "\"\"", "E'", "\\", "\\'",
    "U&'", "U&\"", "B'", "$", "$$", "$a$", "$ab$", "$1", "(", ")", "()", "[", "]", "[]", "{", "}",
    ",", ".", "..", ":", "::", ":=", ";", "a", "1", "1.", "1e", "0x", "é", "x ", "'a'", "\"a\"",
    "'\n'", "-- '\n", "/* ", " */",
];

const STARTS: &[&str] = &[
    "",
    "SELECT 1 ",
    "SELECT ",
    "SELECT '",
    "SELECT $a$",
    "SELECT /*",
    "(",
];

const ENDS: &[&str] = &["", " 1", "'", "*/", "*/ 1", "\n1", ")", "$a$"];

/// `SplitMix64`: the same texts for the same seed on all machines.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn one_of(&mut self, list: &[&'static str]) -> &'static str {
        let at = self.below(list.len() as u64);
        usize::try_from(at).map_or("", |at| list[at])
    }

    /// All orders of magnitude are equally likely.
    fn length(&mut self, most: u64) -> u64 {
        let bits = u64::from(most.ilog2());
        let order = 1 << self.below(bits + 1);
        (order + self.below(order)).min(most)
    }

    /// Runs of a few pieces each, since quadratic cost shows only in long texts.
    fn text(&mut self) -> String {
        let most = self.length(MAX_BYTES);
        let mut text = String::from(self.one_of(STARTS));
        while (text.len() as u64) < most {
            let pieces = 1 + self.below(4);
            let run: String = (0..pieces).map(|_| self.one_of(PIECES)).collect();
            let left = most.saturating_sub(text.len() as u64) / run.len() as u64 + 1;
            for _ in 0..self.length(left) {
                text.push_str(&run);
            }
        }
        text.push_str(self.one_of(ENDS));
        text
    }
}

/// A connection, and the server process behind it.
struct Backend {
    connection: PgConnection,
    process: i32,
}

impl Backend {
    async fn connect(database: &TestDatabase) -> Result<Self, Box<dyn Error>> {
        let mut connection = database.connect().await?;
        let timeout = format!("SET statement_timeout = {}", TIMEOUT.as_millis());
        sqlx::raw_sql(AssertSqlSafe(timeout))
            .execute(&mut connection)
            .await?;
        let process = sqlx::query_scalar("SELECT pg_backend_pid()")
            .fetch_one(&mut connection)
            .await?;
        Ok(Self {
            connection,
            process,
        })
    }

    /// The user and system time of the process so far.
    fn used(&self) -> Result<Duration, Box<dyn Error>> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process))?;
        let (_, fields) = stat.rsplit_once(')').ok_or("no name in the stat file")?;
        let ticks: Vec<u32> = fields
            .split_ascii_whitespace()
            .skip(11)
            .take(2)
            .map(str::parse)
            .collect::<Result<_, _>>()?;
        Ok(TICK * ticks.iter().sum())
    }

    /// Sends a text, and returns the processor time. Any result is fine as long as the connection
    /// stays open.
    async fn cost(&mut self, text: &str) -> Result<Duration, Box<dyn Error>> {
        let before = self.used()?;
        let text = AssertSqlSafe(text.to_owned());
        if let Err(error) = sqlx::raw_sql(text).execute(&mut self.connection).await
            && error.as_database_error().is_none()
        {
            return Err(Box::new(error));
        }
        Ok(self.used()?.saturating_sub(before))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1).map(|argument| argument.parse::<u64>());
    let mut argument = |default| arguments.next().unwrap_or(Ok(default));
    let (count, seconds, seed) = (argument(1000)?, argument(u64::MAX)?, argument(1)?);
    let pg = LocalPg::start().await?;
    let database = pg.database().await?;
    let mut backend = Backend::connect(&database).await?;
    let began = Instant::now();
    let (mut made, mut sent, mut worst) = (0_u64, 0_u64, Duration::ZERO);
    while made < count && began.elapsed().as_secs() < seconds {
        made += 1;
        let text = Random(seed.wrapping_mul(1_000_003).wrapping_add(made)).text();
        if Policy::read_only().check(&text).is_err() {
            continue;
        }
        sent += 1;
        let cost = backend
            .cost(&text)
            .await
            .map_err(|error| format!("text {made} of seed {seed}: {error}"))?;
        if cost > TIMEOUT + ALLOWED {
            let start: String = text.chars().take(200).collect();
            let length = text.len();
            let message = format!("text {made} of seed {seed}, {length} bytes: {cost:?}\n{start}");
            return Err(message.into());
        }
        worst = worst.max(cost);
    }
    backend.connection.close().await?;
    writeln!(
        io::stdout(),
        "{made} texts in {:?}, {sent} of them sent; the worst took PostgreSQL {worst:?}",
        began.elapsed()
    )?;
    Ok(())
}
