//! Time to find passages in tables of ten thousand, a hundred thousand and a million rows: by
//! keywords, and in the largest also by keywords and vectors.
//!
//! The words are made up by PostgreSQL and distributed as in a language: word n is used 1/n as
//! often as the first. For searches by keywords alone the searched vector column is empty, so that
//! the vector search costs nothing.

use std::{process::ExitCode, sync::Arc, time::Instant};

use tokio::runtime::Runtime;
use ziggurat_benches::tools::{Postgres, Report, median};
use ziggurat_postgres::{
    database::{Database, Settings},
    pool::{Pool, Pools},
};
use ziggurat_rag_service::retrieval::{
    Backend, FilterColumns, Retriever, SearchOptions, SearchRequest, Table,
};

/// Rows of each table, and the most milliseconds a search by keywords may take.
const SIZES: [(u32, f64); 3] = [(10_000, 10.0), (100_000, 20.0), (1_000_000, 40.0)];

/// Most milliseconds a search of the largest table by keywords and vectors may take.
const HYBRID: f64 = 60.0;

/// Few, so that the index over a million vectors is built within minutes.
const DIMENSIONS: u32 = 16;

/// Questions per turn.
const QUESTIONS: usize = 50;

/// Turns per measurement.
const TURNS: usize = 5;

/// Number of distinct words.
const WORDS: u32 = 50_000;

const DIGITS: &str = "bdfgklmnpr";

/// Makes the same questions in every run.
struct QuestionMaker {
    state: u64,
}

fn main() -> ExitCode {
    let runtime = Runtime::new().expect("a runtime");
    let postgres = Postgres::with(&language());
    let database = Database::from_url(&postgres.url(), &Settings::default());
    let database = Arc::new(database.expect("a database"));
    let (pools, reaper) = Pools::new();
    runtime.spawn(reaper.run());
    let pool = pools.pool("bench", &database);
    let mut maker = QuestionMaker { state: 2026 };
    let questions: Vec<_> = (0..QUESTIONS).map(|_| maker.question()).collect();

    let mut report = Report::default();
    report.print(format_args!("PostgreSQL {}", postgres.version()));
    for (rows, target) in SIZES {
        let table = fill(&postgres, rows);
        let retriever = retriever(&pool, &table, "nothing");
        let figure = measure(&runtime, &retriever, &questions, &report);
        let what = format!("words, {rows} rows, p50");
        report.less_than(&what, figure, target, " ms");
        if rows == SIZES[2].0 {
            index(&postgres, &table, &report);
            let retriever = self::retriever(&pool, &table, "embedding");
            let figure = measure(&runtime, &retriever, &questions, &report);
            let what = format!("words and meaning, {rows} rows, p50");
            report.less_than(&what, figure, HYBRID, " ms");
        }
    }
    pools.close_all();
    report.exit_code()
}

/// An SQL function that makes texts.
fn language() -> String {
    format!(
        "CREATE EXTENSION IF NOT EXISTS vector;
         CREATE FUNCTION text_of(n int) RETURNS text LANGUAGE sql VOLATILE AS $$
             SELECT string_agg(translate(floor(exp(random() * ln({WORDS})))::int::text,
                 '0123456789', '{DIGITS}') || 'x', ' ') FROM generate_series(1, 20 + n % 61) $$;
         CREATE FUNCTION vector_of(n int) RETURNS vector LANGUAGE sql VOLATILE AS $$
             SELECT array_agg(random() - 0.5)::vector
             FROM generate_series(1, {DIMENSIONS}) WHERE n > 0 $$;"
    )
}

/// Fills a table, with an index over its words and a column without vectors.
fn fill(postgres: &Postgres, rows: u32) -> String {
    let table = format!("docs_{rows}");
    postgres.run(&format!(
        "SELECT setseed(0.5);
         CREATE TABLE {table} (id int PRIMARY KEY, content text NOT NULL,
             embedding vector({DIMENSIONS}), nothing vector({DIMENSIONS}));
         INSERT INTO {table} SELECT n, text_of(n), vector_of(n), NULL
             FROM generate_series(1, {rows}) AS n;
         SET maintenance_work_mem = '512MB';
         CREATE INDEX ON {table} USING gin (to_tsvector('english', content));
         CREATE INDEX ON {table} (id) WHERE nothing IS NOT NULL;"
    ));
    postgres.run(&format!("VACUUM ANALYZE {table}"));
    table
}

fn index(postgres: &Postgres, table: &str, report: &Report) {
    let begun = Instant::now();
    postgres.run(&format!(
        "SET maintenance_work_mem = '1GB';
         CREATE INDEX ON {table} USING hnsw (embedding vector_cosine_ops);"
    ));
    report.print(format_args!(
        "  the index over vectors of {DIMENSIONS} dimensions took {:.0} s",
        begun.elapsed().as_secs_f64()
    ));
}

fn retriever(pool: &Pool, table: &str, vector: &str) -> Retriever {
    let table = Table {
        name: table.to_owned(),
        text: "content".to_owned(),
        vector: vector.to_owned(),
        id: Some("id".to_owned()),
        title: None,
        url: None,
        filter: None,
        filter_columns: FilterColumns::Shown,
        keyword: Backend::Tsvector,
        text_search_config: None,
        keyword_columns: Vec::new(),
        order: None,
    };
    Retriever::new(pool.clone(), "bench", vec![table], SearchOptions::default())
}

/// The median of all questions, after a warm-up turn.
fn measure(runtime: &Runtime, retriever: &Retriever, questions: &[String], report: &Report) -> f64 {
    let mut times = Vec::new();
    for turn in 0..=TURNS {
        let now: Vec<_> = questions
            .iter()
            .zip(0_u8..)
            .map(|(text, number)| runtime.block_on(ask(retriever, text, number)))
            .collect();
        if turn == 0 {
            report.print(format_args!("  cold: p50 {:.2} ms", median(&now)));
        } else {
            report.print(format_args!("  p50 {:.2} ms", median(&now)));
            times.extend(now);
        }
    }
    median(&times)
}

async fn ask(retriever: &Retriever, text: &str, number: u8) -> f64 {
    let question = SearchRequest {
        text,
        filter: None,
        top_n: 10,
        disable_hybrid: false,
        operators: None,
    };
    let vector: Vec<_> = (0..DIMENSIONS)
        .zip(0_u8..)
        .map(|(_, place)| f32::from(number.wrapping_mul(37) ^ place) - 100.0)
        .collect();
    let begun = Instant::now();
    let found = retriever.find(&question, std::future::ready(Ok(vector)));
    let found = found.await.expect("passages");
    let time = begun.elapsed().as_secs_f64() * 1e3;
    assert!(!found.is_empty(), "{text}");
    time
}

// === impl QuestionMaker ===

impl QuestionMaker {
    /// A common word, two less common ones, and two rare ones.
    fn question(&mut self) -> String {
        let ranges = [
            (1, 50),
            (50, 500),
            (200, 2000),
            (1000, 10_000),
            (2000, WORDS),
        ];
        let words: Vec<_> = ranges.map(|(first, end)| self.word(first, end)).into();
        words.join(" ")
    }

    fn word(&mut self, first: u32, end: u32) -> String {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let high = u32::try_from(self.state >> 33).expect("31 bits are left");
        let number = (first + high % (end - first)).to_string();
        let letters = number.bytes().map(|digit| {
            let place = usize::from(digit - b'0');
            DIGITS.as_bytes()[place]
        });
        letters.map(char::from).chain(['x']).collect()
    }
}
