//! Evaluation: what each search finds, checked answers, and drafts of questions.

use ziggurat_fake_providers::Turn;

use super::*;
use crate::evaluation::Evaluator;

fn hybrid(setup: &Setup, table: Table) -> Parts {
    let options = SearchOptions {
        hybrid: true,
        ..SearchOptions::default()
    };
    let tables = vec![Table {
        keyword: Backend::Scan,
        ..table
    }];
    Parts {
        retriever: Retriever::new(setup.pool.clone(), "docs", tables, options),
        top_n: 2,
        allow_include_sources: false,
        ..setup.parts()
    }
}

fn evaluator(parts: Parts) -> Evaluator {
    Evaluator::new(Pipeline::new(parts), Duration::from_secs(30))
}

/// Returns what each search found, with the ids in one text.
async fn found(parts: Parts) -> Vec<(&'static str, String)> {
    let arms = evaluator(parts).search(QUESTION, 100).await;
    let arms = arms.expect("results").into_iter();
    arms.map(|arm| {
        assert!(arm.milliseconds > 0.0, "{arm:?}");
        (arm.arm, arm.ids.join(" "))
    })
    .collect()
}

#[tokio::test]
async fn each_search_is_shown_deeper_than_an_answer_would_use() {
    let setup = Setup::new().await;
    let by_vector = "fern moss cactus".to_owned();
    let both = found(hybrid(&setup, table("docs"))).await;
    assert_eq!(both[0], ("vector", by_vector.clone()));
    // All three have a form of "like".
    assert_eq!(both[1], ("keyword", "fern cactus moss".to_owned()));
    assert_eq!(both[2], ("hybrid", by_vector.clone()));
    assert_eq!(both.len(), 3);
    let only_vectors = found(setup.parts()).await;
    assert_eq!(only_vectors, [("vector", by_vector)]);
}

#[tokio::test]
async fn the_reranker_gets_what_it_gets_for_an_answer_and_its_failure_is_an_error() {
    let setup = Setup::new().await;
    let reranked = || Parts {
        reranker: Some(setup.rerank(0)),
        ..hybrid(&setup, table("docs"))
    };
    let order = json!({"data": [
        {"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.2},
    ]});
    setup
        .fake
        .next_of(Api::Voyage, Turn::raw(200, order.to_string()));
    let arms = found(reranked()).await;
    assert_eq!(arms[3], ("reranked", "moss fern".to_owned()));
    setup.fake.next_of(Api::Voyage, Turn::refusal(500));
    let failed = evaluator(reranked()).search(QUESTION, 100).await;
    let failed = failed.expect_err("no order").to_string();
    assert!(failed.contains("the reranker did not answer"), "{failed}");
}

#[tokio::test]
async fn rows_without_an_id_cannot_be_judged() {
    let setup = Setup::new().await;
    let nameless = Table {
        id: None,
        ..table("docs")
    };
    let failed = evaluator(hybrid(&setup, nameless))
        .search(QUESTION, 100)
        .await;
    let failed = failed.expect_err("no id").to_string();
    assert!(failed.contains("without id_column"), "{failed}");
}

#[tokio::test]
async fn answers_have_citations_even_if_clients_may_not_see_sources() {
    let setup = Setup::new().await;
    let evaluator = evaluator(hybrid(&setup, table("docs")));
    for (text, citations, dropped, unsupported) in [
        ("Shade [1].", 1, 0, 0),
        ("Shade [1][9].", 1, 1, 0),
        ("Moss likes rain [1]. Moss likes rain [2].", 2, 0, 1),
        ("?", 0, 0, 0),
    ] {
        setup.fake.next_of(Api::Anthropic, Turn::text(text));
        let answer = evaluator.answer(QUESTION).await.expect("an answer");
        let counts = (answer.citations, answer.dropped_citations);
        assert_eq!(counts, (citations, dropped), "{text}: {answer:?}");
        assert_eq!(answer.unsupported_citations, unsupported, "{text}");
    }
}

#[tokio::test]
async fn questions_are_drafted_from_random_passages_that_are_long_enough() {
    let mut setup = Setup::new().await;
    let long = "Ferns like shade and damp soil. ".repeat(4);
    setup
        .fixture
        .given(&format!(
            "INSERT INTO docs VALUES ('long', '{long}', '[1,0,0]');"
        ))
        .await;
    let evaluator = evaluator(hybrid(&setup, table("docs")));
    let passages = evaluator.random_passages(5).await.expect("passages");
    let ids: Vec<_> = passages.iter().map(|passage| &*passage.id).collect();
    assert_eq!(ids, ["long"]);
    setup
        .fake
        .next_of(Api::Anthropic, Turn::text("\"Where do ferns grow?\"\n"));
    let question = evaluator.draft_question(&passages[0]).await;
    let question = question.expect("a reply");
    assert_eq!(question.as_deref(), Some("Where do ferns grow?"));
    let (messages, system) = setup.told();
    assert!(messages.to_string().contains("damp soil"), "{messages}");
    assert!(system.contains("Write one question"), "{system}");
}
