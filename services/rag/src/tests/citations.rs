//! Answers with citations, whole and as streams.

use ziggurat_fake_providers::{Answer, Turn};

use super::*;

const TITLED: &str = "ALTER TABLE docs ADD title text, ADD link text;
    UPDATE docs SET title = 'Ferns', link = 'https://example.com/fern' WHERE id = 'fern';";

/// Returns a pipeline with titles and addresses in its table.
async fn titled(setup: &mut Setup) -> Parts {
    setup.fixture.given(TITLED).await;
    let table = Table {
        title: Some("title".to_owned()),
        url: Some("link".to_owned()),
        ..table("docs")
    };
    Parts {
        retriever: retriever(setup.pool.clone(), vec![table]),
        ..setup.parts()
    }
}

fn cited() -> Value {
    json!({"query": QUESTION, "top_n": 2, "citations": true})
}

fn fern(start: usize) -> Value {
    json!({"marker": 1, "id": "fern", "title": "Ferns", "url": "https://example.com/fern",
        "start": start, "end": start + 3, "quote": "Ferns like shade."})
}

fn moss(start: usize) -> Value {
    json!({"marker": 2, "id": "moss", "start": start, "end": start + 3,
        "quote": "Moss likes rain."})
}

/// Returns the events of a stream.
fn events(frames: &str) -> Vec<Value> {
    let frames = frames.split_inclusive("\n\n");
    let data = frames.map(|frame| frame.strip_prefix("data: ").expect("data"));
    data.map(|json| serde_json::from_str(json).expect("JSON"))
        .collect()
}

/// Returns the text, the citations and the rest of a stream.
fn sorted(frames: &str) -> (String, Vec<Value>, Vec<Value>) {
    let (mut text, mut citations, mut rest) = (String::new(), Vec::new(), Vec::new());
    for mut event in events(frames) {
        match event["type"].as_str().expect("a type") {
            "chunk" => text.push_str(event["content"].as_str().expect("a text")),
            "citation" => {
                event.as_object_mut().expect("an object").remove("type");
                let end = event["end"]
                    .as_u64()
                    .and_then(|end| usize::try_from(end).ok());
                assert_eq!(end, Some(text.chars().count()), "before its text: {event}");
                citations.push(event);
            }
            _ => rest.push(event),
        }
    }
    (text, citations, rest)
}

/// Splits an answer after every byte that ends a character.
fn letter_by_letter(text: &str) -> Turn {
    let mut answer = Answer::text("");
    answer.pieces = text.chars().map(String::from).collect();
    Turn::saying(answer)
}

#[tokio::test]
async fn an_answer_with_citations_names_the_passage_of_each_marker_and_drops_the_others() {
    let mut setup = Setup::new().await;
    let service = served([titled(&mut setup).await]);
    let said_text = "Größe: Ferns like shade [1], moss rain [3][2]. Use `x[0]` [99].";
    setup.fake.next_of(Api::Anthropic, Turn::text(said_text));
    let answer = ask(&service, cited()).await;
    let text = "Größe: Ferns like shade [1], moss rain [2]. Use `x[0]`.";
    let expected = json!({"answer": text, "citations": [fern(24), moss(39)],
        "dropped_citations": 2, "tokens_used": 15});
    assert_eq!(answer, (200, expected));
    let (_, system) = setup.told();
    assert!(
        system.contains("Mark each claim with the number"),
        "{system}"
    );

    // Without the field, marks are text, and the model is not told of them.
    setup.fake.next_of(Api::Anthropic, Turn::text(said_text));
    let expected = json!({"answer": said_text, "tokens_used": 15});
    assert_eq!(ask(&service, question()).await, (200, expected));
    let (_, system) = setup.told();
    assert!(!system.contains("square brackets"), "{system}");
}

#[tokio::test]
async fn a_stream_holds_markers_back_until_they_are_whole() {
    let mut setup = Setup::new().await;
    let service = served([titled(&mut setup).await]);
    let said_text = "Ferns like shade [1], moss rain [3][2]. Use `x[0]` [99].";
    for turn in [
        Turn::text(said_text),
        letter_by_letter(said_text).in_pieces(1),
    ] {
        setup.fake.next_of(Api::Anthropic, turn);
        let (text, citations, rest) = sorted(&text(stream(&service, cited()).await).await);
        assert_eq!(text, "Ferns like shade [1], moss rain [2]. Use `x[0]`.");
        assert_eq!(citations, [fern(17), moss(32)]);
        assert_eq!(rest, [json!({"type": "done", "dropped_citations": 2})]);
    }
    // Text that is held back is sent before an error.
    let delta = "data: {\"type\":\"content_block_delta\",\"index\":0,\
        \"delta\":{\"type\":\"text_delta\",\"text\":\"Shade [1\"}}\n\n";
    setup.fake.next_of(Api::Anthropic, Turn::raw(200, delta));
    let frames = text(stream(&service, cited()).await).await;
    let expected = chunk("Shade") + &chunk(" [1") + &failed("the provider returned an error");
    assert_eq!(frames, expected);
}

#[tokio::test]
async fn a_claim_with_the_mark_of_another_passage_is_not_supported_whole_or_streamed() {
    let mut setup = Setup::new().await;
    let service = served([titled(&mut setup).await]);
    let said_text = "Moss likes rain [1]. Ferns like shade [1].";
    let mut doubtful = fern(16);
    doubtful["supported"] = json!(false);
    let expected = json!([doubtful, fern(38)]);
    setup.fake.next_of(Api::Anthropic, Turn::text(said_text));
    let (_, answer) = ask(&service, cited()).await;
    assert_eq!(answer["citations"], expected);
    for turn in [
        Turn::text(said_text),
        letter_by_letter(said_text).in_pieces(1),
    ] {
        setup.fake.next_of(Api::Anthropic, turn);
        let (text, citations, _) = sorted(&text(stream(&service, cited()).await).await);
        assert_eq!((&*text, json!(citations)), (said_text, expected.clone()));
    }
}

#[tokio::test]
async fn the_sources_of_a_stream_come_before_the_model_is_asked() {
    let mut setup = Setup::new().await;
    let service = served([titled(&mut setup).await]);
    setup.fake.next_of(Api::Anthropic, Turn::text("Shade."));
    let asked = json!({"query": QUESTION, "top_n": 1, "stream_sources": true});
    let mut body = stream(&service, asked).await.into_body();
    let frame = body.frame().await.expect("a frame").expect("whole");
    let sources = json!({"type": "sources", "sources": [{"id": "fern", "title": "Ferns",
        "url": "https://example.com/fern", "content": "Ferns like shade.", "score": 1.0}]});
    let first = String::from_utf8(frame.into_data().expect("data").into()).expect("text");
    assert_eq!(events(&first), [sources]);
    assert_eq!(setup.fake.requests().len(), 1, "only a vector so far");
    assert_eq!(text(Response::new(body)).await, chunk("Shade.") + DONE);

    setup.fixture.given("TRUNCATE docs").await;
    let asked = json!({"query": QUESTION, "stream_sources": true, "citations": true});
    let frames = text(stream(&service, asked).await).await;
    let nothing = "No relevant information found in the available documents.";
    let expected = "data: {\"type\":\"sources\",\"sources\":[]}\n\n".to_owned()
        + &chunk(nothing)
        + "data: {\"type\":\"done\",\"dropped_citations\":0}\n\n";
    assert_eq!(frames, expected);
    let expected = json!({"answer": nothing, "citations": [], "dropped_citations": 0,
        "tokens_used": 0});
    assert_eq!(ask(&service, cited()).await, (200, expected));
}

#[tokio::test]
async fn without_permission_there_are_no_citations_but_a_notice() {
    let setup = Setup::new().await;
    let service = served([Parts {
        allow_include_sources: false,
        ..setup.parts()
    }]);
    let notice = "This pipeline does not share its sources.";
    setup
        .fake
        .always_of(Api::Anthropic, Turn::text("Shade [1]."));
    let expected = json!({"answer": "Shade [1].", "tokens_used": 15, "notice": notice});
    assert_eq!(ask(&service, cited()).await, (200, expected));
    let (_, system) = setup.told();
    assert!(!system.contains("square brackets"), "{system}");
    let asked = json!({"query": QUESTION, "citations": true, "stream_sources": true});
    let (text, citations, rest) = sorted(&text(stream(&service, asked).await).await);
    assert_eq!((&*text, citations.len()), ("Shade [1].", 0));
    assert_eq!(rest, [json!({"type": "done", "notice": notice})]);
}

#[tokio::test]
async fn only_passages_in_the_prompt_can_be_cited() {
    let mut setup = Setup::new().await;
    let service = served([Parts {
        token_budget: 5,
        ..titled(&mut setup).await
    }]);
    setup
        .fake
        .next_of(Api::Anthropic, Turn::text("Shade [1]. Rain [2]."));
    let (_, answer) = ask(&service, cited()).await;
    assert_eq!(answer["answer"], "Shade [1]. Rain.");
    assert_eq!(answer["citations"], json!([fern(6)]));
}

#[tokio::test]
async fn every_kind_of_search_finds_titles_and_addresses() {
    let mut setup = Setup::new().await;
    let mut parts = titled(&mut setup).await;
    setup
        .fixture
        .given("CREATE INDEX ON docs USING gin (to_tsvector('english', content))")
        .await;
    for keyword in [Backend::Off, Backend::Scan, Backend::Tsvector] {
        let table = Table {
            title: Some("title".to_owned()),
            url: Some("link".to_owned()),
            keyword,
            ..table("docs")
        };
        let options = SearchOptions {
            hybrid: keyword != Backend::Off,
            fusion: Fusion {
                vector_weight: 0.0,
                ..Fusion::default()
            },
            ..SearchOptions::default()
        };
        parts.retriever = Retriever::new(setup.pool.clone(), "docs", vec![table], options);
        let service = served([parts.clone()]);
        let asked = json!({"query": QUESTION, "include_sources": true, "top_n": 1});
        let (_, answer) = ask(&service, asked).await;
        let source = &answer["sources"][0];
        assert_eq!(source["title"], "Ferns", "{keyword:?}: {answer}");
        assert_eq!(source["url"], "https://example.com/fern", "{keyword:?}");
    }
    // A table without such a column is reported, and not searched.
    let table = Table {
        title: Some("heading".to_owned()),
        ..table("docs")
    };
    parts.retriever = retriever(setup.pool.clone(), vec![table]);
    assert!(parts.retriever.probe(Some(3)).await.is_err());
}

/// Returns the same numbers for the same seed (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let number = (mixed ^ (mixed >> 31)) % u64::try_from(limit).expect("a small number");
        usize::try_from(number).expect("a small number")
    }
}

/// Returns an answer with valid, invented and nested markers, in prose and in code.
fn made_answer(numbers: &mut Numbers) -> String {
    const PIECES: [&str; 20] = [
        "Ferns",
        " like",
        " shade",
        ". ",
        "\n",
        "[1]",
        "[2]",
        "[3]",
        " [0]",
        " [17]",
        "[1, 2]",
        "[[9]1]",
        "[[2]]",
        "[",
        "]",
        "`x[0]`",
        "`",
        "\n```\na[7]\n```\n",
        "größer",
        " [4][2]",
    ];
    (0..30)
        .map(|_| PIECES[numbers.below(PIECES.len())])
        .collect()
}

/// Number of made answers, unless the variable `CITED_ANSWERS` has another.
const ANSWERS: usize = 200;

#[tokio::test]
async fn no_invalid_marker_reaches_a_client_whole_or_streamed() {
    let setup = Setup::new().await;
    let service = served([setup.parts()]);
    let mut numbers = Numbers(35);
    let answers = std::env::var("CITED_ANSWERS").ok();
    let answers = answers.map_or(ANSWERS, |answers| answers.parse().expect("a number"));
    for _ in 0..answers {
        let said_text = made_answer(&mut numbers);
        setup.fake.next_of(Api::Anthropic, Turn::text(&said_text));
        let (_, whole) = ask(&service, cited()).await;
        setup
            .fake
            .next_of(Api::Anthropic, letter_by_letter(&said_text));
        let (text, citations, rest) = sorted(&text(stream(&service, cited()).await).await);
        assert_eq!(whole["answer"], text, "{said_text:?}");
        assert_eq!(whole["citations"], json!(citations), "{said_text:?}");
        let dropped = &whole["dropped_citations"];
        assert_eq!(
            rest,
            [json!({"type": "done", "dropped_citations": dropped})]
        );
        let letters: Vec<_> = text.chars().collect();
        for citation in &citations {
            let [start, end, marker] = ["start", "end", "marker"]
                .map(|name| usize::try_from(citation[name].as_u64().expect(name)).expect(name));
            let found: String = letters[start..end].iter().collect();
            assert_eq!(found, format!("[{marker}]"), "{text:?}");
            assert!((1..=2).contains(&marker), "{citation}");
        }
        // Checked again, the answer stays as it is.
        setup.fake.next_of(Api::Anthropic, Turn::text(&text));
        let (_, again) = ask(&service, cited()).await;
        assert_eq!(again["answer"], whole["answer"], "{said_text:?}");
        assert_eq!(again["dropped_citations"], 0, "{said_text:?}");
    }
}
