use crate::{planned, root, sources, without_comments};

/// Functions that still return a sentence as their error. The number only falls.
const MAX_SENTENCES: usize = 2;

#[test]
fn an_error_is_a_type_and_not_a_sentence() {
    let mut found = Vec::new();
    for (_, folder) in planned() {
        for (path, text) in sources(folder) {
            let path = path.strip_prefix(root()).unwrap_or(&path).display();
            let sentences = sentences(&without_comments(&text));
            found.extend(sentences.into_iter().map(|it| format!("{path}: {it}")));
        }
    }
    assert!(
        found.len() <= MAX_SENTENCES,
        "return an error type, such as `Problem` for files: {found:#?}"
    );
}

/// Returns the types `Result<…, String>` of a text.
fn sentences(text: &str) -> Vec<String> {
    let begins = text.match_indices("Result<").map(|(at, _)| at);
    let types = begins.filter_map(|at| Some(&text[at..=at + end(&text[at..])?]));
    let types = types.map(|it| it.split_whitespace().collect::<Vec<_>>().join(" "));
    types
        .filter(|it| {
            [", String>", ", String, >"]
                .iter()
                .any(|end| it.ends_with(end))
        })
        .collect()
}

/// Returns the position of the bracket that closes the first one.
fn end(text: &str) -> Option<usize> {
    let mut depth = 0;
    let arrow = |at: usize| text[..at].ends_with('-');
    let mut brackets = text.match_indices(['<', '>']).filter(|(at, _)| !arrow(*at));
    brackets.find_map(|(at, bracket)| {
        depth += if bracket == "<" { 1 } else { -1 };
        (depth == 0).then_some(at)
    })
}

#[test]
fn sentences_are_found_within_other_types_and_over_lines() {
    for (text, count) in [
        ("fn a() -> Result<u8, String> {", 1),
        ("fn a() -> Result<Vec<(u8, String)>, Error> {", 0),
        ("fn a() -> Result<Result<u8,\n    String>, Error> {", 1),
        (
            "fn a(f: impl Fn() -> Result<u8, String>) -> Result<String, Error> {",
            1,
        ),
        (
            "type A = std::result::Result<\n    HashMap<u8, String>,\n    String,\n>;",
            1,
        ),
        ("fn a() -> Result<String> {", 0),
    ] {
        assert_eq!(sentences(text).len(), count, "{text}");
    }
}
