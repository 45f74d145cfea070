//! The quality of search: nDCG@10 by vectors, by keywords, and by both.
//!
//! Four collections are judged by construction: the [book] of this project, a [made-up
//! language](synonyms), the [settings] of PostgreSQL and the [comments] of this project's code. The last
//! two took no part in the choice of the defaults. Vectors come from a [stand-in](word_vectors) for a
//! model, or are made with the language, so no network is needed and every run of one version has the
//! same figures.
//!
//! The [tools] `similarity_search` and `search_knowledgebase` are measured against the order of their
//! vectors alone.
//!
//! With the argument `--sweep`, it prints the figures of other settings too.

mod book;
mod collection;
mod comments;
mod random;
mod settings;
mod synonyms;
mod tools;
mod word_vectors;

use std::{env, process::ExitCode, sync::Arc};

use tokio::runtime::Runtime;
use ziggurat_benches::tools::{Postgres, Report};
use ziggurat_postgres::{
    database::{Database, Settings},
    pool::{Pool, Pools},
};
use ziggurat_rag_service::retrieval::{Backend, Fusion, Method, SearchOptions};

use self::{
    collection::{Collection, number},
    word_vectors::WordVectors,
};

/// Limit on the loss of both searches together against the better of the two, in one collection.
const TOLERANCE: f64 = 0.01;

/// The searches of a collection, and their figures.
struct Figures {
    vector: f64,
    keyword: f64,
    hybrid: f64,
}

fn main() -> ExitCode {
    let runtime = Runtime::new().expect("a runtime");
    let postgres = Postgres::with("CREATE EXTENSION IF NOT EXISTS vector");
    let database = Database::from_url(&postgres.url(), &Settings::default());
    let database = Arc::new(database.expect("a database"));
    let (pools, reaper) = Pools::new();
    runtime.spawn(reaper.run());
    let pool = pools.pool("bench", &database);
    let mut report = Report::default();
    report.print(format_args!("PostgreSQL {}", postgres.version()));
    let all = collections(&postgres);
    let mut figures = Vec::new();
    for collection in &all {
        collection.create(&postgres);
        let found = measure(collection, &runtime, &pool, &report);
        let better = found.vector.max(found.keyword);
        let what = format!("{}, both against the better one", collection.name);
        report.at_least(&what, found.hybrid - better, -TOLERANCE, "");
        figures.push(found);
        let compared = runtime.block_on(tools::search_knowledgebase(collection));
        compared.report("search_knowledgebase", collection, &mut report);
        let found = tools::similarity_search(collection, &database, &pools, &runtime);
        let compared = runtime.block_on(found);
        compared.report("similarity_search", collection, &mut report);
        if env::args().any(|argument| argument == "--sweep") {
            sweep(collection, &runtime, &pool, &report);
        }
    }
    let mean = |of: fn(&Figures) -> f64| figures.iter().map(of).sum::<f64>() / number(all.len());
    let better = mean(|found| found.vector).max(mean(|found| found.keyword));
    let hybrid = mean(|found| found.hybrid);
    report.at_least(
        "mean, both against the better one",
        hybrid - better,
        0.0,
        "",
    );
    pools.close_all();
    report.exit_code()
}

fn collections(postgres: &Postgres) -> [Collection; 4] {
    let (book, settings) = (book::texts(), settings::texts(postgres));
    let texts: Vec<_> = book.iter().chain(&settings).collect();
    let texts: Vec<_> = texts.iter().map(|(_, text)| &**text).collect();
    let vectors = WordVectors::learn(&texts);
    [
        book::collection(&book, &vectors),
        synonyms::collection(),
        settings::collection(&settings, &vectors),
        comments::collection(),
    ]
}

fn measure(collection: &Collection, runtime: &Runtime, pool: &Pool, report: &Report) -> Figures {
    let default = SearchOptions::default();
    let measure = |keyword, options| collection.measure(runtime, pool, keyword, options);
    report.print(format_args!(
        "{}: {} passages, {} questions",
        collection.name,
        collection.passages.len(),
        collection.questions.len()
    ));
    let figures = Figures {
        vector: measure(Backend::Auto, weighing(1.0, default)),
        keyword: measure(Backend::Auto, weighing(0.0, default)),
        hybrid: measure(Backend::Auto, default),
    };
    let by_index = [weighing(0.0, default), default];
    let by_index = by_index.map(|options| measure(Backend::Tsvector, options));
    let Figures {
        vector,
        keyword,
        hybrid,
    } = figures;
    report.print(format_args!(
        "  vectors {vector:.3}  keywords {keyword:.3}  both {hybrid:.3}"
    ));
    report.print(format_args!(
        "  with an index for keywords: keywords {:.3}  both {:.3}",
        by_index[0], by_index[1]
    ));
    figures
}

/// Prints the figures of other settings of fusion.
fn sweep(collection: &Collection, runtime: &Runtime, pool: &Pool, report: &Report) {
    let methods = [
        ("rrf, k 20", Method::ReciprocalRank(20.0)),
        ("rrf, k 60", Method::RECIPROCAL_RANK),
        ("weighted", Method::WeightedSum),
    ];
    for candidates in [20, 100] {
        let default = SearchOptions::default();
        let options = SearchOptions {
            candidates,
            ..default
        };
        let figure = collection.measure(runtime, pool, Backend::Auto, options);
        report.print(format_args!("  candidates {candidates}: {figure:.3}"));
    }
    for (name, method) in methods {
        let weights = [0.3, 0.4, 0.5, 0.6, 0.7];
        let figures = weights.map(|weight| {
            let options = SearchOptions::default();
            let fusion = Fusion {
                method,
                ..options.fusion
            };
            let options = weighing(weight, SearchOptions { fusion, ..options });
            let figure = collection.measure(runtime, pool, Backend::Auto, options);
            format!("{weight}: {figure:.3}")
        });
        report.print(format_args!("  {name}, vectors {}", figures.join("  ")));
    }
}

fn weighing(vector_weight: f64, options: SearchOptions) -> SearchOptions {
    let fusion = Fusion {
        vector_weight,
        ..options.fusion
    };
    SearchOptions { fusion, ..options }
}
