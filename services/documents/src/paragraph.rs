//! Joins the lines of Markdown's paragraphs: a break where a line was full is no break of the text.
//!
//! Lists, tables, code, quotes and hard breaks keep their lines. In doubt a line stays its own.

/// The paragraph that the next line may belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Paragraph {
    /// No paragraph.
    #[default]
    None,
    /// A plain one.
    Plain,
    /// The text of an entry of a list.
    Entry,
    /// The text of a quote.
    Quote,
}

// === impl Paragraph ===

impl Paragraph {
    /// Appends a line to a text, and returns the paragraph that it leaves open.
    pub(super) fn push(self, text: &mut String, line: &str) -> Self {
        let Some(more) = self.continuation(line).filter(|_| !text.is_empty()) else {
            push_line(text, line);
            return Self::begun_by(line);
        };
        text.truncate(text.trim_end().len());
        let is_unspaced = |letter: Option<char>| letter.is_some_and(is_unspaced);
        if !(is_unspaced(text.chars().next_back()) && is_unspaced(more.chars().next())) {
            text.push(' ');
        }
        push_line(text, more);
        if has_hard_break(line) {
            Self::None
        } else {
            self
        }
    }

    /// Returns the text of a line that goes on with the paragraph.
    fn continuation(self, line: &str) -> Option<&str> {
        let text = line.trim_start();
        match self {
            Self::None => None,
            Self::Quote => {
                let quoted = text.strip_prefix('>')?.trim_start();
                is_prose(quoted, false).then_some(quoted)
            }
            Self::Plain | Self::Entry => is_prose(text, self == Self::Entry).then_some(text),
        }
    }

    /// Returns the paragraph that a line of its own begins.
    fn begun_by(line: &str) -> Self {
        let text = line.trim_start_matches(' ');
        if has_hard_break(line) || line.starts_with('\t') || line.len() - text.len() > 3 {
            return Self::None;
        }
        if let Some(quoted) = text.strip_prefix('>') {
            let is_prose = is_prose(quoted.trim_start(), true);
            return if is_prose { Self::Quote } else { Self::None };
        }
        match entry(text) {
            Some((_, text)) if is_prose(text, true) => Self::Entry,
            None if is_prose(text, true) => Self::Plain,
            _ => Self::None,
        }
    }
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// Returns whether a line without its indentation may be text within a paragraph. A number that
/// begins a line marks an entry if it is 1, or within a list.
fn is_prose(text: &str, is_in_list: bool) -> bool {
    let is_rule = |mark: char| text.trim_end().chars().all(|c| c == mark || c == ' ');
    let is_entry = entry(text).is_some_and(|(has_number, _)| {
        let is_first = text.starts_with("1.") || text.starts_with("1)");
        !has_number || is_in_list || is_first
    });
    let is_definition = text.starts_with('[') && text.contains("]:");
    !(text.trim().is_empty()
        || text.starts_with(['>', '|', '<'])
        || text.starts_with(":::")
        || ['-', '*', '_', '='].into_iter().any(is_rule)
        || is_entry
        || is_definition)
}

/// Returns the text of an entry of a list, and whether it has a number.
fn entry(text: &str) -> Option<(bool, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (has_number, rest) = match digits {
        0 => (false, text.strip_prefix(['-', '*', '+'])?),
        1..=9 => (true, text[digits..].strip_prefix(['.', ')'])?),
        _ => return None,
    };
    let is_entry = rest.is_empty() || rest.starts_with([' ', '\t']);
    is_entry.then(|| (has_number, rest.trim_start()))
}

/// Returns whether a line ends with a break that its author wants.
fn has_hard_break(line: &str) -> bool {
    line.ends_with("  ") || line.ends_with('\\')
}

/// Returns whether a letter is Chinese or Japanese, where no space stands between words.
fn is_unspaced(letter: char) -> bool {
    matches!(
        letter,
        '\u{3001}'..='\u{30ff}'
            | '\u{31f0}'..='\u{31ff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{ff01}'..='\u{ff9f}'
            | '\u{20000}'..='\u{323af}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(lines: &str) -> String {
        let mut text = String::new();
        let mut paragraph = Paragraph::default();
        for line in lines.lines() {
            paragraph = paragraph.push(&mut text, line);
        }
        text.trim_end().to_owned()
    }

    #[test]
    fn the_lines_of_a_paragraph_are_one() {
        for (lines, expected) in [
            ("One line\nand more \nof it.", "One line and more of it."),
            ("One.\n\nTwo\n   lines.", "One.\n\nTwo lines."),
            ("In the year\n1998. It was", "In the year 1998. It was"),
            ("A well-\nknown\n-5 degrees", "A well- known -5 degrees"),
            ("雪が降る、\n雪が。", "雪が降る、雪が。"),
            ("数据库\nWAL\n日志", "数据库 WAL 日志"),
            ("한국어\n문장", "한국어 문장"),
            (
                "> A quote\n> of lines\n> - a\n> - b",
                "> A quote of lines\n> - a\n> - b",
            ),
        ] {
            assert_eq!(joined(lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn entries_of_lists_are_joined_and_kept_apart() {
        for (lines, expected) in [
            ("- a\n  b\n- c\nd", "- a b\n- c d"),
            (
                "Steps:\n1. one\n   more\n2. two",
                "Steps:\n1. one more\n2. two",
            ),
            ("1. a\n   - b\n     c\n2. d", "1. a\n   - b c\n2. d"),
            ("* a\n\n  b\n  c", "* a\n\n  b c"),
        ] {
            assert_eq!(joined(lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn breaks_that_mean_something_stay() {
        for lines in [
            "A hard  \nbreak",
            "A hard\\\nbreak",
            "| a |\n| b |",
            "text\n<div>\n</div>",
            "text\n---\nmore",
            "text\n***\nmore",
            "Title\n=====\ntext",
            "    code\n    more",
            "\tcode\n\tmore",
            "[a]: https://a.example\n[b]: https://b.example",
            ":::\nnote\n:::",
            "> A quote\ntext",
        ] {
            assert_eq!(joined(lines), lines);
        }
    }
}
