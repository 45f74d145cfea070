//! Joins words into lines and paragraphs.

/// Separator between two words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Break {
    #[default]
    None,
    Blank,
    Line,
    Paragraph,
}

/// Writes words with the smallest separators needed.
#[derive(Debug, Default)]
pub(super) struct TextWriter {
    pending: Break,
    /// Mark before the next word.
    mark: Mark,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mark {
    #[default]
    None,
    Item,
    Cell,
}

// === impl TextWriter ===

impl TextWriter {
    /// Ends the line or the paragraph when the next word follows.
    pub(super) fn breaks(&mut self, kind: Break) {
        self.pending = self.pending.max(kind);
        self.mark = Mark::None;
    }

    /// Begins a list item.
    pub(super) fn item(&mut self) {
        self.mark = Mark::Item;
    }

    /// Begins a table cell.
    pub(super) fn cell(&mut self) {
        self.mark = Mark::Cell;
    }

    /// Writes words; their white space is normalized.
    pub(super) fn text(&mut self, text: &str, into: &mut String) {
        if text.starts_with(char::is_whitespace) {
            self.pending = self.pending.max(Break::Blank);
        }
        for word in text.split_whitespace() {
            self.separate(into);
            into.push_str(word);
            self.pending = Break::Blank;
        }
        let ends_in_word = text.ends_with(|c: char| !c.is_whitespace());
        if ends_in_word {
            self.pending = Break::None;
        }
    }

    /// Writes a text unchanged.
    pub(super) fn preformatted(&mut self, text: &str, into: &mut String) {
        self.separate(into);
        into.push_str(text);
    }

    fn separate(&mut self, into: &mut String) {
        let is_first = into.is_empty();
        match self.pending {
            _ if is_first => {}
            Break::None | Break::Blank if self.mark == Mark::Cell => into.push_str(" | "),
            Break::None => {}
            Break::Blank => into.push(' '),
            Break::Line => into.push('\n'),
            Break::Paragraph => into.push_str("\n\n"),
        }
        if self.mark == Mark::Item {
            into.push_str("- ");
        }
        self.pending = Break::None;
        self.mark = Mark::None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_within_and_between_texts_becomes_one_blank() {
        let mut flow = TextWriter::default();
        let mut text = String::new();
        for part in ["a ", " b", "c", "\n", "d"] {
            flow.text(part, &mut text);
        }
        assert_eq!(text, "a bc d");
        flow.breaks(Break::Paragraph);
        flow.breaks(Break::Line);
        flow.text(" e", &mut text);
        assert_eq!(text, "a bc d\n\ne");
    }
}
