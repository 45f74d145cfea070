//! Cuts texts into pieces that fit a model.

/// Maximum length of a piece in bytes: about 350 words, which even small models accept.
pub(super) const MAX_BYTES: usize = 1800;

/// Cuts a text into pieces of limited length, preferably between paragraphs, else between lines,
/// sentences, or words. White space at the cuts is removed.
pub(super) fn cut(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, behind) = rest.split_at(end(rest));
        rest = behind.trim_start();
        Some(piece.trim_end())
    })
}

/// Returns the end of the first piece of a text.
fn end(text: &str) -> usize {
    if text.len() <= MAX_BYTES {
        return text.len();
    }
    let window = &text[..text.floor_char_boundary(MAX_BYTES)];
    // A paragraph of a line or two is too short for a piece.
    let least = window.len() / 3;
    let places = [
        window.rfind("\n\n"),
        window.rfind('\n'),
        sentence(window),
        window.rfind(char::is_whitespace),
    ];
    places
        .into_iter()
        .flatten()
        .find(|place| *place >= least)
        .unwrap_or(window.len())
}

/// Returns the start of the last sentence of a text, with the white space before it.
fn sentence(text: &str) -> Option<usize> {
    let ends = [". ", "! ", "? "].map(|end| text.rfind(end));
    ends.into_iter().flatten().max().map(|place| place + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut_all(text: &str) -> Vec<&str> {
        cut(text).collect()
    }

    #[test]
    fn a_short_text_is_one_piece() {
        assert_eq!(cut_all(" \n a\n\nb \n"), ["a\n\nb"]);
        assert_eq!(cut_all(" \n"), [""; 0]);
    }

    #[test]
    fn it_is_cut_at_the_largest_break() {
        let long = |end: &str| "x".repeat(1000) + end + &"y".repeat(1000);
        for (between, first) in [
            ("\n\n", ""),
            ("\n", ""),
            (". ", "."),
            (" ", ""),
            (" a\nb c\n\nd. e f\ng h. i ", " a\nb c"),
        ] {
            let text = long(between);
            let pieces = cut_all(&text);
            assert_eq!(pieces[0], "x".repeat(1000) + first, "{between:?}");
        }
        let text = long("");
        assert_eq!(cut_all(&text)[0].len(), MAX_BYTES);
    }

    proptest! {
        #[test]
        fn pieces_are_short_and_only_white_space_is_lost(
            text in prop::collection::vec("[a-z.ü雪 \n]{0,900}", 0..8),
        ) {
            let text = text.concat();
            let pieces = cut_all(&text);
            for piece in &pieces {
                prop_assert!(!piece.is_empty() && piece.len() <= MAX_BYTES);
            }
            let dense = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(dense(&pieces.concat()), dense(&text));
        }
    }
}
