//! Splits Markdown into code and prose while it arrives.
//!
//! Code is a fenced block (three or more backticks or tildes at the beginning of a line), up to its
//! closing fence or the end of the text, and inline code (backticks, up to as many backticks in the
//! same line). Backticks that nothing closes are prose.

/// Limit on the text that is held back to find the end of inline code, in bytes. A line with longer
/// inline code is prose from there on.
const MAX_HELD: usize = 512;

/// Minimum number of backticks or tildes of a fence.
const FENCE: usize = 3;

/// Splits a text that arrives in pieces.
#[derive(Debug, Default)]
pub(super) struct CodeSplitter {
    /// Text that was not returned yet.
    held: String,
    fence: Option<Fence>,
    /// Set if the rest of the line has no inline code.
    is_plain_line: bool,
    /// Set if no more text arrives.
    is_complete: bool,
}

/// A part of the text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) text: String,
    pub(super) is_code: bool,
}

/// An open fence.
#[derive(Debug)]
struct Fence {
    letter: char,
    length: usize,
    line: FenceLine,
}

/// The part of a line within a fence that was read.
#[derive(Clone, Copy, Debug)]
enum FenceLine {
    Indentation,
    /// Letters of the fence, and their number.
    Letters(usize),
    /// Blanks after so many letters of the fence.
    Blanks(usize),
    Other,
}

/// The end of inline code.
enum Closing {
    At(usize),
    Missing,
    /// The line goes on.
    Unknown,
}

// === impl CodeSplitter ===

impl CodeSplitter {
    /// Adds text.
    pub(super) fn push(&mut self, text: &str) {
        self.held.push_str(text);
    }

    /// Marks the text as complete, so that nothing is held back.
    pub(super) fn complete(&mut self) {
        self.is_complete = true;
    }

    /// Returns the next part, or `None` until more text arrives. A fence may begin there if
    /// `is_line_start` is set.
    pub(super) fn next(&mut self, is_line_start: bool) -> Option<Span> {
        let first = self.held.chars().next()?;
        let (length, is_code) = match (&mut self.fence, first) {
            (Some(fence), _) => {
                let (length, is_closed) = fence.read(&self.held);
                if is_closed {
                    self.fence = None;
                }
                (length, true)
            }
            (None, '`') => self.read_backticks(is_line_start)?,
            (None, '~') => self.read_tildes(is_line_start)?,
            (None, _) => {
                let length = self.held.find(['`', '~']).unwrap_or(self.held.len());
                let has_break = self.held[..length].contains('\n');
                self.is_plain_line &= !has_break;
                (length, false)
            }
        };
        let rest = self.held.split_off(length);
        let text = std::mem::replace(&mut self.held, rest);
        Some(Span { text, is_code })
    }

    /// Returns the length of the next part and whether it is code; `None` if that is not known yet.
    fn read_backticks(&mut self, is_line_start: bool) -> Option<(usize, bool)> {
        let run = run(&self.held, '`');
        if self.is_plain_line {
            return Some((run, false));
        }
        let rest = &self.held[run..];
        let line_end = rest.find('\n');
        let line = &rest[..line_end.unwrap_or(rest.len())];
        let is_whole = line_end.is_some() || self.is_complete;
        match closing(line, run, is_whole) {
            Closing::At(end) => Some((run + end, true)),
            Closing::Missing if is_line_start && run >= FENCE && !line.contains('`') => {
                let length = run + line.len();
                self.fence = Some(Fence::new('`', run));
                Some((length, true))
            }
            Closing::Missing => Some((run, false)),
            Closing::Unknown if self.held.len() > MAX_HELD => {
                self.is_plain_line = true;
                Some((run, false))
            }
            Closing::Unknown => None,
        }
    }

    fn read_tildes(&mut self, is_line_start: bool) -> Option<(usize, bool)> {
        let run = run(&self.held, '~');
        if !is_line_start {
            return Some((run, false));
        }
        let may_grow = run == self.held.len() && run <= MAX_HELD && !self.is_complete;
        if may_grow {
            return None;
        }
        if run >= FENCE {
            self.fence = Some(Fence::new('~', run));
        }
        Some((run, run >= FENCE))
    }
}

// === impl Fence ===

impl Fence {
    /// Opens a fence. More text may follow on its line.
    fn new(letter: char, length: usize) -> Self {
        let line = FenceLine::Other;
        Self {
            letter,
            length,
            line,
        }
    }

    /// Returns the length of the code, and whether the fence is closed after it.
    fn read(&mut self, text: &str) -> (usize, bool) {
        for (at, letter) in text.char_indices() {
            self.line = match (self.line, letter) {
                (FenceLine::Letters(length) | FenceLine::Blanks(length), '\n')
                    if length >= self.length =>
                {
                    return (at, true);
                }
                (_, '\n') | (FenceLine::Indentation, ' ' | '\t' | '>') => FenceLine::Indentation,
                (FenceLine::Indentation, letter) if letter == self.letter => FenceLine::Letters(1),
                (FenceLine::Letters(length), letter) if letter == self.letter => {
                    FenceLine::Letters(length + 1)
                }
                (FenceLine::Letters(length) | FenceLine::Blanks(length), ' ' | '\t' | '\r') => {
                    FenceLine::Blanks(length)
                }
                _ => FenceLine::Other,
            };
        }
        (text.len(), false)
    }
}

/// Finds the end of inline code in the line after `length` backticks.
fn closing(line: &str, length: usize, is_whole: bool) -> Closing {
    if line.is_empty() && !is_whole {
        // There may be more backticks.
        return Closing::Unknown;
    }
    let mut at = 0;
    while let Some(found) = line[at..].find('`') {
        at += found;
        let run = run(&line[at..], '`');
        at += run;
        if at == line.len() && !is_whole {
            return Closing::Unknown;
        }
        if run == length {
            return Closing::At(at);
        }
    }
    if is_whole {
        Closing::Missing
    } else {
        Closing::Unknown
    }
}

/// Returns the number of these letters, of one byte each, at the beginning of a text.
fn run(text: &str, letter: char) -> usize {
    text.len() - text.trim_start_matches(letter).len()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// Returns a text with `«»` around code. It is passed on letter by letter.
    fn marked(text: &str) -> String {
        let mut splitter = CodeSplitter::default();
        let (mut prose, mut marked) = (String::new(), String::new());
        let mut take = |splitter: &mut CodeSplitter| {
            loop {
                let line = prose.rsplit('\n').next().unwrap_or_default();
                let is_line_start = line.chars().all(|letter| letter == ' ');
                let Some(span) = splitter.next(is_line_start) else {
                    break;
                };
                prose.push_str(&span.text);
                if span.is_code {
                    let _ = write!(marked, "«{}»", span.text);
                } else {
                    marked.push_str(&span.text);
                }
            }
        };
        for letter in text.chars() {
            splitter.push(letter.encode_utf8(&mut [0; 4]));
            take(&mut splitter);
        }
        splitter.complete();
        take(&mut splitter);
        marked.replace("»«", "")
    }

    #[test]
    fn inline_code_ends_in_its_line_with_as_many_backticks() {
        for (text, expected) in [
            ("a `b[0]` c", "a «`b[0]`» c"),
            ("``a`b`` c", "«``a`b``» c"),
            ("a `b", "a `b"),
            ("a `b\nc` d", "a `b\nc` d"),
            ("a ``b` c``` d", "a ``b` c``` d"),
            ("`` a `b` c", "`` a «`b`» c"),
            ("```a``` b", "«```a```» b"),
            ("ä `ö` ü", "ä «`ö`» ü"),
            ("~a~ `~`", "~a~ «`~`»"),
        ] {
            assert_eq!(marked(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_fence_ends_with_a_line_of_as_many_letters_or_with_the_text() {
        for (text, expected) in [
            ("a\n```\n[0]\n```\nb", "a\n«```\n[0]\n```»\nb"),
            (
                "```rust\n`x` [0]\n````  \nb",
                "«```rust\n`x` [0]\n````  »\nb",
            ),
            ("````\n```\n````\nb", "«````\n```\n````»\nb"),
            ("```\n``` x\n~~~\n", "«```\n``` x\n~~~\n»"),
            ("  ~~~ `x`\n```\n  ~~~\nb", "  «~~~ `x`\n```\n  ~~~»\nb"),
            ("~~\na", "~~\na"),
            ("a ```\nb", "a ```\nb"),
            ("``` a`b\nc", "``` a`b\nc"),
            ("```\n> ```\nb", "«```\n> ```»\nb"),
            ("a\n```", "a\n«```»"),
        ] {
            assert_eq!(marked(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_line_with_inline_code_that_is_too_long_is_prose_to_its_end() {
        let long = "x".repeat(MAX_HELD);
        let text = format!("`{long}` [9] `a`\n`b`");
        assert_eq!(marked(&text), format!("`{long}` [9] `a`\n«`b`»"));
        let fits = "x".repeat(MAX_HELD - 2);
        assert_eq!(marked(&format!("`{fits}` c")), format!("«`{fits}`» c"));
    }
}
