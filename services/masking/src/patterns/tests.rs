use proptest::prelude::*;

use crate::{Pattern, patterns::replaced};

const ALL: [Pattern; 3] = [Pattern::Card, Pattern::Iban, Pattern::Email];

#[test]
fn values_are_found_in_texts() {
    for (text, expected) in [
        ("card 4111111111111111.", "card #."),
        ("4111 1111 1111 1111", "#"),
        ("4111-1111-1111-1111 12", "# 12"),
        ("378282246310005, 6304000000000000", "#, #"),
        ("4111111111111112", "4111111111111112"),
        ("14111111111111111", "14111111111111111"),
        ("x4111111111111111", "x#"),
        (
            "41111111111111114111111111111111",
            "41111111111111114111111111111111",
        ),
        ("IBAN DE89 3704 0044 0532 0130 00 to me", "IBAN # to me"),
        ("gb82west12345698765432", "#"),
        ("DE88370400440532013000", "DE88370400440532013000"),
        ("mail alice.b+c@mail.example.com.", "mail #."),
        ("a@b, @c.d, e@, f@.g", "a@b, @c.d, e@, f@.g"),
        (
            "{\"to\":\"ann@example.org\",\"n\":4111111111111111}",
            "{\"to\":\"#\",\"n\":#}",
        ),
        ("jörg@müller.example", "#"),
        ("a@b.c@d.e", "#@d.e"),
        ("", ""),
    ] {
        let found = replaced(text, &ALL, "#");
        assert_eq!(found.as_deref().unwrap_or(text), expected, "{text}");
    }
}

#[test]
fn only_the_patterns_of_the_mask_are_replaced() {
    let text = "4111111111111111 ann@example.org";
    assert_eq!(
        replaced(text, &[Pattern::Email], "").as_deref(),
        Some("4111111111111111 ")
    );
    assert_eq!(replaced(text, &[Pattern::Iban], ""), None);
    let names = ["card", "iban", "email"].map(Pattern::read);
    assert_eq!(names, ALL.map(Some));
    assert_eq!(Pattern::read("ssn"), None);
}

proptest! {
    #[test]
    fn any_text_is_read(text in "[ -9@.A-Fa-f\\PC]{0,60}") {
        let found = replaced(&text, &ALL, "");
        prop_assert!(found.is_none_or(|found| found.len() < text.len()));
    }
}
