use std::{fs, slice};

use proptest::{prelude::*, test_runner::TestRunner};
use tokio::runtime::Builder;

use crate::{
    Error, Filter, KnowledgeBase, Passage, Provider,
    fixture::{Chunk, KnowledgeFile},
};

const GARDEN: (&str, &str) = ("Garden", "2");
const POND: (&str, &str) = ("Pond", "");

const CHUNKS: [Chunk<'_>; 4] = [
    Chunk {
        product: GARDEN,
        place: (Some("Beds"), Some("Soil")),
        text: "loam",
        vector: &[1.0, 0.0],
    },
    Chunk {
        product: GARDEN,
        place: (None, None),
        text: "sand",
        vector: &[6.0, 8.0],
    },
    Chunk {
        product: POND,
        place: (Some("Water"), None),
        text: "mud",
        vector: &[0.0, -0.1],
    },
    Chunk {
        product: POND,
        place: (None, None),
        text: "nothing",
        vector: &[0.0, 0.0],
    },
];

async fn nearest(
    base: &KnowledgeBase,
    vector: &[f32],
    count: usize,
) -> Result<Vec<Passage>, Error> {
    let search = base.search(&Filter::default()).await?;
    search.nearest(vector, count).await
}

fn texts(passages: &[Passage]) -> Vec<&str> {
    passages.iter().map(|passage| &*passage.text).collect()
}

#[tokio::test]
async fn passages_have_all_fields_and_the_closest_comes_first() {
    let library = KnowledgeFile::with(&CHUNKS).await;
    let base = library.base(Provider::OpenAi);
    let found = nearest(&base, &[2.0, 0.0], 9).await.expect("found");
    assert_eq!(texts(&found), ["loam", "sand", "mud"]);
    let expected = Passage {
        project: "Garden".to_owned(),
        version: "2".to_owned(),
        title: Some("Beds".to_owned()),
        section: Some("Soil".to_owned()),
        text: "loam".to_owned(),
        similarity: 1.0,
    };
    assert_eq!(found[0], expected);
    assert!((found[1].similarity - 0.6).abs() < 1e-6, "{found:?}");
    assert_eq!((&found[1].title, &found[1].section), (&None, &None));

    let few = nearest(&base, &[2.0, 0.0], 1).await.expect("found");
    assert_eq!(texts(&few), ["loam"]);
}

async fn found(base: &KnowledgeBase, question: &str, filter: &Filter) -> Vec<Passage> {
    let search = base.search(filter).await.expect("a search");
    let found = search.find(question, &[2.0, 0.0], 2).await;
    found.expect("found")
}

#[tokio::test]
async fn words_find_what_is_far_away_by_its_vector() {
    let library = KnowledgeFile::with(&CHUNKS).await;
    let base = library.base(Provider::OpenAi);
    let all = Filter::default();
    // The question has another form of the word, and characters that mean something to SQLite.
    let passages = found(&base, "Where are \"muds\" AND (NOT *?", &all).await;
    assert_eq!(texts(&passages), ["mud", "loam"]);
    assert!(passages[0].similarity.abs() < 1e-6, "{passages:?}");
    assert_eq!(texts(&found(&base, "water", &all).await), ["mud", "loam"]);
    assert_eq!(texts(&found(&base, "the", &all).await), ["loam", "sand"]);
    // This one has no vector to compare with.
    let passages = found(&base, "nothing", &all).await;
    assert_eq!(texts(&passages), ["loam", "sand"]);
    let garden = Filter {
        projects: vec!["Garden".to_owned()],
        ..Filter::default()
    };
    assert_eq!(texts(&found(&base, "mud", &garden).await), ["loam", "sand"]);
}

#[tokio::test]
async fn a_file_without_an_index_over_words_gets_one_at_the_next_build() {
    let library = KnowledgeFile::empty();
    library.run(crate::schema::CREATE).await;
    library
        .run(
            "DROP TRIGGER chunk_words_insert; DROP TRIGGER chunk_words_delete;
             DROP TRIGGER chunk_words_update; DROP TABLE chunk_words;",
        )
        .await;
    library.add(&CHUNKS).await;
    let all = Filter::default();
    let base = library.base(Provider::OpenAi);
    assert_eq!(texts(&found(&base, "mud", &all).await), ["loam", "sand"]);
    library.run(crate::schema::CREATE).await;
    library.run("DELETE FROM chunks WHERE text = 'sand'").await;
    let base = library.base(Provider::OpenAi);
    assert_eq!(texts(&found(&base, "mud", &all).await), ["mud", "loam"]);
}

#[tokio::test]
async fn only_selected_products_are_found() {
    let library = KnowledgeFile::with(&CHUNKS).await;
    let base = library.base(Provider::OpenAi);
    for (projects, versions, expected) in [
        (&["Pond"][..], &[][..], &["mud"][..]),
        (&[], &["2"], &["loam", "sand"]),
        (&["Garden"], &["1"], &[]),
    ] {
        let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect();
        let filter = Filter {
            projects: owned(projects),
            versions: owned(versions),
        };
        let search = base.search(&filter).await.expect("known");
        let found = search.nearest(&[1.0, 0.0], 9).await.expect("found");
        assert_eq!(texts(&found), expected, "{filter:?}");
    }
    let filter = Filter {
        projects: vec!["Lake".to_owned()],
        versions: Vec::new(),
    };
    let error = base.search(&filter).await.expect_err("unknown");
    assert_eq!(error.to_string(), "Unknown project name: Lake");
}

#[tokio::test]
async fn vectors_that_cannot_be_compared_are_an_error() {
    let library = KnowledgeFile::with(&CHUNKS).await;
    for base in [
        library.base(Provider::OpenAi),
        library.base(Provider::OpenAi).with_max_bytes(0),
    ] {
        let error = nearest(&base, &[1.0, 0.0, 0.0], 5).await.expect_err("3");
        let (2, 3) = (match error {
            Error::Lengths { held, asked, .. } => (held, asked),
            error => panic!("{error}"),
        }) else {
            panic!("other lengths");
        };
    }
    for provider in [Provider::Voyage, Provider::Gemini, Provider::Local] {
        let base = library.base(provider);
        let error = base.search(&Filter::default()).await.expect_err("none");
        assert!(matches!(error, Error::NoVectors(_)), "{provider:?}");
        assert!(error.to_string().contains(provider.name()), "{error}");
        assert_eq!(base.products().await.expect("listed").len(), 2);
    }
    // Other vectors of another length do not prevent an answer.
    let mixed = Chunk::new(GARDEN, "clay", &[1.0, 0.0, 0.0]);
    library.add(slice::from_ref(&mixed)).await;
    let base = library.base(Provider::OpenAi);
    let found = nearest(&base, &[1.0, 0.0], 9).await.expect("found");
    assert_eq!(texts(&found), ["loam", "sand", "mud"]);
    let found = nearest(&base, &[1.0, 0.0, 0.0], 9).await.expect("found");
    assert_eq!(texts(&found), ["clay"]);
}

#[tokio::test]
async fn another_model_of_the_same_provider_is_noticed() {
    let library = KnowledgeFile::with(&CHUNKS).await;
    library
        .run("INSERT INTO embedding_models VALUES ('openai', 'large')")
        .await;
    let base = library.base(Provider::OpenAi);
    let error = base.search(&Filter::default()).await.expect_err("another");
    let text = error.to_string();
    assert!(
        text.contains("'large'") && text.contains("'model'"),
        "{text}"
    );
    let base = KnowledgeBase::new(library.path(), Provider::OpenAi).with_model("large");
    assert!(base.search(&Filter::default()).await.is_ok());
}

#[tokio::test]
async fn a_zero_vector_is_close_to_nothing() {
    let library = KnowledgeFile::with(&CHUNKS).await;
    let base = library.base(Provider::OpenAi);
    for vector in [[0.0, 0.0], [f32::NAN, 1.0]] {
        let found = nearest(&base, &vector, 5).await.expect("found");
        assert_eq!(texts(&found), [""; 0]);
    }
}

#[tokio::test]
async fn a_base_without_chunks_answers_that_there_are_none() {
    let library = KnowledgeFile::with(&[]).await;
    let base = library.base(Provider::OpenAi);
    let found = nearest(&base, &[1.0], 5).await.expect("found");
    assert_eq!(texts(&found), [""; 0]);
    assert_eq!(base.products().await.expect("listed"), []);
    assert_eq!(base.warm().await.expect("read"), 0);
}

#[tokio::test]
async fn errors_of_a_missing_or_wrong_file_have_no_path() {
    let library = KnowledgeFile::empty();
    let base = library.base(Provider::OpenAi);
    let error = base.products().await.expect_err("missing");
    assert!(matches!(error, Error::Missing), "{error}");

    fs::write(
        library.path(),
        "a letter, and by no means a short one".repeat(99),
    )
    .expect("written");
    let error = base.products().await.expect_err("text");
    assert!(matches!(error, Error::Foreign(_)), "{error:?}");
    assert!(error.to_string().contains("SQLite"), "{error}");

    fs::remove_file(library.path()).expect("removed");
    library.run("CREATE TABLE recipes (id int)").await;
    let error = base.products().await.expect_err("recipes").to_string();
    assert!(error.contains("'chunks'"), "{error}");

    library.run("CREATE TABLE chunks (id int, text text)").await;
    let error = base.products().await.expect_err("no titles").to_string();
    assert!(error.contains("'title'"), "{error}");
    assert!(!error.contains("docs.db"), "{error}");
}

#[tokio::test]
async fn a_file_that_grows_or_is_replaced_is_read_again() {
    let library = KnowledgeFile::with(&CHUNKS[..1]).await;
    let base = library.base(Provider::OpenAi);
    assert_eq!(base.warm().await.expect("read"), 1);
    library.add(&CHUNKS[1..3]).await;
    assert_eq!(base.warm().await.expect("read"), 3);

    let other = KnowledgeFile::with(&[Chunk::new(GARDEN, "peat", &[1.0, 1.0])]).await;
    fs::rename(other.path(), library.path()).expect("replaced");
    let found = nearest(&base, &[1.0, 0.0], 5).await.expect("found");
    assert_eq!(texts(&found), ["peat"]);

    fs::remove_file(library.path()).expect("removed");
    let error = base.products().await.expect_err("missing");
    assert!(matches!(error, Error::Missing), "{error}");
}

#[tokio::test]
async fn a_file_whose_writer_was_killed_needs_a_build() {
    let text = "long ".repeat(2000);
    let chunk = Chunk::new(GARDEN, &text, &[1.0, 0.0]);
    let library = KnowledgeFile::with(&[chunk; 50]).await;
    let mut writer = library.connect().await;
    // With so little cache, pages are written before the transaction ends.
    sqlx::raw_sql("PRAGMA cache_size = 1; BEGIN; UPDATE chunks SET text = text || 'er'")
        .execute(&mut writer)
        .await
        .expect("begun");
    let killed = KnowledgeFile::empty();
    fs::copy(library.path(), killed.path()).expect("copied");
    let journal = |library: &KnowledgeFile| library.path().with_extension("db-journal");
    fs::copy(journal(&library), journal(&killed)).expect("copied");
    drop(writer);

    let base = killed.base(Provider::OpenAi);
    let error = base.products().await.expect_err("half written");
    assert!(matches!(error, Error::HalfWritten), "{error:?}");
    // A connection that can write repairs it.
    killed.run("DELETE FROM chunks WHERE id = 1").await;
    let found = nearest(&base, &[1.0, 0.0], 1).await.expect("mended");
    assert_eq!(texts(&found), [&*text]);
}

#[tokio::test]
async fn an_abandoned_search_leaves_the_base_usable() {
    let library = KnowledgeFile::with(&CHUNKS).await;
    let base = library.base(Provider::OpenAi).with_max_bytes(0);
    let search = base.search(&Filter::default()).await.expect("prepared");
    for polls in 0..30 {
        let mut future = tokio_test::task::spawn(search.nearest(&[1.0, 0.0], 5));
        for _ in 0..polls {
            if future.poll().is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
    let found = search.nearest(&[1.0, 0.0], 5).await.expect("found");
    assert_eq!(texts(&found), ["loam", "sand", "mud"]);
}

#[test]
fn the_answer_equals_an_exact_comparison_in_memory_or_not() {
    let runtime = Builder::new_current_thread().build().expect("a runtime");
    let vectors = prop::collection::vec(prop::collection::vec(-1.0_f32..1.0, 8), 1..40);
    let question = prop::collection::vec(-1.0_f32..1.0, 8);
    let config = ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let outcome = TestRunner::new(config).run(&(vectors, question, 1..9_usize), |case| {
        let (vectors, question, count) = case;
        runtime.block_on(async {
            let chunks: Vec<_> = vectors
                .iter()
                .map(|vector| Chunk::new(GARDEN, "x", vector))
                .collect();
            let library = KnowledgeFile::with(&chunks).await;
            let held = library.base(Provider::OpenAi);
            let streamed = library.base(Provider::OpenAi).with_max_bytes(0);
            let held = nearest(&held, &question, count).await.expect("found");
            let streamed = nearest(&streamed, &question, count).await.expect("found");
            prop_assert_eq!(held, streamed);
            Ok(())
        })
    });
    outcome.expect("they agree");
}
