//! `similarity_search` over a hundred thousand rows, compared with the bare query on an index.
//!
//! Both search ten rows with their texts, one question after another, in turns. The bare query gets
//! the vectors of the questions; the tool must make them, and cuts, ranks and writes the rows.

use std::{fmt::Write as _, process::ExitCode, time::Instant};

use tokio::runtime::Runtime;
use ziggurat_benches::tools::{Home, Load, Postgres, Report, median, post, search};
use ziggurat_llm::Embedder;

const ROWS: u32 = 100_000;

/// Rows per statement that fills the table.
const BATCH: u32 = 500;

/// Turns of each.
const TURNS: usize = 9;

/// Questions per turn.
const QUESTIONS: usize = 100;

/// Words of a text, and of a question.
const TEXT: u32 = 30;
const QUESTION: u32 = 6;

const TABLE: &str = "CREATE EXTENSION IF NOT EXISTS vector;
    CREATE TABLE page (id int PRIMARY KEY, body text NOT NULL, body_embedding vector(256));";

const INDEX: &str = "SET maintenance_work_mem = '512MB';
    CREATE INDEX ON page USING hnsw (body_embedding vector_cosine_ops);";

const SYLLABLES: [&str; 16] = [
    "ba", "der", "fin", "gor", "hel", "jun", "kam", "lor", "mes", "nit", "pol", "rud", "sen",
    "tav", "vol", "wix",
];

/// Makes the same texts in every run, from words with different frequencies.
struct Writer {
    state: u64,
}

fn main() -> ExitCode {
    let runtime = Runtime::new().expect("a runtime");
    let embedder = Embedder::local();
    let vector = |text: &str| {
        let embedding = runtime.block_on(embedder.embed(text)).expect("a vector");
        let numbers: Vec<_> = embedding.vector.iter().map(f32::to_string).collect();
        format!("'[{}]'", numbers.join(","))
    };
    let mut writer = Writer { state: 2026 };
    let postgres = Postgres::with(TABLE);
    fill(&postgres, &mut writer, &vector);
    let entry = postgres.entry("");
    let home = Home::new(&format!(
        "{entry}embedding: {{enabled: true, provider: local}}\n"
    ));
    let token = home.token();
    let (_program, address) = home.serve();
    let questions: Vec<_> = (0..QUESTIONS).map(|_| writer.text(QUESTION)).collect();
    let bare: Vec<_> = questions.iter().map(|text| bare(&vector(text))).collect();
    let mut load = Load::new(&address, 1, Vec::new());
    let mut ask = |text: &String| {
        load.set_request(post(&address, &token, &search(text)));
        let begun = Instant::now();
        let answer = load.once();
        let time = begun.elapsed().as_secs_f64() * 1e3;
        assert!(answer.contains("Result 1/10"), "{answer}");
        time
    };

    let mut report = Report::default();
    report.print(format_args!(
        "PostgreSQL {}, {ROWS} rows",
        postgres.version()
    ));
    // One warm-up run, so that both find their data in memory.
    for text in &questions {
        ask(text);
    }
    let _ = postgres.times(&bare);
    let mut ratios = Vec::new();
    for _ in 0..TURNS {
        let theirs = median(&postgres.times(&bare));
        let times: Vec<_> = questions.iter().map(&mut ask).collect();
        let ours = median(&times);
        report.print(format_args!(
            "  p50 {ours:.2} ms; the bare query {theirs:.2} ms"
        ));
        ratios.push(ours / theirs);
    }
    report.less_than(
        "similarity_search, p50",
        median(&ratios),
        3.0,
        " of the bare query",
    );
    report.exit_code()
}

fn fill(postgres: &Postgres, writer: &mut Writer, vector: &impl Fn(&str) -> String) {
    for first in (0..ROWS).step_by(BATCH as usize) {
        let mut insert = String::from("INSERT INTO page VALUES ");
        for id in first..first + BATCH {
            let comma = if id == first { "" } else { "," };
            let text = writer.text(TEXT);
            let vector = vector(&text);
            write!(insert, "{comma}({id},'{text}',{vector})").expect("a string takes everything");
        }
        postgres.run(&insert);
    }
    postgres.run(INDEX);
    postgres.run("VACUUM ANALYZE page");
}

fn bare(vector: &str) -> String {
    format!(
        "SELECT id, body, body_embedding <=> {vector} AS distance FROM page
         ORDER BY distance LIMIT 10"
    )
}

// === impl Writer ===

impl Writer {
    fn text(&mut self, words: u32) -> String {
        let words: Vec<_> = (0..words).map(|_| self.word()).collect();
        words.join(" ")
    }

    /// One of a few thousand words.
    fn word(&mut self) -> String {
        let rare = self.below(4) == 0;
        let syllables = if rare { 4 } else { 2 };
        let places = (0..syllables).map(|_| SYLLABLES[self.below(SYLLABLES.len())]);
        places.collect()
    }

    fn below(&mut self, end: usize) -> usize {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let high = u32::try_from(self.state >> 33).expect("31 bits are left");
        usize::try_from(high).expect("no less than 32 bits") % end
    }
}
