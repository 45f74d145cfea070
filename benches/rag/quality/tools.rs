//! The searches of `ziggurat-tools`: `similarity_search` and `search_knowledgebase`, each against the
//! order of its vectors alone.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use axum::{Json, Router, routing::post};
use serde_json::{Value, json};
use tokio::{net::TcpListener, runtime::Runtime};
use ziggurat_answers::test_server;
use ziggurat_benches::tools::Report;
use ziggurat_databases::{Configured, Databases};
use ziggurat_knowledge::{
    Filter, Provider as Column,
    fixture::{Chunk, KnowledgeFile},
};
use ziggurat_llm::{self as llm, Access, Http, Provider};
use ziggurat_postgres::{database::Database, pool::Pools};
use ziggurat_postgres_tools::{Embedder, SimilaritySearch};

use super::collection::{Collection, DEPTH, Judged, number};

/// Tokens of an answer: enough for all passages that count.
const MAX_OUTPUT_TOKENS: u32 = 100_000;

/// The mean nDCG@10 by vectors alone, and by vectors and words.
#[derive(Debug)]
pub(super) struct Compared {
    pub(super) vector: f64,
    pub(super) both: f64,
}

/// Measures `search_knowledgebase` over the passages of a collection.
pub(super) async fn search_knowledgebase(collection: &Collection) -> Compared {
    let vectors = collection.passages.iter();
    let vectors: Vec<_> = vectors.map(|passage| single(&passage.vector)).collect();
    let passages = collection.passages.iter().zip(&vectors);
    let chunks = passages.map(|(passage, vector)| Chunk {
        product: (collection.name, ""),
        place: (None, None),
        text: &passage.text,
        vector,
    });
    let file = KnowledgeFile::with(&chunks.collect::<Vec<_>>()).await;
    let passages = collection.passages.iter();
    let ids: HashMap<_, _> = passages
        .map(|passage| (&*passage.text, &*passage.id))
        .collect();
    let base = file.base(Column::OpenAi);
    let search = base.search(&Filter::default()).await.expect("a file");
    let mut compared = Compared::zero();
    for judged in &collection.questions {
        let vector = single(&judged.vector);
        let closest = search.nearest(&vector, DEPTH).await.expect("passages");
        let found = search.find(&judged.text, &vector, DEPTH).await;
        let found = found.expect("passages");
        let gain = |passages: &[ziggurat_knowledge::Passage]| {
            let ids = passages
                .iter()
                .filter_map(|one| ids.get(&*one.text).copied());
            judged.gain(ids)
        };
        compared.add(gain(&closest), gain(&found));
    }
    compared.mean(collection)
}

/// Measures `similarity_search` in the table of a collection.
pub(super) async fn similarity_search(
    collection: &Collection,
    database: &Arc<Database>,
    pools: &Pools,
    runtime: &Runtime,
) -> Compared {
    let embedder = embedder(collection, runtime).await;
    let databases = [Configured::new(Arc::clone(database))];
    let databases = Databases::new(pools.clone(), databases);
    let mut compared = Compared::zero();
    for judged in &collection.questions {
        let call = async |format: &str| {
            let embedder = Embedder::Ready(embedder.clone());
            let tool = SimilaritySearch::new(databases.clone(), embedder);
            let arguments = json!({
                "query_text": judged.text,
                "table_name": collection.name,
                "output_format": format,
                "max_output_tokens": MAX_OUTPUT_TOKENS,
            });
            test_server::structured(tool, arguments).await.1
        };
        let (rows, passages) = (call("ids_only").await, call("full").await);
        compared.add(
            gain(judged, &rows["rows"]),
            gain(judged, &passages["passages"]),
        );
    }
    compared.mean(collection)
}

/// Returns the nDCG@10 of rows or passages; the best passage of a row counts.
fn gain(judged: &Judged, found: &Value) -> f64 {
    let mut seen = HashSet::new();
    let found = found.as_array().expect("a list").iter();
    let ids = found.filter_map(|one| one["id"].as_str());
    judged.gain(ids.filter(|id| seen.insert(*id)))
}

/// Returns an embedder that knows the vectors of all questions.
async fn embedder(collection: &Collection, runtime: &Runtime) -> llm::Embedder {
    let questions = collection.questions.iter();
    let vectors = questions.map(|judged| (judged.text.clone(), single(&judged.vector)));
    let vectors: Arc<HashMap<_, _>> = Arc::new(vectors.collect());
    let embed = post(move |Json(asked): Json<Value>| async move {
        let text = match &asked["input"] {
            Value::Array(texts) => &texts[0],
            text => text,
        };
        let vector = &vectors[text.as_str().expect("a text")];
        let data = json!([{"object": "embedding", "index": 0, "embedding": vector}]);
        let usage = json!({"prompt_tokens": 1, "total_tokens": 1});
        Json(json!({"object": "list", "data": data, "model": "bench", "usage": usage}))
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let app = Router::new().fallback(embed);
    runtime.spawn(async move { axum::serve(listener, app).await });
    let access = Access {
        base_url: Some(format!("http://{address}/v1")),
        key: Some("key".into()),
        ..Access::default()
    };
    let client = llm::client().expect("a client");
    let http = Http::new(&client, Provider::OpenAi, &access).expect("an address");
    llm::Embedder::new(http, None).expect("it embeds")
}

#[expect(clippy::cast_possible_truncation, reason = "models have 32 bits")]
fn single(vector: &[f64]) -> Vec<f32> {
    vector.iter().map(|x| *x as f32).collect()
}

// === impl Compared ===

impl Compared {
    fn zero() -> Self {
        let (vector, both) = (0.0, 0.0);
        Self { vector, both }
    }

    fn add(&mut self, vector: f64, both: f64) {
        self.vector += vector;
        self.both += both;
    }

    /// Prints the figures; both must not be worse than the vectors alone.
    pub(super) fn report(&self, tool: &str, collection: &Collection, report: &mut Report) {
        let Self { vector, both } = self;
        report.print(format_args!(
            "  {tool}: vectors {vector:.3}  both {both:.3}"
        ));
        let what = format!("{}, {tool} against its vectors", collection.name);
        report.at_least(&what, both - vector, 0.0, "");
    }

    fn mean(self, collection: &Collection) -> Self {
        let questions = number(collection.questions.len());
        Self {
            vector: self.vector / questions,
            both: self.both / questions,
        }
    }
}
