use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation as _;

use crate::{Key, Mask, Pattern, Shape};

fn masked(shape: &Shape, value: &str) -> Option<String> {
    let mask = Mask::new(shape.clone(), "***");
    let masked = mask.apply(value.as_bytes())?;
    Some(String::from_utf8(masked.into_owned()).expect("UTF-8"))
}

fn hash(key: &[u8], label: &str) -> Shape {
    Shape::Hash {
        key: Key::new(key).expect("long enough"),
        label: label.to_owned(),
    }
}

#[test]
fn a_mask_keeps_only_the_promised_characters() {
    for (shape, value, expected) in [
        (Shape::Fixed, "secret", Some("***")),
        (Shape::Fixed, "", Some("***")),
        (Shape::Null, "secret", None),
        (Shape::Drop, "secret", None),
        (Shape::Last4, "123-45-6789", Some("***6789")),
        (Shape::Last4, "12345678", Some("***5678")),
        (Shape::Last4, "1234567", Some("***")),
        (Shape::Last4, "", Some("***")),
        // Eight letters, of which two have a mark of their own.
        (
            Shape::Last4,
            "abcde\u{301}fge\u{308}",
            Some("***e\u{301}fge\u{308}"),
        ),
        // Seven flags are seven characters.
        (Shape::Last4, "🇩🇪🇩🇪🇩🇪🇩🇪🇩🇪🇩🇪🇩🇪", Some("***")),
        (Shape::Email, "alice@example.com", Some("a***@example.com")),
        (
            Shape::Email,
            "e\u{301}ve@example.com",
            Some("e\u{301}***@example.com"),
        ),
        (Shape::Email, "alice", Some("***")),
        (Shape::Email, "@example.com", Some("***")),
        (Shape::Email, "alice@", Some("***")),
        (Shape::Email, "a@b@c", Some("***")),
    ] {
        assert_eq!(
            masked(&shape, value).as_deref(),
            expected,
            "{shape:?} {value}"
        );
    }
}

#[test]
fn hashes_are_equal_only_for_equal_values_under_one_label_and_key() {
    let key = b"0123456789abcdef";
    let one = masked(&hash(key, "a.b.c"), "4711").expect("a text");
    assert_eq!(one.len(), 16);
    assert!(one.bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert_eq!(masked(&hash(key, "a.b.c"), "4711"), Some(one.clone()));
    for (shape, value) in [
        (hash(key, "a.b.c"), "4712"),
        (hash(key, "a.b.d"), "4711"),
        (hash(key, "a.b.c4"), "711"),
        (hash(b"0123456789abcdeg", "a.b.c"), "4711"),
    ] {
        assert_ne!(masked(&shape, value), Some(one.clone()), "{shape:?}");
    }
    assert!(Key::new(b"short").is_err());
    assert_eq!(format!("{:?}", Key::new(key)), "Ok(Key)");
}

#[test]
fn bytes_that_are_no_text_are_hidden_wholly() {
    let bytes = b"4111111111111111\xff";
    for shape in [
        Shape::Last4,
        Shape::Email,
        Shape::Patterns(vec![Pattern::Card]),
    ] {
        let mask = Mask::new(shape, "***");
        assert_eq!(mask.apply(bytes).as_deref(), Some(&b"***"[..]), "{mask:?}");
    }
}

/// Parts of values: letters of one byte and of several, marks, flags and a family, which are one
/// character each, and parts of addresses.
const PIECES: [&str; 24] = [
    "a",
    "Z",
    "0",
    "7",
    "-",
    " ",
    "@",
    "@x.",
    ".",
    "ß",
    "é",
    "e\u{301}",
    "\u{301}",
    "漢",
    "ไ",
    "\u{200d}",
    "\u{200b}",
    "🇩🇪",
    "🇩",
    "👩\u{200d}👩\u{200d}👧",
    "\u{1100}\u{1161}",
    "\r\n",
    "क\u{94d}ष",
    "\u{feff}",
];

/// Makes values of some pieces, the same ones in each run.
fn made(count: usize) -> impl Iterator<Item = String> {
    let mut state: u64 = 0x2026_0728;
    let mut below = move |end: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).expect("31 bits") % end
    };
    (0..count).map(move |_| {
        let length = below(14);
        (0..length).map(|_| PIECES[below(PIECES.len())]).collect()
    })
}

/// The variable `MASKED_VALUES` has the number of values, for a longer run.
#[test]
fn made_values_show_nothing_but_the_promised_characters() {
    let count = std::env::var("MASKED_VALUES").map_or(100_000, |it| it.parse().expect("a number"));
    let mut addresses = 0;
    for value in made(count) {
        let characters: Vec<_> = value.graphemes(true).collect();
        let last = match characters.len() {
            0..8 => String::new(),
            length => characters[length - 4..].concat(),
        };
        let shown = masked(&Shape::Last4, &value);
        assert_eq!(shown, Some(format!("***{last}")), "{value:?}");
        let mut sides = value.split('@');
        let expected = match (sides.next(), sides.next(), sides.next()) {
            (Some(name), Some(domain), None) if !name.is_empty() && !domain.is_empty() => {
                addresses += 1;
                let first = name.graphemes(true).next().expect("a character");
                format!("{first}***@{domain}")
            }
            _ => "***".to_owned(),
        };
        assert_eq!(masked(&Shape::Email, &value), Some(expected), "{value:?}");
    }
    assert!(addresses > count / 20, "{addresses}");
}

proptest! {
    #[test]
    fn last4_shows_at_most_four_characters(value in "\\PC{0,20}") {
        let shown = masked(&Shape::Last4, &value).expect("a text");
        let shown = shown.strip_prefix("***").expect("the text of the mask");
        let count = value.graphemes(true).count();
        prop_assert!(value.ends_with(shown));
        prop_assert_eq!(shown.graphemes(true).count(), if count < 8 { 0 } else { 4 });
    }

    #[test]
    fn email_shows_at_most_one_character_and_the_domain(value in "[\\PC@]{0,20}") {
        // The text of the mask stands in the answer once.
        prop_assume!(!value.contains('*'));
        let shown = masked(&Shape::Email, &value).expect("a text");
        let (first, domain) = shown.split_once("***").expect("the text of the mask");
        if !shown.starts_with("***") || !domain.is_empty() {
            let (name, end) = value.split_once('@').expect("an address");
            prop_assert_eq!(Some(first), name.graphemes(true).next());
            prop_assert_eq!(domain.strip_prefix('@'), Some(end));
        }
    }
}
