use serde_json::{Value, json};
use ziggurat_fake_providers::{Api, Fake, Turn};

use super::*;
use crate::{Access, Retry, client};

const PROVIDERS: [(Api, Provider); 4] = [
    (Api::Voyage, Provider::Voyage),
    (Api::Cohere, Provider::Cohere),
    (Api::Jina, Provider::Jina),
    (Api::Tei, Provider::Tei),
];

fn reranker(fake: &Fake, (api, provider): (Api, Provider)) -> Reranker {
    let access = Access {
        base_url: Some(fake.url(api)),
        key: Some("a-key-of-some-length".to_owned().into()),
        retry: Retry::never(),
        ..Access::default()
    };
    let http = Http::new(&client().expect("a client"), provider, &access);
    Reranker::new(http.expect("usable"), "rerank-m").expect("a reranker")
}

async fn order(reranker: &Reranker, texts: &[&str], top_k: usize) -> Result<Vec<usize>, Error> {
    let ranked = reranker.rerank("ferns like shade", texts, top_k, Deadline::none());
    let ranked = ranked.await?;
    assert!(ranked.is_sorted_by(|one, two| one.score >= two.score));
    Ok(ranked.into_iter().map(|one| one.index).collect())
}

#[tokio::test]
async fn each_provider_gets_its_own_format_and_its_answer_is_read() {
    let texts = ["brass", "ferns like shade", "ferns"];
    let bodies = [
        json!({"query": "ferns like shade", "documents": texts, "model": "rerank-m", "top_k": 2}),
        json!({"query": "ferns like shade", "documents": texts, "model": "rerank-m", "top_n": 2}),
        json!({"query": "ferns like shade", "documents": texts, "model": "rerank-m", "top_n": 2,
            "return_documents": false}),
        json!({"query": "ferns like shade", "texts": texts, "truncate": true}),
    ];
    let paths = ["v1/rerank", "v2/rerank", "v1/rerank", "rerank"];
    for ((provider, body), path) in PROVIDERS.into_iter().zip(bodies).zip(paths) {
        let fake = Fake::start();
        let found = order(&reranker(&fake, provider), &texts, 2).await;
        assert_eq!(found.expect("an order"), [1, 2], "{provider:?}");
        let seen = fake.request();
        assert_eq!((&*seen.path, seen.json()), (path, body));
        assert_eq!(seen.key(), Some("a-key-of-some-length"));
    }
}

#[tokio::test]
async fn a_refusal_of_each_provider_is_an_error_with_its_reason() {
    for provider in PROVIDERS {
        let fake = Fake::start();
        fake.next(Turn::refusal_with(422, "the model is overloaded"));
        let failed = order(&reranker(&fake, provider), &["a"], 0).await;
        let error = format!("{:?}", failed.expect_err("refused"));
        assert!(error.contains("the model is overloaded"), "{error}");
        fake.next(Turn::malformed());
        let failed = order(&reranker(&fake, provider), &["a"], 0).await;
        assert!(failed.is_err(), "{failed:?}");
        fake.next(Turn::raw(200, json!({"data": "none"}).to_string()));
        let failed = order(&reranker(&fake, provider), &["a"], 0).await;
        assert!(failed.is_err(), "{failed:?}");
    }
}

#[tokio::test]
async fn text_embeddings_inference_gets_32_texts_at_a_time() {
    let fake = Fake::start();
    let tei = reranker(&fake, (Api::Tei, Provider::Tei));
    let mut texts = vec!["brass"; 70];
    texts[69] = "ferns like shade";
    texts[33] = "ferns";
    let found = order(&tei, &texts, 3).await.expect("an order");
    assert_eq!((found.len(), &found[..2]), (3, &[69, 33][..]));
    let sizes = fake.requests().into_iter().map(|seen| {
        let texts: Value = seen.json()["texts"].clone();
        texts.as_array().map_or(0, Vec::len)
    });
    assert_eq!(sizes.collect::<Vec<_>>(), [32, 32, 6]);
    // The rest of the batches is not sent after a failure.
    fake.next(Turn::refusal(500));
    assert!(order(&tei, &texts, 3).await.is_err());
    assert_eq!(fake.requests().len(), 4);
}
