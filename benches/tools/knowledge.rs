//! A search of 50,000 chunks with vectors of 768 numbers, with all data in memory and read from the
//! file, and its memory.
//!
//! Uses the service directly, without a provider, because making the vector of a question takes
//! whatever time the model needs.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use sqlx::{ConnectOptions as _, Connection as _, sqlite::SqliteConnectOptions};
use ziggurat_benches::tools::{Report, median};
use ziggurat_knowledge::{Filter, KnowledgeBase, Provider};

const CHUNKS: u32 = 50_000;
const DIMENSIONS: usize = 768;

/// Number of subjects of the chunks.
const SUBJECTS: usize = 200;

/// Searches of each kind.
const SEARCHES: usize = 201;
const SLOW_SEARCHES: usize = 5;

/// Passages per answer: the maximum.
const COUNT: usize = 20;

const SCHEMA: &str = "CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL, title TEXT, section TEXT,
    project_name TEXT NOT NULL, project_version TEXT NOT NULL, file_path TEXT,
    source_file_checksum TEXT, openai_embedding BLOB, voyage_embedding BLOB,
    ollama_embedding BLOB, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
    CREATE INDEX idx_project ON chunks(project_name, project_version)";

/// Makes vectors like a model: all point roughly one way, and vectors of one subject are close.
struct Model {
    state: u64,
    subjects: Vec<Vec<f32>>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("docs.db");
    let mut model = Model::new();
    write(&file, &mut model).await;
    let mut report = Report::default();
    let size = fs::metadata(&file).expect("written").len() >> 20;
    report.print(format_args!(
        "{CHUNKS} chunks of {DIMENSIONS} numbers, {size} MiB"
    ));

    let base = KnowledgeBase::new(&file, Provider::Ollama);
    let before = memory();
    let begun = Instant::now();
    base.warm().await.expect("a knowledge base");
    let took = begun.elapsed().as_secs_f64() * 1e3;
    report.print(format_args!("read for the first time: {took:.0} ms"));
    report.less_than("memory it keeps", memory() - before, 64.0, " MiB");

    let mut times = times(&base, &mut model, SEARCHES).await;
    times.sort_by(f64::total_cmp);
    report.less_than("search, p50", median(&times), 25.0, " ms");
    report.less_than("search, p95", times[SEARCHES * 95 / 100], 25.0, " ms");
    report.less_than("memory after that", memory() - before, 80.0, " MiB");
    drop(base);

    let base = KnowledgeBase::new(&file, Provider::Ollama).with_max_bytes(0);
    let before = memory();
    base.warm().await.expect("a knowledge base");
    let slow = self::times(&base, &mut model, SLOW_SEARCHES).await;
    report.print(format_args!("read through: {:.0} ms", median(&slow)));
    report.less_than("memory for that", memory() - before, 16.0, " MiB");
    report.exit_code()
}

async fn times(base: &KnowledgeBase, model: &mut Model, searches: usize) -> Vec<f64> {
    let mut times = Vec::new();
    for turn in 0..searches {
        let question = model.vector(turn % SUBJECTS);
        let begun = Instant::now();
        let search = base.search(&Filter::default()).await.expect("prepared");
        let found = search.nearest(&question, COUNT).await.expect("found");
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        assert_eq!(found.len(), COUNT);
    }
    times
}

async fn write(file: &Path, model: &mut Model) {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true);
    let mut connection = options.connect().await.expect("a database");
    let mut transaction = connection.begin().await.expect("a transaction");
    sqlx::raw_sql(SCHEMA)
        .execute(&mut *transaction)
        .await
        .expect("tables");
    let text = "Some words that stand for a passage of a document. ".repeat(20);
    for chunk in 0..CHUNKS {
        let vector = model.vector(usize::try_from(chunk).expect("small") % SUBJECTS);
        let bytes: Vec<u8> = vector.iter().flat_map(|v| v.to_le_bytes()).collect();
        sqlx::query(
            "INSERT INTO chunks (text, title, project_name, project_version, ollama_embedding) \
             VALUES (?1, 'Title', 'Product', ?2, ?3)",
        )
        .bind(&*text)
        .bind((chunk % 4).to_string())
        .bind(bytes)
        .execute(&mut *transaction)
        .await
        .expect("inserted");
    }
    transaction.commit().await.expect("committed");
    connection.close().await.expect("closed");
}

/// The memory of this process, in MiB.
fn memory() -> f64 {
    let status = fs::read_to_string(PathBuf::from("/proc/self/status")).expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kilobytes: f64 = kilobytes.and_then(|kb| kb.parse().ok()).expect("a number");
    kilobytes / 1024.0
}

// === impl Model ===

impl Model {
    fn new() -> Self {
        let mut model = Self {
            state: 1,
            subjects: Vec::new(),
        };
        let lean: Vec<f32> = (0..DIMENSIONS).map(|_| model.random()).collect();
        model.subjects = (0..SUBJECTS)
            .map(|_| lean.iter().map(|lean| lean + model.random()).collect())
            .collect();
        model
    }

    /// A vector of a text about a subject.
    fn vector(&mut self, subject: usize) -> Vec<f32> {
        let subject = self.subjects[subject].clone();
        subject
            .into_iter()
            .map(|value| value + self.random())
            .collect()
    }

    /// A number between -1 and 1.
    fn random(&mut self) -> f32 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let [.., a, b] = self.state.to_le_bytes();
        f32::from(i16::from_le_bytes([a, b])) / 32768.0
    }
}
