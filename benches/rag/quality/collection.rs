//! A collection of passages, with questions and judgements.

use std::{collections::BTreeMap, fmt::Write as _, future};

use tokio::runtime::Runtime;
use ziggurat_benches::tools::Postgres;
use ziggurat_postgres::pool::Pool;
use ziggurat_rag_service::retrieval::{
    Backend, FilterColumns, Retriever, SearchOptions, SearchRequest, Table,
};
use ziggurat_search::measures::JudgedRanking;

/// Number of results that count.
pub(super) const DEPTH: usize = 10;

/// Number of rows of one INSERT.
const BATCH: usize = 200;

/// Passages, and questions that are judged.
#[derive(Debug)]
pub(super) struct Collection {
    /// The name of its table.
    pub(super) name: &'static str,
    pub(super) passages: Vec<Passage>,
    pub(super) questions: Vec<Judged>,
}

#[derive(Debug)]
pub(super) struct Passage {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) vector: Vec<f64>,
}

/// A question, and the grades of the relevant passages.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) text: String,
    pub(super) vector: Vec<f64>,
    pub(super) grades: BTreeMap<String, i32>,
}

// === impl Collection ===

impl Collection {
    /// Creates its table, with an index over the words.
    pub(super) fn create(&self, postgres: &Postgres) {
        let (name, dimensions) = (self.name, self.passages[0].vector.len());
        postgres.run(&format!(
            "CREATE TABLE {name} (id text PRIMARY KEY, content text NOT NULL,
                 embedding vector({dimensions}) NOT NULL)"
        ));
        for batch in self.passages.chunks(BATCH) {
            let rows: Vec<_> = batch.iter().map(Passage::row).collect();
            postgres.run(&format!("INSERT INTO {name} VALUES {}", rows.join(", ")));
        }
        postgres.run(&format!(
            "CREATE INDEX ON {name} USING gin (to_tsvector('english', content)); ANALYZE {name}"
        ));
    }

    /// Returns the mean nDCG@10 of all questions.
    pub(super) fn measure(
        &self,
        runtime: &Runtime,
        pool: &Pool,
        keyword: Backend,
        options: SearchOptions,
    ) -> f64 {
        let table = Table {
            name: self.name.to_owned(),
            text: "content".to_owned(),
            vector: "embedding".to_owned(),
            id: Some("id".to_owned()),
            title: None,
            url: None,
            filter: None,
            filter_columns: FilterColumns::Shown,
            keyword,
            text_search_config: None,
            keyword_columns: Vec::new(),
            order: None,
        };
        let retriever = Retriever::new(pool.clone(), "bench", vec![table], options);
        let gains = self
            .questions
            .iter()
            .map(|judged| runtime.block_on(judged.ask(&retriever)));
        gains.sum::<f64>() / number(self.questions.len())
    }
}

// === impl Passage ===

impl Passage {
    fn row(&self) -> String {
        let literal = |text: &str| text.replace('\'', "''");
        let mut vector = String::new();
        for x in &self.vector {
            write!(vector, ",{x:.6}").expect("a string takes everything");
        }
        let (id, text) = (literal(&self.id), literal(&self.text));
        format!("('{id}', '{text}', '[{}]')", vector.trim_start_matches(','))
    }
}

// === impl Judged ===

impl Judged {
    /// Returns the nDCG@10 of the passages that are found.
    async fn ask(&self, retriever: &Retriever) -> f64 {
        let question = SearchRequest {
            text: &self.text,
            filter: None,
            top_n: DEPTH,
            disable_hybrid: false,
            operators: None,
        };
        #[expect(clippy::cast_possible_truncation, reason = "pgvector has 32 bits")]
        let vector = self.vector.iter().map(|x| *x as f32).collect();
        let found = retriever.find(&question, future::ready(Ok(vector)));
        let found = found.await.expect("a search");
        self.gain(found.iter().filter_map(|passage| passage.id.as_deref()))
    }

    /// Returns the nDCG@10 of passages with these ids, best first.
    pub(super) fn gain<T: AsRef<str>>(&self, ids: impl Iterator<Item = T>) -> f64 {
        let ids: Vec<_> = ids.collect();
        let ids: Vec<_> = ids.iter().map(AsRef::as_ref).collect();
        JudgedRanking::new(&ids, &self.grades).ndcg(DEPTH)
    }
}

pub(super) fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).expect("small"))
}
