//! Checks the markers of citations in an answer while it arrives.
//!
//! A marker is a number in square brackets, `[2]`, or several, `[2, 5]`. Each number has to name a
//! passage that was shown to the model; other numbers are removed and counted. Several numbers
//! become one marker each, `[2][5]`. The beginning of a marker is held back until it is complete,
//! however the text is split. Markers in code are text and stay unchanged: `x[0]` is no citation.

#[cfg(test)]
mod tests;

use std::mem;

use crate::citations::code::CodeSplitter;

/// Limit on the beginning of a marker that is held back, in bytes. A longer one is not valid.
const MAX_MARKER: usize = 32;

/// Number of bytes that are split at a time, because the rest of them is moved for each span.
const MAX_PIECE: usize = 1024;

/// Checks the markers of an answer that arrives in pieces.
#[derive(Debug)]
pub(super) struct MarkerChecker {
    /// Number of passages that were shown.
    shown: usize,
    splitter: CodeSplitter,
    output: Output,
    space: Space,
    /// The beginning of a marker, which is held back.
    open: Option<String>,
    /// The end of the output, if it looks like the beginning of a marker.
    sent: Option<Sent>,
    dropped: u64,
}

/// A part of the checked answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Checked {
    /// Text, with its markers; never empty.
    Text(String),
    /// A valid marker in the text before.
    Marker(Marker),
}

/// A valid marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marker {
    /// The number of the passage, from 1.
    pub(super) number: usize,
    /// Its position in the checked answer, in characters.
    pub(super) start: usize,
    /// The position after it.
    pub(super) end: usize,
}

/// The text that passed the check.
#[derive(Debug)]
struct Output {
    parts: Vec<Checked>,
    /// Number of characters so far.
    length: usize,
    last: Option<char>,
    /// Set if the line has nothing yet but indentation, quotation and the sign of a list.
    is_line_start: bool,
    /// Set if something was removed after the last character.
    has_gap: bool,
}

/// The space before the text that is read next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Space {
    None,
    Held,
    /// A marker after the space was removed.
    BeforeRemoved,
}

/// The beginning of a marker that is part of the output.
#[derive(Debug)]
struct Sent {
    start: usize,
    /// The only number so far; `None` if there are several.
    number: Option<usize>,
    last: char,
}

// === impl MarkerChecker ===

impl MarkerChecker {
    /// Checks an answer to a question with this many passages.
    pub(super) fn new(shown: usize) -> Self {
        Self {
            shown,
            splitter: CodeSplitter::default(),
            output: Output::default(),
            space: Space::None,
            open: None,
            sent: None,
            dropped: 0,
        }
    }

    /// Checks more of the answer, and returns the parts that are final.
    pub(super) fn push(&mut self, text: &str) -> Vec<Checked> {
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.floor_char_boundary(MAX_PIECE));
            rest = after;
            self.splitter.push(piece);
            self.read_spans();
        }
        mem::take(&mut self.output.parts)
    }

    /// Returns the rest, at the end of the answer.
    pub(super) fn finish(&mut self) -> Vec<Checked> {
        self.splitter.complete();
        self.read_spans();
        if self.space == Space::BeforeRemoved && self.open.is_none() {
            self.space = Space::None;
        }
        self.settle();
        mem::take(&mut self.output.parts)
    }

    /// Returns the number of markers that were removed.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    fn read_spans(&mut self) {
        loop {
            let is_line_start = self.open.is_none() && self.output.is_line_start;
            let Some(span) = self.splitter.next(is_line_start) else {
                return;
            };
            if span.is_code {
                self.settle();
                self.output.extend(&span.text);
            } else {
                span.text.chars().for_each(|letter| self.read(letter));
            }
        }
    }

    /// Passes on everything that is held back, as text.
    fn settle(&mut self) {
        if let Some(open) = self.open.take() {
            self.send(&open);
        }
        self.send_space();
        self.sent = None;
    }

    fn read(&mut self, letter: char) {
        match self.open.take() {
            Some(mut open) if continues(last(&open), letter) => {
                open.push(letter);
                if open.len() < MAX_MARKER {
                    self.open = Some(open);
                } else {
                    self.send(&open);
                }
            }
            Some(open) if letter == ']' && last(&open).is_ascii_digit() => self.close(&open),
            Some(open) => {
                self.send(&open);
                self.read_outside(letter);
            }
            None => self.read_outside(letter),
        }
    }

    /// Reads a letter while nothing is held back but a space.
    fn read_outside(&mut self, letter: char) {
        if letter == '[' {
            self.open = Some("[".to_owned());
            return;
        }
        match &mut self.sent {
            Some(sent) if continues(sent.last, letter) => {
                sent.push(letter);
                self.output.push(letter);
                return;
            }
            Some(sent) if letter == ']' && sent.last.is_ascii_digit() => {
                return self.close_sent();
            }
            _ => self.sent = None,
        }
        let is_ending = letter.is_whitespace() || ".,;:!?)".contains(letter);
        // Without the space, a number and a list after it could look like a marker.
        let would_join =
            letter == ',' && self.output.last.is_some_and(|last| last.is_ascii_digit());
        if self.space == Space::BeforeRemoved && is_ending && !would_join {
            self.space = Space::None;
        }
        self.send_space();
        if letter == ' ' {
            self.space = Space::Held;
        } else {
            self.output.push(letter);
        }
    }

    /// Ends a marker that was held back.
    fn close(&mut self, open: &str) {
        let numbers = open[1..].split(',');
        let numbers = numbers.map(|number| number.trim_start().parse().unwrap_or(usize::MAX));
        let (valid, invalid): (Vec<usize>, Vec<usize>) =
            numbers.partition(|number| self.is_valid(*number));
        self.dropped += u64::try_from(invalid.len()).unwrap_or(u64::MAX);
        if valid.is_empty() {
            if self.space == Space::Held {
                self.space = Space::BeforeRemoved;
            }
            self.output.has_gap = true;
            return;
        }
        self.send_space();
        self.sent = None;
        for number in valid {
            let start = self.output.length;
            self.output.extend(&format!("[{number}]"));
            self.output.mark(number, start);
        }
    }

    /// Ends a marker that begins in the output, because another one was removed from its middle.
    fn close_sent(&mut self) {
        let sent = self.sent.as_ref();
        let valid = sent.and_then(|sent| Some((sent.number?, sent.start)));
        if let Some((number, start)) = valid.filter(|(number, _)| self.is_valid(*number)) {
            self.output.push(']');
            self.output.mark(number, start);
            self.sent = None;
        } else {
            // Without its end it is no marker, and the next bracket could be its end, too.
            self.dropped += 1;
            self.output.has_gap = true;
        }
    }

    /// Passes on the beginning of a marker as text.
    fn send(&mut self, open: &str) {
        self.send_space();
        let mut sent = Sent {
            start: self.output.length,
            number: Some(0),
            last: '[',
        };
        open.chars().skip(1).for_each(|letter| sent.push(letter));
        self.output.extend(open);
        self.sent = Some(sent);
    }

    fn send_space(&mut self) {
        if mem::replace(&mut self.space, Space::None) != Space::None {
            self.output.push(' ');
        }
    }

    fn is_valid(&self, number: usize) -> bool {
        (1..=self.shown).contains(&number)
    }
}

// === impl Output ===

impl Output {
    fn push(&mut self, letter: char) {
        // Text around a gap must not become a longer run, which could begin or end code.
        let would_join = self.has_gap && matches!(letter, '`' | '~') && self.last == Some(letter);
        if would_join {
            self.append(' ');
        }
        self.append(letter);
    }

    fn append(&mut self, letter: char) {
        match self.parts.last_mut() {
            Some(Checked::Text(text)) => text.push(letter),
            _ => self.parts.push(Checked::Text(letter.to_string())),
        }
        let is_indentation = |letter: char| {
            letter.is_ascii_digit()
                || matches!(letter, ' ' | '\t' | '>' | '-' | '*' | '+' | '.' | ')')
        };
        self.is_line_start = letter == '\n' || self.is_line_start && is_indentation(letter);
        self.length += 1;
        self.last = Some(letter);
        self.has_gap = false;
    }

    fn extend(&mut self, text: &str) {
        text.chars().for_each(|letter| self.push(letter));
    }

    /// Adds a marker that ends here.
    fn mark(&mut self, number: usize, start: usize) {
        let end = self.length;
        self.parts
            .push(Checked::Marker(Marker { number, start, end }));
    }
}

impl Default for Output {
    fn default() -> Self {
        Self {
            parts: Vec::new(),
            length: 0,
            last: None,
            is_line_start: true,
            has_gap: false,
        }
    }
}

// === impl Sent ===

impl Sent {
    fn push(&mut self, letter: char) {
        self.number = letter.to_digit(10).and_then(|digit| {
            let tens = self.number?.saturating_mul(10);
            Some(tens.saturating_add(usize::try_from(digit).ok()?))
        });
        self.last = letter;
    }
}

/// Returns whether the beginning of a marker that ends with `last` goes on with this letter.
fn continues(last: char, letter: char) -> bool {
    match letter {
        ',' => last.is_ascii_digit(),
        ' ' => last == ',',
        letter => letter.is_ascii_digit(),
    }
}

fn last(open: &str) -> char {
    open.chars().next_back().unwrap_or_default()
}
