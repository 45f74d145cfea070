//! Values that an asker has in place of masked ones.

use serde_json::json;

use super::{Asker, COLUMNS, Masked, SECRETS, secrets};

/// Masks of the labels, and of finds in texts.
const MASKS: &str = "\
    {column: public.documents.id, mask: hash, label: document, unless: {tokens: [open]}}, \
    {column: public.documents.title, mask: fixed, text: '(hidden)', unless: {tokens: [open]}}, \
    {column: public.documents.url, mask: drop, unless: {tokens: [open]}}, \
    {column: public.documents.content, patterns: [card, email], text: '#', for: {tokens: [masked]}}";

/// Returns the entry of the table of documents, with these further keys.
fn entry(more: &str) -> String {
    format!("{{{COLUMNS}{more}}}")
}

#[test]
fn no_entrance_and_no_model_has_a_masked_value() {
    let server = Masked::new(&entry(""), MASKS);
    let (program, masked, open) = server.serve();
    // Each after the other, so that nothing is remembered for the wrong one.
    for round in 0..2 {
        let before = server.sent().len();
        for (entrance, told) in masked.everything() {
            assert_eq!(secrets(&told), [""; 0], "{round} {entrance}: {told}");
        }
        let sent = server.sent()[before..].to_owned();
        assert!(sent.contains("Ferns like shade"), "{sent}");
        assert_eq!(secrets(&sent), [""; 0], "{round}: {sent}");
        let told: Vec<_> = open
            .everything()
            .into_iter()
            .map(|(_, told)| told)
            .collect();
        assert_eq!(secrets(&told.concat()), SECRETS, "{round}");
    }
    // A prompt has no titles and no addresses.
    assert_eq!(
        secrets(&server.sent()),
        [SECRETS[0], SECRETS[3], SECRETS[4]]
    );
    assert_eq!(secrets(&program.log()), [""; 0]);
}

#[test]
fn masks_leave_the_answer_as_it_is_but_for_the_values() {
    let server = Masked::new(&entry(""), MASKS);
    let (_program, masked, open) = server.serve();
    let answer = masked.ask(&json!({"top_n": 1})).json();
    let source = &answer["sources"][0];
    assert_eq!(source["title"], "(hidden)", "{answer}");
    assert_eq!(source.get("url"), None, "{answer}");
    assert_eq!(
        source["content"], "Ferns like shade and damp soil. Ask #, who pays with #.",
        "{answer}"
    );
    let id = source["id"].as_str().expect("an id");
    assert!(
        id.len() == 16 && id.chars().all(|it| it.is_ascii_hexdigit()),
        "{id}"
    );
    // The order of the rows is that of the plain ones, and each list has the same id for a row.
    let plain = open.ask(&json!({"top_n": 1})).json();
    assert_eq!(plain["sources"][0]["id"], "plum-doc-0");
    for list in ["vector", "fused"] {
        let [hidden, shown] =
            [&answer, &plain].map(|it| it["debug"]["candidates"][list].as_array().expect("rows"));
        assert_eq!(hidden[0]["id"], id, "{answer}");
        assert_eq!(hidden.len(), shown.len(), "{list}");
        assert_eq!(hidden[0]["score"], shown[0]["score"], "{list}");
    }
    let quote = &answer["citations"][0]["quote"];
    assert!(!quote.to_string().contains("berta"), "{answer}");
}

#[test]
fn a_part_of_a_document_tells_no_part_of_a_value() {
    let masks = "{column: public.documents.content, patterns: [card, email], text: '#', for: \
                 {tokens: [masked]}}";
    let order = ", document_column: lang, position_column: part";
    let server = Masked::new(&entry(order), masks);
    let (_program, masked, open) = server.serve();
    let read = |asker: &Asker, from: usize, most: usize| {
        let arguments = json!({"id": "plum-doc-0", "from": from, "max_characters": most});
        asker.tool("read_document", &arguments)["structuredContent"].clone()
    };
    let whole = read(&masked, 0, 8000);
    let total = whole["total"].as_u64().expect("a number");
    let text = "Ferns like shade and damp soil. Ask #, who pays with #.";
    assert!(
        whole["text"].as_str().is_some_and(|it| it.contains(text)),
        "{whole}"
    );
    assert_eq!(secrets(&whole["text"].to_string()), [""; 0], "{whole}");
    let mut letters = String::new();
    for from in 0..usize::try_from(total).expect("small") {
        let part = read(&masked, from, 1);
        let part = part["text"].as_str().expect("a text");
        letters.extend(part.lines().nth(1).and_then(|line| line.chars().next()));
    }
    assert_eq!(secrets(&letters), [""; 0], "{letters}");
    assert!(letters.starts_with(text), "{letters}");
    assert!(read(&open, 0, 8000)["total"].as_u64() > Some(total));
    // Passages are joined with their neighbours, which are masked as well.
    let joined = masked.ask(&json!({"top_n": 1})).json()["sources"][0]["content"].to_string();
    assert!(
        joined.contains("Wool") && secrets(&joined).is_empty(),
        "{joined}"
    );
}

#[test]
fn a_masked_title_is_not_searched_by_words() {
    let masks = "{column: public.documents.title, mask: fixed, for: {tokens: [masked]}}";
    let server = Masked::new(&entry(""), masks);
    let (_program, masked, open) = server.serve();
    let found = |asker: &Asker| {
        let answer = asker.ask(&json!({"query": "quince"})).json();
        answer["debug"]["candidates"]["keyword"]
            .as_array()
            .map(Vec::len)
    };
    assert_eq!(found(&open), Some(3));
    assert_eq!(found(&masked), Some(0));
}

#[test]
fn no_score_tells_of_masked_words_in_an_index() {
    let scores = |title: &str| {
        let masks = "{column: public.documents.title, mask: fixed, for: {tokens: [masked]}}";
        let server = Masked::new(&entry(", keyword_backend: auto"), masks);
        server.postgres.run(&format!(
            "UPDATE documents SET title = '{title}'; INSERT INTO documents SELECT id || n, content, \
             embedding, title, url, lang, part FROM documents, generate_series(1, 1000) AS n; CREATE \
             INDEX ON documents USING gin (to_tsvector('english', coalesce(title::text, '') || ' ' \
             || coalesce(content::text, ''))); ANALYZE documents",
        ));
        let (_program, masked, open) = server.serve();
        [masked, open].map(|asker| {
            let answer = asker.ask(&json!({})).json();
            let found = answer["debug"]["candidates"]["keyword"].as_array().cloned();
            let mut scores: Vec<_> = found.into_iter().flatten().collect();
            scores.truncate(10);
            scores
                .iter()
                .map(|row| row["score"].to_string())
                .collect::<Vec<_>>()
        })
    };
    // The words of both titles take the same room.
    let ([masked, open], [others, open_others]) = (scores("Ferns"), scores("Plums"));
    assert_eq!((masked.len(), &masked), (10, &others));
    assert_ne!(open, open_others);
}

#[test]
fn commands_that_ask_a_model_send_it_no_masked_value() {
    let masks = "{column: public.documents.content, patterns: [card, email], text: '#', for: \
                 {local: true}}, {column: public.documents.title, mask: fixed}";
    let server = Masked::new(&entry(""), masks);
    server
        .postgres
        .run("UPDATE documents SET content = content || repeat(' Nothing else is known.', 5)");
    let drafts = server.home.file("drafts.jsonl").display().to_string();
    let ran = server
        .home
        .ran(&["eval", "generate", "-n", "3", "-o", &drafts]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let sent = server.sent();
    assert!(sent.contains("who pays with #"), "{sent}");
    assert_eq!(secrets(&sent), [""; 0], "{sent}");
}
