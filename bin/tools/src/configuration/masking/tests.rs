use ziggurat_masking::{Mask, Shape};

use crate::configuration::fixture::Case;

/// Returns a file with a database and this section.
fn file(yaml: &str) -> String {
    format!("databases: [{{name: shop, host: localhost, user: reader}}]\nmasking: {yaml}")
}

#[test]
fn columns_are_read_as_statements_name_them() {
    let configuration = Case::new()
        .file(&file(
            "{functions: [public.age], databases: {shop: [\
             {column: Public.Person.SSN, mask: last4, text: '#'}, \
             {column: 'public.\"Note\".body', patterns: [card, email], for: {users: [alice]}}, \
             {column: public.person.pin, mask: null, unless: {scopes: [pii.read]}}]}}",
        ))
        .configuration();
    let masks = configuration.databases[0].masks.as_ref().expect("masks");
    let rules = masks.masking.rules();
    let named = |at: usize| [&*rules[at].schema, &rules[at].table, &rules[at].column];
    assert_eq!(named(0), ["public", "person", "ssn"]);
    assert_eq!(rules[0].mask, Mask::new(Shape::Last4, "#"));
    assert_eq!(named(1), ["public", "Note", "body"]);
    assert!(rules[1].mask.is_partial());
    assert!(masks.callers[1].only.is_some() && masks.callers[1].unless.is_none());
    assert!(masks.callers[2].only.is_none() && masks.callers[2].unless.is_some());
    let plain = Case::new().file(&file("{databases: {}}")).configuration();
    assert!(plain.databases[0].masks.is_none());
}

/// Sections with mistakes, and the part of the error that names each.
const SECTIONS: &[(&str, &str)] = &[
    (
        "{enforce: names}",
        "masking.enforce: must be origin, plan or privileges",
    ),
    (
        "{functions: [age]}",
        "masking.functions: not a schema and a function: age",
    ),
    ("{key_file: ./none}", "masking.key_file: cannot read "),
    (
        "{databases: {shop: [{mask: fixed}]}}",
        "masking.databases.shop[0].column: required",
    ),
    (
        "{databases: {shop: [{column: b.c, mask: fixed}]}}",
        "masking.databases.shop[0].column: must be a schema, a table and a column",
    ),
    (
        "{databases: {shp: [{column: a.b.c, mask: fixed}]}}",
        "unknown key 'masking.databases.shp'",
    ),
];

/// Keys of a column with mistakes, and the part of the error that names each.
const COLUMNS: &[(&str, &str)] = &[
    ("text: x", "[0]: needs a mask or patterns"),
    (
        "mask: fixed, patterns: [card]",
        "[0]: has a mask and patterns",
    ),
    ("mask: hash", "[0].mask: hash needs masking.key_file"),
    ("mask: blur", "[0].mask: must be fixed, null"),
    ("mask: drop, text: x", "[0].text: does not apply"),
    ("mask: fixed, label: x", "[0].label: does not apply"),
    (
        "patterns: [ssn]",
        "[0].patterns: must be card, iban or email",
    ),
    ("mask: fixed, for: {}", "[0].for"),
    (
        "mask: fixed, fro: {}",
        "unknown key 'masking.databases.shop[0].fro'",
    ),
];

#[test]
fn a_section_that_does_not_say_what_to_mask_is_refused() {
    let column = |keys: &str| format!("{{databases: {{shop: [{{column: a.b.c, {keys}}}]}}}}");
    let columns = COLUMNS
        .iter()
        .map(|(keys, expected)| (column(keys), *expected));
    let sections = SECTIONS
        .iter()
        .map(|(yaml, expected)| ((*yaml).to_owned(), *expected));
    for (yaml, expected) in sections.chain(columns) {
        let error = Case::new().file(&file(&yaml)).error();
        assert!(error.contains(expected), "{yaml}: {error}");
    }
}

#[test]
fn masks_and_dangerous_functions_exclude_each_other() {
    let dangerous = file("{databases: {shop: [{column: a.b.c, mask: fixed}]}}").replace(
        "user: reader",
        "user: reader, allow_dangerous_functions: true",
    );
    let error = Case::new().file(&dangerous).error();
    let expected = "masking.databases.shop: cannot be used with allow_dangerous_functions";
    assert!(error.contains(expected), "{error}");
}
