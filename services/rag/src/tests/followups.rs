//! Questions that follow others.

use std::time::Duration;

use ziggurat_fake_providers::{Gate, Turn};

use super::*;

const FOLLOW_UP: &str = "And how much of it?";

fn followed() -> Value {
    json!({"query": FOLLOW_UP, "top_n": 1, "include_sources": true, "debug": true, "messages": [
        {"role": "user", "content": "What does the cactus like?"},
        {"role": "assistant", "content": "Sun."},
    ]})
}

/// Returns a pipeline that rewrites with another provider, so that its requests are told apart.
fn rewriting(setup: &Setup) -> Parts {
    let parts = setup.parts();
    Parts {
        rewriter: Some(completer(&setup.fake, Api::Gemini)),
        allow_debug: true,
        ..parts
    }
}

fn first(answer: &Value) -> (&Value, &Value) {
    (
        &answer["sources"][0]["id"],
        &answer["debug"]["rewritten_query"],
    )
}

#[tokio::test]
async fn a_follow_up_is_searched_for_as_rewritten_and_answered_as_asked() {
    let setup = Setup::new().await;
    let service = served([rewriting(&setup)]);
    let rewritten = "How much sun does a cactus like?";
    setup.fake.set_vector(FOLLOW_UP, &[1.0, 0.0, 0.0]);
    setup.fake.set_vector(rewritten, &[0.0, 0.0, 1.0]);
    setup.fake.always_of(Api::Gemini, Turn::text(rewritten));
    for stream_it in [false, true] {
        if stream_it {
            let frames = text(stream(&service, followed()).await).await;
            assert!(frames.contains(rewritten), "{frames}");
        } else {
            let (_, answer) = ask(&service, followed()).await;
            assert_eq!(first(&answer), (&json!("cactus"), &json!(rewritten)));
            // Both models count.
            assert_eq!(answer["tokens_used"], 30);
        }
        let (messages, _) = setup.told();
        let turn = messages[2]["content"][0]["text"].as_str().expect("a text");
        assert!(turn.ends_with(&format!("Question: {FOLLOW_UP}")), "{turn}");
        assert!(!turn.contains(rewritten), "{turn}");
    }
    let requests = setup.fake.requests();
    let seen = requests.iter().find(|seen| seen.api == Api::Gemini);
    let body = seen.expect("it was asked").json();
    let settings = &body["generationConfig"];
    assert_eq!(settings["maxOutputTokens"], 64, "{body}");
    assert_eq!(settings["temperature"], 0.0, "{body}");
    let told = body.to_string();
    for part in [
        "User: What does the cactus like?",
        "Assistant: Sun.",
        FOLLOW_UP,
    ] {
        assert!(told.contains(part), "{told}");
    }
}

#[tokio::test]
async fn a_first_question_is_not_rewritten_and_neither_is_one_without_the_setting() {
    let setup = Setup::new().await;
    let service = served([rewriting(&setup)]);
    let (_, answer) = ask(&service, json!({"query": QUESTION, "debug": true})).await;
    assert_eq!(answer["debug"].get("rewritten_query"), None);
    let service = served([setup.parts()]);
    assert_eq!(ask(&service, followed()).await.0, 200);
    let requests = setup.fake.requests();
    assert!(requests.iter().all(|seen| seen.api != Api::Gemini));
}

#[tokio::test]
async fn without_a_rewritten_question_rare_words_of_the_last_turn_are_added() {
    let mut setup = Setup::new().await;
    setup
        .fixture
        .given(
            "INSERT INTO docs SELECT 'n' || n, 'Plants like water.', '[0,1,0]'
                 FROM generate_series(1, 20) n;
             CREATE INDEX ON docs USING gin (to_tsvector('english', content)); ANALYZE docs;",
        )
        .await;
    let extended = "And how much of it? cactus sun";
    setup.fake.set_vector(extended, &[0.0, 0.0, 1.0]);
    for keyword in [Backend::Scan, Backend::Tsvector] {
        let table = Table {
            keyword,
            ..table("docs")
        };
        let options = SearchOptions::default();
        let retriever = Retriever::new(setup.pool.clone(), "docs", vec![table], options);
        let parts = || Parts {
            retriever: retriever.clone(),
            ..rewriting(&setup)
        };
        // "like" is in all rows, and "unheard" in none.
        let mut asked = followed();
        asked["messages"][1]["content"] = json!("Unheard sun, says the cactus.");
        let expected = json!(extended);
        let mut access = access(&setup.fake, Api::Gemini);
        access.timeouts.call = Duration::from_millis(50);
        let slow = Completer::new(http(Api::Gemini, &access), "model-1").expect("a completer");
        for (turn, completer) in [
            (Some(Turn::refusal(500)), parts().rewriter),
            (Some(Turn::text(" \n")), parts().rewriter),
            (Some(Turn::text("Much").held(&Gate::new())), Some(slow)),
            // It is not asked, since it can only quote.
            (None, Some(Completer::local())),
        ] {
            if let Some(turn) = &turn {
                setup.fake.next_of(Api::Gemini, turn.clone());
            }
            let service = served([Parts {
                rewriter: completer,
                ..parts()
            }]);
            let (_, answer) = ask(&service, asked.clone()).await;
            assert_eq!(
                first(&answer),
                (&json!("cactus"), &expected),
                "{keyword:?} {turn:?}"
            );
        }
    }
}

#[tokio::test]
async fn without_frequencies_long_words_count_as_rare() {
    let setup = Setup::new().await;
    // Its table is not searched by keyword.
    let service = served([Parts {
        rewriter: Some(Completer::local()),
        ..rewriting(&setup)
    }]);
    let (_, answer) = ask(&service, followed()).await;
    let expected = "And how much of it? cactus does like sun";
    assert_eq!(answer["debug"]["rewritten_query"], expected);
}

/// Plants, each with a word for what it likes.
const PLANTS: [(&str, &str); 8] = [
    ("ferns", "shade"),
    ("cacti", "sand"),
    ("mosses", "stones"),
    ("roses", "clay"),
    ("orchids", "bark"),
    ("lavender", "lime"),
    ("rhubarb", "manure"),
    ("basil", "warmth"),
];

/// Returns the share of conversations about a plant in which the follow-up finds the text about it.
async fn recall(service: &Router, question: impl Fn(&str) -> String) -> f64 {
    let mut found = 0.0;
    for (plant, liked) in PLANTS {
        let asked = json!({"query": question(plant), "top_n": 1, "include_sources": true,
        "messages": [
            {"role": "user", "content": format!("What do {plant} like?")},
            {"role": "assistant", "content": format!("They like {liked}.")},
        ]});
        let (_, answer) = ask(service, asked).await;
        found += f64::from(u8::from(answer["sources"][0]["id"] == plant));
    }
    found / 8.0
}

#[tokio::test]
async fn follow_ups_find_what_questions_that_stand_alone_find() {
    let mut setup = Setup::new().await;
    let rows = PLANTS.map(|(plant, liked)| {
        format!(
            "('{plant}', 'Weekly water for {plant} on {liked}: often in summer, seldom in winter.')"
        )
    });
    let sql = format!(
        "TRUNCATE docs; INSERT INTO docs (id, content) VALUES {};",
        rows.join(", ")
    );
    setup.fixture.given(&sql).await;
    let scanned = Table {
        keyword: Backend::Scan,
        ..table("docs")
    };
    let options = SearchOptions::default();
    let with = |rewriter| {
        served([Parts {
            retriever: Retriever::new(setup.pool.clone(), "docs", vec![scanned.clone()], options),
            rewriter,
            ..setup.parts()
        }])
    };
    let follow_up = |_: &str| "How often is water needed in winter?".to_owned();
    let alone = |plant: &str| format!("How often do {plant} need water in winter?");
    let best = recall(&with(None), alone).await;
    assert!(best > 0.9, "{best}");
    let without = recall(&with(None), follow_up).await;
    let fallback = recall(&with(Some(Completer::local())), follow_up).await;
    assert!(fallback > without + 0.5, "{without} {fallback}");
    for (plant, _) in PLANTS {
        setup.fake.next_of(Api::Gemini, Turn::text(&alone(plant)));
    }
    let model = with(Some(completer(&setup.fake, Api::Gemini)));
    let rewritten = recall(&model, follow_up).await;
    assert!(rewritten > best - 0.02, "{best} {rewritten}");
}
