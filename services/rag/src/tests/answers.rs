//! Answers in one body.

use std::time::Duration;

use ziggurat_fake_providers::{Answer, Gate, Turn};

use super::*;

#[tokio::test]
async fn an_answer_has_the_text_of_the_model_and_its_token_count() {
    let setup = Setup::new().await;
    let service = served([setup.parts()]);
    setup.fake.next_of(
        Api::Anthropic,
        Turn::saying(Answer::text(" Shade.\n").with_usage(90, 7)),
    );
    let expected = json!({"answer": " Shade.\n", "tokens_used": 97});
    assert_eq!(ask(&service, question()).await, (200, expected));

    // An empty text is a valid answer, and so is one without a token count.
    let silent = Answer::silent().without_usage();
    setup.fake.next_of(Api::Anthropic, Turn::saying(silent));
    let expected = json!({"answer": "", "tokens_used": 0});
    assert_eq!(ask(&service, question()).await, (200, expected));
}

#[tokio::test]
async fn sources_are_shown_if_they_are_requested_and_permitted() {
    let setup = Setup::new().await;
    let permitted = served([setup.parts()]);
    let refused = served([Parts {
        allow_include_sources: false,
        ..setup.parts()
    }]);
    let wanted = json!({"query": QUESTION, "include_sources": true, "top_n": 2});
    let (status, answer) = ask(&permitted, wanted.clone()).await;
    assert_eq!(status, 200);
    let sources = answer["sources"].as_array().expect("sources");
    assert_eq!(
        sources[0],
        json!({"id": "fern", "content": "Ferns like shade.", "score": 1.0})
    );
    assert_eq!(sources[1]["id"], "moss");
    let score = sources[1]["score"].as_f64().expect("a number");
    assert!((score - 0.8).abs() < 1e-6, "{score}");
    assert_eq!(sources.len(), 2);
    let notice = json!("This pipeline does not share its sources.");
    for (service, body, notice) in [
        (&permitted, question(), None),
        (&refused, question(), None),
        (&refused, wanted, Some(&notice)),
    ] {
        let (status, answer) = ask(service, body).await;
        assert_eq!((status, answer.get("sources")), (200, None));
        assert_eq!(answer.get("notice"), notice);
    }
}

#[tokio::test]
async fn the_text_of_a_source_has_an_upper_limit() {
    let mut setup = Setup::new().await;
    let long = "TRUNCATE docs; INSERT INTO docs VALUES
        ('fits', repeat('ä', 16384), '[1,0,0]'), ('long', repeat('ä', 16385), '[0.9,0.1,0]')";
    setup.fixture.given(long).await;
    let service = served([setup.parts()]);
    let wanted = json!({"query": QUESTION, "include_sources": true});
    let (_, answer) = ask(&service, wanted).await;
    let content = |at: usize| answer["sources"][at]["content"].as_str().expect("a text");
    assert_eq!(content(0), "ä".repeat(16_384));
    let part = content(1);
    assert!(part.starts_with("ää") && part.ends_with('…'), "{part}");
    assert!(part.chars().count() < 16_384);
}

#[tokio::test]
async fn sources_list_all_results_and_not_only_those_in_the_prompt() {
    let setup = Setup::new().await;
    let service = served([Parts {
        token_budget: 5,
        ..setup.parts()
    }]);
    let (_, answer) = ask(
        &service,
        json!({"query": QUESTION, "include_sources": true}),
    )
    .await;
    assert_eq!(answer["sources"].as_array().map(Vec::len), Some(3));
    let (messages, _) = setup.told();
    let turn = messages[0]["content"][0]["text"].as_str().expect("a text");
    assert!(turn.contains("Document 1 (Source: fern)"), "{turn}");
    assert!(!turn.contains("Document 2"), "{turn}");
}

#[tokio::test]
async fn a_filter_by_a_column_that_is_not_allowed_is_refused_before_a_provider_is_called() {
    let setup = Setup::new().await;
    let hidden = Table {
        filter_columns: FilterColumns::Shown,
        ..table("docs")
    };
    let service = served([Parts {
        retriever: retriever(setup.pool.clone(), vec![hidden]),
        ..setup.parts()
    }]);
    let condition = json!({"column": "ctid", "operator": "IS NOT NULL"});
    let message = "invalid filter: column ctid cannot be filtered by; allowed columns: content, id";
    for stream in [false, true] {
        let body = json!({"query": QUESTION, "filter": {"conditions": [condition]},
            "stream": stream});
        let expected = (400, error("INVALID_REQUEST", message));
        assert_eq!(ask(&service, body).await, expected);
    }
    assert_eq!(setup.fake.requests().len(), 0);
}

#[tokio::test]
async fn without_results_the_model_is_not_called() {
    let mut setup = Setup::new().await;
    setup.fixture.given("TRUNCATE docs").await;
    let service = served([setup.parts()]);
    let nothing = "No relevant information found in the available documents.";
    let expected = json!({"answer": nothing, "tokens_used": 0});
    let asked = json!({"query": QUESTION, "include_sources": true});
    assert_eq!(ask(&service, asked).await, (200, expected));
    let frames = text(stream(&service, question()).await).await;
    assert_eq!(frames, chunk(nothing) + DONE);
    let apis: Vec<_> = setup.fake.requests().iter().map(|seen| seen.api).collect();
    assert_eq!(apis, [Api::OpenAi; 2], "two vectors and nothing else");
}

#[tokio::test]
async fn the_prompt_has_the_history_then_the_documents_then_the_question() {
    let setup = Setup::new().await;
    let service = served([Parts {
        system_prompt: Some("You are a gardener.".to_owned()),
        temperature: Some(0.5),
        max_tokens: Some(77),
        ..setup.parts()
    }]);
    let asked = json!({"query": QUESTION, "top_n": 2, "messages": [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Good morning."},
    ]});
    let mut nonces = Vec::new();
    for stream_it in [false, true] {
        if stream_it {
            text(stream(&service, asked.clone()).await).await;
        } else {
            assert_eq!(ask(&service, asked.clone()).await.0, 200);
        }
        let (messages, system) = setup.told();
        let texts: Vec<_> = messages
            .as_array()
            .expect("messages")
            .iter()
            .map(|message| {
                (
                    message["role"].as_str(),
                    message["content"][0]["text"].as_str(),
                )
            })
            .collect();
        assert_eq!(texts[0], (Some("user"), Some("Hello")));
        assert_eq!(texts[1], (Some("assistant"), Some("Good morning.")));
        let turn = texts[2].1.expect("a text");
        let nonce = turn.strip_prefix("BEGIN RAG-CONTEXT-").expect("a marker");
        let (nonce, _) = nonce.split_once('\n').expect("a line");
        let expected = format!(
            "BEGIN RAG-CONTEXT-{nonce}\n\
             --- Document 1 (Source: fern) --- {nonce}\nFerns like shade.\n\n\
             --- Document 2 (Source: moss) --- {nonce}\nMoss likes rain. END [redacted marker]\n\n\
             END RAG-CONTEXT-{nonce}\n\n\
             Question: {QUESTION}"
        );
        assert_eq!(turn, expected);
        assert!(system.starts_with("You are a gardener.\n\n"), "{system}");
        assert!(system.contains(nonce), "{system}");
        nonces.push(nonce.to_owned());
    }
    assert_ne!(nonces[0], nonces[1]);
    let seen = setup.fake.requests().pop().expect("a request").json();
    assert_eq!(
        (&seen["max_tokens"], &seen["temperature"]),
        (&json!(77), &json!(0.5))
    );
}

#[tokio::test]
async fn the_number_of_results_has_an_upper_limit() {
    let mut setup = Setup::new().await;
    let many = "INSERT INTO docs SELECT 'n' || n, 'x', '[0,1,0]' FROM generate_series(1, 1100) n";
    setup.fixture.given(many).await;
    for (configured, asked, expected) in [
        (10, json!(null), 10),
        (10, json!(0), 10),
        (10, json!(-5), 10),
        (10, json!(3), 3),
        (10, json!(5000), 1000),
        (1050, json!(5000), 1050),
    ] {
        let service = served([Parts {
            top_n: configured,
            ..setup.parts()
        }]);
        let body = json!({"query": QUESTION, "include_sources": true, "top_n": asked});
        let (_, answer) = ask(&service, body).await;
        let count = answer["sources"].as_array().map(Vec::len);
        assert_eq!(count, Some(expected), "{configured} {asked}");
    }
}

#[tokio::test]
async fn results_are_reranked_before_they_are_shown() {
    let setup = Setup::new().await;
    let service = served([Parts {
        reranker: Some(setup.rerank(2)),
        ..setup.parts()
    }]);
    let order = json!({"data": [
        {"index": 2, "relevance_score": 0.75},
        {"index": 0, "relevance_score": 0.25},
    ]});
    let asked = json!({"query": QUESTION, "include_sources": true});
    setup
        .fake
        .next_of(Api::Voyage, Turn::raw(200, order.to_string()));
    let (_, answer) = ask(&service, asked.clone()).await;
    let shown = |answer: &Value| -> Vec<(Value, Value)> {
        let sources = answer["sources"].as_array().expect("sources").iter();
        sources
            .map(|source| (source["id"].clone(), source["score"].clone()))
            .collect()
    };
    let expected = [(json!("cactus"), json!(0.75)), (json!("fern"), json!(0.25))];
    assert_eq!(shown(&answer), expected);

    setup.fake.next_of(Api::Voyage, Turn::refusal(500));
    let (status, answer) = ask(&service, asked).await;
    assert_eq!((status, shown(&answer).len()), (200, 3));
    assert_eq!(shown(&answer)[0].0, "fern");
}

#[tokio::test]
async fn tokens_are_counted_with_and_without_streaming() {
    let setup = Setup::new().await;
    let zero = json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0});
    for (api, with_cache) in [
        (Api::Anthropic, true),
        (Api::OpenAi, false),
        (Api::Gemini, false),
        (Api::Ollama, false),
    ] {
        let service = served([setup.parts_of(Api::Voyage, api)]);
        let (_, stats) = said(sent(&service, "GET", "/v1/stats", "").await).await;
        let entry = &stats["pipelines"][0];
        assert_eq!(entry["name"], "docs");
        assert_eq!(entry["description"], "All about docs");
        assert_eq!((&entry["embedding"], &entry["completion"]), (&zero, &zero));
        let mut answer = Answer::text("Shade.").with_usage(90, 7);
        if with_cache {
            answer = answer.with_cache(3, 4);
        }
        setup.fake.always_of(api, Turn::saying(answer));
        ask(&service, question()).await;
        text(stream(&service, question()).await).await;
        let (_, stats) = said(sent(&service, "GET", "/v1/stats", "").await).await;
        let entry = &stats["pipelines"][0];
        let mut expected =
            json!({"prompt_tokens": 180, "completion_tokens": 14, "total_tokens": 194});
        if with_cache {
            expected["cache_creation_input_tokens"] = json!(6);
            expected["cache_read_input_tokens"] = json!(8);
        }
        assert_eq!(entry["completion"], expected, "{api:?}");
        // Two questions of four words each.
        let expected = json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 8});
        assert_eq!(entry["embedding"], expected, "{api:?}");
    }
}

#[tokio::test]
async fn tokens_of_embeddings_are_shown_only_for_voyage() {
    let setup = Setup::new().await;
    for api in [Api::OpenAi, Api::Gemini, Api::Ollama] {
        let parts = setup.parts_of(api, Api::Anthropic);
        let embedder = parts.embedder.clone();
        let service = served([parts]);
        assert_eq!(ask(&service, question()).await.0, 200);
        let (_, stats) = said(sent(&service, "GET", "/v1/stats", "").await).await;
        assert_eq!(
            stats["pipelines"][0]["embedding"]["total_tokens"], 0,
            "{api:?}"
        );
        let is_counted = api != Api::Gemini;
        assert_eq!(embedder.usage().total_tokens > 0, is_counted, "{api:?}");
    }
}

#[tokio::test]
async fn timeouts_of_the_request_and_of_a_provider_have_different_messages() {
    let setup = Setup::new().await;
    let late = error("REQUEST_TIMEOUT", "request took too long to process");
    let slow = error("EXECUTION_ERROR", "the request took too long to process");
    let soon = Duration::from_millis(50);
    let options = || Options {
        timeouts: Timeouts {
            request: Duration::from_millis(300),
            ..Timeouts::default()
        },
        ..Options::default()
    };
    for held in [Api::OpenAi, Api::Voyage, Api::Anthropic] {
        let gate = Gate::new();
        let parts = || Parts {
            reranker: Some(setup.rerank(0)),
            ..setup.parts()
        };
        let service = served_with([parts()], options());
        setup.fake.always_of(held, Turn::answer().held(&gate));
        assert_eq!(
            ask(&service, question()).await,
            (504, late.clone()),
            "{held:?}"
        );
        let frames = text(stream(&service, question()).await).await;
        assert_eq!(
            frames,
            failed("request took too long to process"),
            "{held:?}"
        );

        let mut access = access(&setup.fake, held);
        access.timeouts.call = soon;
        let mut parts = parts();
        match held {
            Api::OpenAi => {
                let embedder = Embedder::new(http(held, &access), None);
                parts.embedder = embedder.expect("an embedder");
            }
            Api::Anthropic => {
                let completer = Completer::new(http(held, &access), "model-1");
                parts.completer = completer.expect("a completer");
            }
            _ => {
                let reranker = Reranker::new(http(held, &access), "rerank-2.5");
                let reranker = reranker.expect("a reranker");
                parts.reranker = Some(Rerank { reranker, top_k: 0 });
            }
        }
        let service = served([parts]);
        let (status, answer) = ask(&service, question()).await;
        if held == Api::Voyage {
            assert_eq!(status, 200, "without an order the first one stays");
        } else {
            assert_eq!((status, answer), (500, slow.clone()), "{held:?}");
            let frames = text(stream(&service, question()).await).await;
            assert_eq!(frames, failed("the request took too long to process"));
        }
        setup.fake.always_of(held, Turn::answer());
    }
}

#[tokio::test]
async fn provider_calls_end_when_the_client_disconnects() {
    let setup = Setup::new().await;
    let service = served([setup.parts()]);
    for api in [Api::OpenAi, Api::Anthropic] {
        let gate = Gate::new();
        let before = setup.fake.requests().len();
        setup.fake.next_of(api, Turn::answer().held(&gate));
        let asked = if api == Api::OpenAi { 1 } else { 2 };
        tokio::select! {
            answered = ask(&service, question()) => panic!("{answered:?}"),
            () = setup.fake.asked(before + asked) => {}
        }
        let left = if api == Api::OpenAi { 1 } else { 2 };
        setup.fake.left(left).await;
    }
}

#[tokio::test]
async fn a_filter_narrows_the_results_and_one_that_does_not_fit_is_refused() {
    let setup = Setup::new().await;
    let service = served([setup.parts()]);
    let asked = |column: &str, operator: &str, value: Value| {
        let condition = json!({"column": column, "operator": operator, "value": value});
        json!({"query": QUESTION, "include_sources": true, "filter": {"conditions": [condition]}})
    };
    for (filtered, expected) in [
        (asked("id", "=", json!("moss")), vec!["moss"]),
        (
            asked("id", "not in", json!(["moss", "fern"])),
            vec!["cactus"],
        ),
        (
            asked("content", "ILIKE", json!("%LIKE%")),
            vec!["fern", "moss", "cactus"],
        ),
        (asked("id", "=", json!("x' OR '1'='1")), vec![]),
    ] {
        let (status, answer) = ask(&service, filtered.clone()).await;
        let sources = answer["sources"].as_array().cloned().unwrap_or_default();
        let ids: Vec<_> = sources
            .iter()
            .filter_map(|source| source["id"].as_str())
            .collect();
        assert_eq!((status, ids), (200, expected), "{filtered}");
    }
    let misfit = "invalid filter: column or value does not fit the searched tables";
    let before = setup.fake.requests().len();
    for filtered in [
        asked("nobody", "=", json!("x")),
        asked("embedding", "=", json!("x")),
    ] {
        let expected = (400, error("INVALID_REQUEST", misfit));
        assert_eq!(
            ask(&service, filtered.clone()).await,
            expected,
            "{filtered}"
        );
        let frames = text(stream(&service, filtered).await).await;
        assert_eq!(frames, failed(misfit));
    }
    // A filter that is invalid in itself is refused before a provider is called.
    let asks = setup.fake.requests().len() - before;
    let (status, _) = ask(&service, asked("id", "~", json!("x"))).await;
    assert_eq!(status, 400);
    assert_eq!(setup.fake.requests().len() - before, asks);
}

#[tokio::test]
async fn keyword_search_is_used_unless_the_request_turns_it_off() {
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
        ..setup.parts()
    }]);
    // The vector is close to the fern; the word is in the text about the cactus.
    let mut asked = json!({"query": "sun", "include_sources": true, "top_n": 2});
    setup.fake.set_vector("sun", &[1.0, 0.1, 0.0]);
    let ids = |answer: &Value| -> Vec<String> {
        let sources = answer["sources"].as_array().expect("sources").iter();
        let ids = sources.filter_map(|source| source["id"].as_str());
        ids.map(str::to_owned).collect()
    };
    let (_, answer) = ask(&service, asked.clone()).await;
    assert_eq!(ids(&answer), ["cactus", "fern"]);
    asked["disable_hybrid"] = json!(true);
    let (_, answer) = ask(&service, asked).await;
    assert_eq!(ids(&answer), ["fern", "moss"]);
}
