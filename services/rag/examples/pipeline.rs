//! A pipeline in code: answers questions from the table `docs` of a local PostgreSQL.
//!
//! ```sql
//! CREATE EXTENSION vector;
//! CREATE TABLE docs (id text, content text, embedding vector(256));
//! ```
//!
//! The providers are those that need no network. Try it with
//! `curl -d '{"query": "What do ferns like?"}' http://localhost:8080/v1/pipelines/docs`.

use std::{error::Error, sync::Arc};

use tokio::net::TcpListener;
use ziggurat_llm::{Completer, Embedder};
use ziggurat_postgres::{
    database::{Database, Settings},
    pool::Pools,
};
use ziggurat_rag_service::{
    self as rag, Options, Parts, Pipeline, Pipelines,
    retrieval::{Backend, FilterColumns, Retriever, SearchOptions, Table},
};
use ziggurat_runtime::signals;
use ziggurat_serve::{Limits, Server};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let database = Database::try_from(Settings {
        name: "docs".into(),
        host: "localhost".into(),
        database: "postgres".into(),
        user: "postgres".into(),
        ..Settings::default()
    })?;
    let (pools, reaper) = Pools::new();
    let pool = pools.pool("docs", &Arc::new(database));
    let table = Table {
        name: "docs".into(),
        text: "content".into(),
        vector: "embedding".into(),
        id: Some("id".into()),
        title: None,
        url: None,
        filter: None,
        filter_columns: FilterColumns::All,
        keyword: Backend::Auto,
        text_search_config: None,
        keyword_columns: Vec::new(),
        order: None,
    };
    let pipeline = Pipeline::new(Parts {
        name: "docs".into(),
        description: "All about gardens".into(),
        callers: None,
        retriever: Retriever::new(pool, "docs", vec![table], SearchOptions::default()),
        embedder: Embedder::local(),
        completer: Completer::local(),
        rewriter: None,
        reranker: None,
        top_n: 10,
        token_budget: 4000,
        system_prompt: None,
        allow_include_sources: true,
        allow_debug: false,
        min_score: None,
        no_answer: None,
        max_tokens: None,
        temperature: None,
    });
    let service = rag::service(Pipelines::new(vec![pipeline]), Options::default());
    let listener = TcpListener::bind("localhost:8080").await?;
    let stop = signals::stop()?;
    // The reaper closes connections that are no longer needed.
    tokio::select! {
        served = Server::new(Limits::default()).serve(listener, service, stop) => Ok(served?),
        () = reaper.run() => Ok(()),
    }
}
