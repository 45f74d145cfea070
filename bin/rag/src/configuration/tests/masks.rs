//! Masked columns of a pipeline, and the key of hashes.

use std::fs;

use super::{Case, PIPELINE};

/// Creates a file with a pipeline that has these masked columns.
fn case(above: &str, masks: &str) -> Case {
    Case::new(&format!("{above}pipelines:{PIPELINE}  masks: {masks}\n"))
}

#[test]
fn a_pipeline_has_masks_if_it_names_columns() {
    assert!(Case::changed(&[]).pipeline().masks.is_none());
    let list = "[{column: public.Notes.Author, mask: email, unless: {scopes: [pii.read]}}, \
                {column: public.notes.body, patterns: [card], for: {tokens: [a]}}]";
    let masks = case("", list).pipeline().masks.expect("masks");
    let rules = masks.masking.rules();
    let [author, body] = rules else {
        panic!("{rules:?}");
    };
    assert_eq!((&*author.table, &*author.column), ("notes", "author"));
    assert!(!author.mask.is_partial() && body.mask.is_partial());
    assert!(masks.callers[0].unless.is_some() && masks.callers[1].only.is_some());
}

#[test]
fn hashes_need_a_key() {
    let hash = "[{column: a.b.c, mask: hash, label: d}]";
    let error = case("", hash).error();
    let expected = "pipelines[0].masks[0].mask: hash needs masking.key_file";
    assert!(error.contains(expected), "{error}");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("key");
    let above = format!("masking: {{key_file: '{}'}}\n", path.display());
    let error = case(&above, hash).error();
    assert!(error.contains("masking.key_file: cannot read"), "{error}");
    fs::write(&path, "short").expect("written");
    let error = case(&above, hash).error();
    assert!(error.contains("must have at least 16 bytes"), "{error}");
    fs::write(&path, "long enough to be a key").expect("written");
    assert!(case(&above, hash).pipeline().masks.is_some());
}

#[test]
fn masks_that_hide_nothing_are_refused() {
    for (above, masks, problem) in [
        ("", "[]", "pipelines[0].masks: names no column"),
        ("", "", "pipelines[0].masks: names no column"),
        (
            "",
            "[{column: a.b.c}]",
            "masks[0]: needs a mask or patterns",
        ),
        (
            "",
            "[{column: b.c, mask: drop}]",
            "must be a schema, a table and a column",
        ),
        ("", "[{column: a.b.c, mask: drop, for: {}}]", "masks[0].for"),
        (
            "masking: {enforce: plan}\n",
            "[{column: a.b.c, mask: drop}]",
            "unknown key",
        ),
    ] {
        let error = case(above, masks).error();
        assert!(error.contains(problem), "{masks}: {error}");
    }
}
