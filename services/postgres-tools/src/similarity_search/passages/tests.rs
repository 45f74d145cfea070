use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn search_call(question: &str, more: &Value) -> SearchCall {
    let mut arguments = json!({"query_text": question});
    for (name, value) in more.as_object().expect("an object") {
        arguments[name] = value.clone();
    }
    let arguments = serde_json::from_str(&arguments.to_string()).expect("arguments");
    SearchCall::read(arguments).expect("a question")
}

fn rows(texts: &[&[&str]]) -> Vec<Neighbour> {
    let row = |(distance, texts): (f64, &&[&str])| Neighbour {
        id: None,
        distance: Some(distance),
        texts: texts.iter().map(|text| Some((*text).to_owned())).collect(),
    };
    let distances = (1..).map(f64::from);
    distances.zip(texts).map(row).collect()
}

fn places(passages: &[Passage]) -> Vec<(usize, usize, usize)> {
    let place = |passage: &Passage| (passage.row, passage.column, passage.index);
    passages.iter().map(place).collect()
}

#[test]
fn the_words_of_a_passage_and_the_distance_of_its_row_count() {
    let rows = rows(&[
        &["about moss", "the shade of trees"],
        &["about ferns", "ferns want shade"],
        &["nothing else"],
    ]);
    let taken = take(&rows, &search_call("ferns", &json!({})));
    let expected = [(1, 0, 0), (1, 1, 0), (0, 0, 0), (0, 1, 0), (2, 0, 0)];
    assert_eq!(places(&taken), expected);
    // The second row is half as far as the third one, and has all the words.
    let scores = [taken[0].score, taken[2].score, taken[4].score];
    for (score, expected) in scores.into_iter().zip([0.7, 0.6, 0.0]) {
        assert!((score - expected).abs() < 0.01, "{scores:?}");
    }

    let taken = take(&rows, &search_call("zebra", &json!({})));
    assert_eq!(places(&taken)[..3], [(0, 0, 0), (0, 1, 0), (1, 0, 0)]);
}

#[test]
fn a_row_without_the_words_is_kept_by_its_distance() {
    // By words alone, the first row would come last.
    let rows = rows(&[
        &["plants that like it dark"],
        &["moss"],
        &["a fern"],
        &["fern fern"],
    ]);
    let taken = take(&rows, &search_call("fern", &json!({})));
    let order: Vec<_> = taken.iter().map(|passage| passage.row).collect();
    assert_eq!(order, [0, 2, 3, 1]);
}

#[test]
fn passages_come_from_as_many_rows_as_are_asked_for() {
    let rows = rows(&[&["moss", "shade"], &["stone"], &["fern"]]);
    let taken = take(&rows, &search_call("fern", &json!({"top_n": 2})));
    assert_eq!(places(&taken), [(0, 0, 0), (0, 1, 0), (2, 0, 0)]);
}

#[test]
fn passages_are_taken_until_the_next_does_not_fit() {
    // Six tokens, three, and one.
    let rows = rows(&[&["a1 b1 c1 d1 e1 f1 g1 h1"], &["a2 b2 c2 d2"], &["a3"]]);
    for (budget, expected) in [(5, 0), (6, 1), (8, 1), (9, 2), (10, 3)] {
        let search_call = search_call("zebra", &json!({"max_output_tokens": budget}));
        let taken = take(&rows, &search_call);
        assert_eq!(taken.len(), expected, "{budget}");
        let tokens: usize = taken.iter().map(|passage| passage.tokens).sum();
        assert!(tokens <= budget, "{tokens}");
    }
}

#[test]
fn a_text_that_repeats_another_ranks_lower_if_there_are_many() {
    let same = "ferns like the shade of old trees near water";
    let mut texts: Vec<Vec<&str>> = vec![vec![same]; 10];
    texts.push(vec!["cut ferns back in spring"]);
    let texts: Vec<&[&str]> = texts.iter().map(Vec::as_slice).collect();
    let rows = rows(&texts);
    let few = json!({"max_output_tokens": 100, "lambda": 0.3, "top_n": 11});
    let taken = take(&rows, &search_call("shade for ferns", &few));
    assert_eq!(taken.len(), 10);
    assert_eq!(places(&taken)[..2], [(0, 0, 0), (10, 0, 0)]);
    // Each passage keeps its own score.
    assert!(taken[1].score < taken[2].score);

    // With `lambda` 1 only relevance counts.
    let only = json!({"max_output_tokens": 100, "lambda": 1});
    let taken = take(&rows, &search_call("shade for ferns", &only));
    assert_eq!(places(&taken)[..2], [(0, 0, 0), (1, 0, 0)]);
}

#[test]
fn the_number_of_very_short_passages_is_limited() {
    let long = "word ".repeat(60_000);
    let rows = rows(&[&[&*long, "fern"], &["fern fern"]]);
    let search_call = search_call(
        "fern",
        &json!({"chunk_size_tokens": 1, "max_output_tokens": 100_000}),
    );
    let taken = take(&rows, &search_call);
    assert!(taken.len() <= MAX_PASSAGES);
    assert!(taken[0].text.contains("fern"), "{:?}", taken[0]);
}

#[test]
fn rows_without_texts_have_no_passages() {
    let empty = Neighbour {
        id: None,
        distance: Some(0.5),
        texts: vec![None, Some(" \n".to_owned())],
    };
    assert!(take(&[empty], &search_call("fern", &json!({}))).is_empty());
    assert!(take(&[], &search_call("fern", &json!({}))).is_empty());
}

proptest! {
    #[test]
    fn the_passages_fit_and_are_the_same_every_time(
        question in "[a-e]{1,2}( [a-e]{1,2}){0,3}",
        texts in prop::collection::vec(prop::collection::vec("[a-e ]{0,60}", 1..3), 0..12),
        chunk in 0_u32..12,
        output in 0_u32..80,
        lambda in -1.0..2.0,
    ) {
        let texts: Vec<Vec<&str>> = texts
            .iter()
            .map(|row| row.iter().map(String::as_str).collect())
            .collect();
        let texts: Vec<&[&str]> = texts.iter().map(Vec::as_slice).collect();
        let rows = rows(&texts);
        let search_call = search_call(
            &question,
            &json!({"chunk_size_tokens": chunk, "max_output_tokens": output, "lambda": lambda}),
        );
        let taken = take(&rows, &search_call);
        let tokens: usize = taken.iter().map(|passage| passage.tokens).sum();
        prop_assert!(tokens <= usize::try_from(search_call.output_tokens).expect("small"));
        let mut places = places(&taken);
        places.sort_unstable();
        prop_assert!(places.is_sorted_by(|one, two| one < two));
        prop_assert_eq!(taken, take(&rows, &search_call));
    }
}
