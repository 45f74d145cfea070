//! Reranking: the order of results by relevance to the question.

use std::mem;

use tracing::warn;
use ziggurat_llm::{Deadline, Error, Ranked, Reranker};
use ziggurat_telemetry::traces::Trace;

use crate::{debug::Recorder, failure::Failure, retrieval::Passage};

/// Reorders results and keeps the best.
#[derive(Clone, Debug)]
pub struct Rerank {
    /// The model that scores the results.
    pub reranker: Reranker,
    /// Maximum number of results to keep; zero keeps all of them.
    pub top_k: usize,
}

// === impl Rerank ===

impl Rerank {
    /// Sets the trace of the call that results are ordered for.
    pub(super) fn with_trace(&self, trace: Trace) -> Self {
        Self {
            reranker: self.reranker.with_trace(trace),
            top_k: self.top_k,
        }
    }

    /// Returns the results in their new order, with new scores. Without a usable response they stay
    /// unchanged.
    pub(super) async fn order(
        &self,
        query: &str,
        passages: Vec<Passage>,
        deadline: Deadline,
        pipeline: &str,
        recorder: &Recorder,
    ) -> Result<Vec<Passage>, Failure> {
        let texts: Vec<_> = passages
            .iter()
            .map(|passage| passage.content.as_str())
            .collect();
        let ranked = self.reranker.rerank(query, &texts, self.top_k, deadline);
        match ranked.await {
            Ok(ranked) => Ok(self.arrange(passages, &ranked, pipeline, recorder)),
            Err(Error::Late) => Err(Failure::Late),
            Err(error) => {
                warn!(%error, pipeline, "rerank failed, falling back to original order");
                Ok(passages)
            }
        }
    }

    fn arrange(
        &self,
        mut passages: Vec<Passage>,
        ranked: &[Ranked],
        pipeline: &str,
        recorder: &Recorder,
    ) -> Vec<Passage> {
        let mut is_placed = vec![false; passages.len()];
        let mut order = Vec::with_capacity(passages.len());
        for &Ranked { index, score, .. } in ranked {
            let Some(is_placed) = is_placed.get_mut(index) else {
                warn!(
                    index,
                    pipeline, "rerank result index out of range, skipping"
                );
                continue;
            };
            // A repeated index counts only the first time.
            if !mem::replace(is_placed, true) {
                order.push((index, score));
            }
        }
        if order.is_empty() {
            warn!(
                pipeline,
                "rerank returned no usable results, falling back to original order"
            );
            return passages;
        }
        if self.top_k > 0 {
            order.truncate(self.top_k);
        }
        let placed = order.into_iter().map(|(index, score)| Passage {
            score,
            relevance: Some(score),
            ..mem::take(&mut passages[index])
        });
        let placed: Vec<_> = placed.collect();
        recorder.reranked(&placed);
        placed
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use ziggurat_fake_providers::{Api, Fake, Turn};

    use super::*;
    use ziggurat_llm::{Access, Http, Provider, Retry, client};

    fn rerank(fake: &Fake, top_k: usize) -> Rerank {
        let access = Access {
            base_url: Some(fake.url(Api::Voyage)),
            key: Some("pa-wq8JkLmN2pRs7TuV".to_owned().into()),
            retry: Retry::never(),
            ..Access::default()
        };
        let http = Http::new(&client().expect("a client"), Provider::Voyage, &access);
        let reranker = Reranker::new(http.expect("usable"), "rerank-2.5").expect("a reranker");
        Rerank { reranker, top_k }
    }

    fn passages() -> Vec<Passage> {
        let passages = ["a", "b", "c"].map(|name| Passage {
            id: Some(name.to_owned()),
            content: format!("about {name}"),
            score: 0.01,
            ..Passage::default()
        });
        passages.into()
    }

    async fn ordered(rerank: &Rerank) -> Vec<(String, f64)> {
        let recorder = Recorder::default();
        let ordered = rerank.order("why?", passages(), Deadline::none(), "docs", &recorder);
        let passages = ordered.await.expect("an order");
        let shown = passages.into_iter().map(|passage| {
            let id = passage.id.expect("an id");
            assert_eq!(passage.content, format!("about {id}"));
            (id, passage.score)
        });
        shown.collect()
    }

    fn answer(places: &[(usize, f64)]) -> Turn {
        let data: Vec<_> = places
            .iter()
            .map(|(index, score)| json!({"index": index, "relevance_score": score}))
            .collect();
        Turn::raw(200, json!({ "data": data }).to_string())
    }

    #[tokio::test]
    async fn the_provider_decides_the_order_and_the_scores() {
        let fake = Fake::start();
        let places = |list: &[(&str, f64)]| -> Vec<_> {
            let places = list.iter().map(|(id, score)| ((*id).to_owned(), *score));
            places.collect()
        };
        let original = [("a", 0.01), ("b", 0.01), ("c", 0.01)];
        let cases = [
            (
                0,
                answer(&[(2, 0.9), (0, 0.5), (1, 0.1)]),
                places(&[("c", 0.9), ("a", 0.5), ("b", 0.1)]),
            ),
            // A result that is missing in the response is dropped.
            (0, answer(&[(1, 0.9)]), places(&[("b", 0.9)])),
            (
                2,
                answer(&[(2, 0.9), (0, 0.5)]),
                places(&[("c", 0.9), ("a", 0.5)]),
            ),
            (
                2,
                answer(&[(2, 0.9), (0, 0.5), (1, 0.1)]),
                places(&[("c", 0.9), ("a", 0.5)]),
            ),
            // An index out of range and a repeated index.
            (
                0,
                answer(&[(3, 1.0), (1, 0.9), (1, 0.8), (0, 0.7)]),
                places(&[("b", 0.9), ("a", 0.7)]),
            ),
            (0, answer(&[]), places(&original)),
            (0, answer(&[(7, 0.9)]), places(&original)),
            (0, Turn::refusal(500), places(&original)),
            (0, Turn::malformed(), places(&original)),
        ];
        for (top_k, turn, expected) in cases {
            let shown = format!("{turn:?}");
            fake.next(turn);
            let ordered = ordered(&rerank(&fake, top_k)).await;
            assert_eq!(ordered, expected, "{shown}");
        }
    }

    #[tokio::test]
    async fn a_limit_is_sent_only_if_there_are_more_results() {
        let fake = Fake::start();
        for (top_k, asked, kept) in [(0, json!(null), 3), (2, json!(2), 2), (3, json!(null), 3)] {
            assert_eq!(ordered(&rerank(&fake, top_k)).await.len(), kept, "{top_k}");
            let seen = fake.requests().pop().expect("a request");
            assert_eq!(seen.json()["top_k"], asked, "{top_k}");
        }
    }

    #[tokio::test]
    async fn a_rerank_beyond_the_deadline_of_the_request_is_a_timeout() {
        let fake = Fake::start();
        let over = Deadline::at(tokio::time::Instant::now());
        let rerank = rerank(&fake, 0);
        let recorder = Recorder::default();
        let ordered = rerank.order("why?", passages(), over, "docs", &recorder);
        let ordered = ordered.await;
        assert!(matches!(ordered, Err(Failure::Late)), "{ordered:?}");
    }
}
