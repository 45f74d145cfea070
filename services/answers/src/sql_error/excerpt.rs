//! The line of a statement with an error, and a mark below the place.

/// Limit on the characters of the line on either side of the place.
const MAX_SIDE: usize = 60;

/// Returns the line with this position and a caret below it. The position is in characters, counted
/// from one; behind the end of the text it means the end.
pub(super) fn excerpt(text: &str, position: usize) -> Option<String> {
    let text = text.trim_end();
    let at = byte_at(text, position)?;
    let (before, after) = text.split_at(at);
    let number = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let left: Vec<char> = before[start..].chars().collect();
    let right = after.split('\n').next().unwrap_or_default().trim_end();
    let hidden = left.len().saturating_sub(MAX_SIDE);
    let mut line = format!("LINE {number}: ");
    line.push_str(if hidden > 0 { "…" } else { "" });
    line.extend(left[hidden..].iter().copied().map(visible));
    let width = line.chars().count();
    line.extend(right.chars().take(MAX_SIDE).map(visible));
    let is_cut = right.chars().nth(MAX_SIDE).is_some();
    line.push_str(if is_cut { "…" } else { "" });
    Some(format!("{line}\n{}^", " ".repeat(width)))
}

/// Returns the position in bytes of a position in characters, counted from one.
pub(super) fn byte_at(text: &str, position: usize) -> Option<usize> {
    let index = position.checked_sub(1)?;
    let found = text.char_indices().nth(index);
    Some(found.map_or(text.len(), |(at, _)| at))
}

/// Replaces what would be wider or narrower than one character.
fn visible(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_below_the_position() {
        let cases = [
            ("SELECT a", 8, "LINE 1: SELECT a\n               ^"),
            (
                "SELECT\r\n\té, b\r\nFROM t",
                12,
                "LINE 2:  é, b\n           ^",
            ),
            ("a\n\nb", 4, "LINE 3: b\n        ^"),
            ("SELECT (1 ", 10, "LINE 1: SELECT (1\n                 ^"),
            ("SELECT", 99, "LINE 1: SELECT\n              ^"),
            ("", 1, "LINE 1: \n        ^"),
        ];
        for (text, position, expected) in cases {
            assert_eq!(excerpt(text, position).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(excerpt("a", 0), None);
    }

    #[test]
    fn long_lines_are_cut_on_both_sides_of_the_place() {
        let text = format!("{}X{}", "é".repeat(500), "b".repeat(500));
        let found = excerpt(&text, 501).expect("a line");
        let (line, caret) = found.split_once('\n').expect("two lines");
        let expected = format!("LINE 1: …{}X{}…", "é".repeat(60), "b".repeat(59));
        assert_eq!(line, expected);
        assert_eq!(caret.chars().count(), 8 + 1 + 60 + 1);
    }
}
