//! Details of answers, and questions without a relevant passage.

use ziggurat_fake_providers::Turn;

use super::*;

fn debugged() -> Value {
    json!({"query": QUESTION, "debug": true})
}

fn permitted(setup: &Setup) -> Parts {
    Parts {
        allow_debug: true,
        ..setup.parts()
    }
}

/// Returns the ids, the ranks and the scores of candidates.
fn candidates(list: &Value) -> Vec<(String, u64, f64)> {
    let list = list.as_array().expect("a list").iter();
    list.map(|entry| {
        (
            entry["id"].as_str().expect("an id").to_owned(),
            entry["rank"].as_u64().expect("a rank"),
            entry["score"].as_f64().expect("a score"),
        )
    })
    .collect()
}

/// Returns the names of the stages, and asserts that their times are at least zero.
fn stages(details: &Value) -> Vec<String> {
    let stages = details["milliseconds"].as_object().expect("times").iter();
    stages
        .map(|(stage, time)| {
            assert!(time.as_f64().is_some_and(|time| time >= 0.0), "{details}");
            stage.clone()
        })
        .collect()
}

#[tokio::test]
async fn debug_shows_the_stages_the_candidates_and_the_prompt_if_it_is_permitted() {
    let setup = Setup::new().await;
    let options = SearchOptions {
        hybrid: true,
        ..SearchOptions::default()
    };
    let scanned = Table {
        keyword: Backend::Scan,
        ..table("docs")
    };
    let service = served([Parts {
        retriever: Retriever::new(setup.pool.clone(), "docs", vec![scanned], options),
        token_budget: 5,
        ..permitted(&setup)
    }]);
    let (status, answer) = ask(&service, debugged()).await;
    assert_eq!(status, 200);
    let details = &answer["debug"];
    let expected = ["answer", "embed", "fuse", "keyword", "prompt", "vector"];
    assert_eq!(stages(details), expected);
    let vector = candidates(&details["candidates"]["vector"]);
    assert_eq!(vector[0], ("fern".to_owned(), 1, 1.0));
    assert_eq!(vector.len(), 3);
    assert_eq!(details["candidates"]["vector"][0]["table"], "docs");
    let keyword = candidates(&details["candidates"]["keyword"]);
    assert_eq!((&*keyword[0].0, keyword[0].1), ("fern", 1));
    let fused = candidates(&details["candidates"]["fused"]);
    assert_eq!((&*fused[0].0, fused.len()), ("fern", 3));
    assert_eq!(details["candidates"].get("reranked"), None);
    // Only the first document fits into the prompt.
    let dropped = candidates(&details["dropped_passages"]);
    assert_eq!(dropped, fused[1..]);
    assert_eq!(details["prompt"]["documents"], 1);
    let (messages, system) = setup.told();
    let turn = messages[0]["content"][0]["text"].as_str().expect("a text");
    let bytes = turn.len() + system.len();
    assert_eq!(details["prompt"]["bytes"], bytes);
    assert_eq!(details["prompt"]["tokens"], bytes / 4);

    let (_, answer) = ask(&service, question()).await;
    assert_eq!(answer.get("debug"), None);
    let refused = served([setup.parts()]);
    let (status, answer) = ask(&refused, debugged()).await;
    assert_eq!((status, answer.get("debug")), (200, None));
    assert_eq!(
        answer["notice"],
        "This pipeline does not show how its answers are made."
    );
}

#[tokio::test]
async fn a_stream_has_the_details_before_its_end() {
    let setup = Setup::new().await;
    let service = served([permitted(&setup)]);
    setup.fake.next_of(Api::Anthropic, Turn::text("Shade."));
    let frames = text(stream(&service, debugged()).await).await;
    let rest = frames
        .strip_prefix(&chunk("Shade."))
        .expect("the text first");
    let (details, end) = rest.split_once("\n\n").expect("an event");
    assert_eq!(end, DONE);
    let details: Value = serde_json::from_str(&details["data: ".len()..]).expect("JSON");
    assert_eq!(details["type"], "debug");
    let expected = ["answer", "embed", "first_token", "fuse", "prompt", "vector"];
    assert_eq!(stages(&details), expected);
}

#[tokio::test]
async fn debug_shows_the_order_of_the_reranker_unless_it_failed() {
    let setup = Setup::new().await;
    let service = served([Parts {
        reranker: Some(setup.rerank(0)),
        ..permitted(&setup)
    }]);
    let order = json!({"data": [{"index": 2, "relevance_score": 0.75}]});
    let turn = Turn::raw(200, order.to_string());
    setup.fake.next_of(Api::Voyage, turn);
    let (_, answer) = ask(&service, debugged()).await;
    let reranked = candidates(&answer["debug"]["candidates"]["reranked"]);
    assert_eq!(reranked, [("cactus".to_owned(), 1, 0.75)]);
    setup.fake.next_of(Api::Voyage, Turn::refusal(500));
    let (_, answer) = ask(&service, debugged()).await;
    assert_eq!(answer["debug"]["candidates"].get("reranked"), None);
}

#[tokio::test]
async fn without_a_relevant_passage_the_answer_is_the_configured_one_and_no_model_is_called() {
    let setup = Setup::new().await;
    let parts = |min_score, no_answer: Option<&str>| Parts {
        min_score: Some(min_score),
        no_answer: no_answer.map(str::to_owned),
        ..setup.parts()
    };
    // The question is closest to moss, by 0.8.
    setup.fake.set_vector("Soil?", &[0.0, 0.0, 1.0]);
    setup.fake.set_vector("Rain?", &[0.6, 0.8, 0.0]);
    let calls = || {
        let requests = setup.fake.requests().into_iter();
        requests.filter(|seen| seen.api == Api::Anthropic).count()
    };
    let asked = json!({"query": "Rain?", "include_sources": true, "citations": true});
    let service = served([parts(0.97, Some("Ask the gardener."))]);
    let expected = json!({"answer": "Ask the gardener.", "citations": [], "dropped_citations": 0,
        "tokens_used": 0});
    assert_eq!(ask(&service, asked.clone()).await, (200, expected));
    let frames = text(stream(&service, asked.clone()).await).await;
    assert!(frames.starts_with(&chunk("Ask the gardener.")), "{frames}");
    let (_, answer) = ask(&served([parts(0.97, None)]), asked.clone()).await;
    let usual = "No relevant information found in the available documents.";
    assert_eq!(answer["answer"], usual);
    assert_eq!(calls(), 0);
    let (_, answer) = ask(&served([parts(0.95, None)]), asked.clone()).await;
    assert_eq!(
        (answer["sources"].as_array().map(Vec::len), calls()),
        (Some(3), 1)
    );

    // With a reranker its score counts, unless it fails.
    let service = served([Parts {
        reranker: Some(setup.rerank(0)),
        ..parts(0.5, None)
    }]);
    for (turn, is_answered) in [
        (
            Turn::raw(200, r#"{"data": [{"index": 0, "relevance_score": 0.49}]}"#),
            false,
        ),
        (
            Turn::raw(200, r#"{"data": [{"index": 0, "relevance_score": 0.5}]}"#),
            true,
        ),
        (Turn::refusal(500), true),
    ] {
        setup.fake.next_of(Api::Voyage, turn.clone());
        let (_, answer) = ask(&service, asked.clone()).await;
        assert_eq!(answer["answer"] != usual, is_answered, "{turn:?}");
    }
}
