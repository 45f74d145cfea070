//! Splits documents into passages that fit a model.

use crate::document::{Block, Document, Section};

/// Default length of a passage, and of what it repeats of the one before, in tokens.
const PASSAGE: usize = 300;
const OVERLAP: usize = 40;

/// Parts of a token that the length of a text is counted in.
const UNITS: usize = 4;

/// Splits documents by their structure: a passage never spans two headings, ends between
/// paragraphs, else between sentences, else between words, and repeats the last sentences of the
/// passage before. Tables and code are kept whole up to twice the length of a passage, and split
/// between lines otherwise.
///
/// No tokenizer of a model is used: four letters of the Latin alphabet are one token, two of most
/// others, and each Chinese or Japanese character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Splitter {
    /// Limits in units.
    limit: usize,
    overlap: usize,
}

/// Passage of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage<'a> {
    /// The headings above it.
    pub heading: Option<&'a str>,
    /// Its text.
    pub text: String,
}

/// Text that is not split further.
#[derive(Clone, Copy)]
struct Piece<'a> {
    /// Separator from the piece before.
    glue: &'static str,
    text: &'a str,
    /// Length in units.
    cost: usize,
    /// Part of a table or code, which the next passage does not repeat.
    is_whole: bool,
}

/// Puts pieces together.
struct Packer {
    splitter: Splitter,
    passages: Vec<String>,
    current: String,
    /// Length of the current passage in units.
    cost: usize,
    /// True if the current passage is more than a repetition.
    is_new: bool,
    /// Start of the text that the next passage may repeat.
    repeatable: usize,
}

// === impl Splitter ===

impl Default for Splitter {
    fn default() -> Self {
        Self::new(PASSAGE, OVERLAP)
    }
}

impl Splitter {
    /// Makes passages of up to this many tokens, each of which repeats up to `overlap` tokens of
    /// the one before: at most half a passage.
    #[must_use]
    pub fn new(tokens: usize, overlap: usize) -> Self {
        let limit = tokens.max(1).saturating_mul(UNITS);
        Self {
            limit,
            overlap: overlap.saturating_mul(UNITS).min(limit / 2),
        }
    }

    /// Returns the passages of a document, in their order.
    #[must_use]
    pub fn passages(self, document: &Document) -> Vec<Passage<'_>> {
        let sections = document.sections.iter();
        sections
            .flat_map(|section| {
                let heading = section.heading.as_deref();
                let texts = self.texts(section).into_iter();
                texts.map(move |text| Passage { heading, text })
            })
            .collect()
    }

    fn texts(self, section: &Section) -> Vec<String> {
        let mut packer = Packer {
            splitter: self,
            passages: Vec::new(),
            current: String::new(),
            cost: 0,
            is_new: false,
            repeatable: 0,
        };
        for block in &section.blocks {
            self.block(block, &mut |piece| packer.add(piece));
        }
        packer.finish()
    }

    /// Splits a block into pieces.
    fn block<'a>(self, block: &'a Block, add: &mut impl FnMut(Piece<'a>)) {
        if !block.is_whole {
            for paragraph in block.text.split("\n\n") {
                self.parts(paragraph, false, add);
            }
            return;
        }
        let cost = units(&block.text);
        if cost <= self.limit.saturating_mul(2) {
            return add(Piece::first(&block.text, cost, true));
        }
        self.parts(&block.text, true, add);
    }

    /// Splits a text that may be too long into lines and sentences, and those into words.
    fn parts<'a>(self, text: &'a str, is_whole: bool, add: &mut impl FnMut(Piece<'a>)) {
        let cost = units(text);
        if cost <= self.limit {
            return add(Piece::first(text, cost, is_whole));
        }
        let mut glue = "\n\n";
        for sentence in split_after(text, |end| ends_sentence(end, is_whole)) {
            // Counted once: a sentence without an end may be all of a large document.
            let mut cost = units(sentence);
            let mut rest = sentence;
            while cost > self.limit {
                let (text, behind) = rest.split_at(words_within(rest, self.limit));
                let own = units(text);
                add(Piece {
                    glue,
                    text,
                    cost: own,
                    is_whole,
                });
                (glue, rest) = ("", behind);
                cost -= own;
            }
            add(Piece {
                glue,
                text: rest,
                cost,
                is_whole,
            });
            glue = "";
        }
    }
}

// === impl Passage ===

impl Passage<'_> {
    /// Returns the text after the title and the headings: "It must not freeze" alone means nothing.
    #[must_use]
    pub fn in_context(&self, title: Option<&str>) -> String {
        in_context(title, self.heading, &self.text)
    }
}

/// Returns a text after a title and a heading.
#[must_use]
pub fn in_context(title: Option<&str>, heading: Option<&str>, text: &str) -> String {
    let parts: Vec<_> = title.into_iter().chain(heading).collect();
    format!("{}\n\n{text}", parts.join(" > "))
}

// === impl Piece ===

impl<'a> Piece<'a> {
    /// Makes the first piece of a paragraph or a block.
    fn first(text: &'a str, cost: usize, is_whole: bool) -> Self {
        Self {
            glue: "\n\n",
            text,
            cost,
            is_whole,
        }
    }
}

// === impl Packer ===

impl Packer {
    fn add(&mut self, piece: Piece<'_>) {
        let cost = piece.glue.len() + piece.cost;
        if self.is_new && self.cost + cost > self.splitter.limit {
            self.close(cost);
        }
        if self.current.is_empty() {
            self.cost = piece.cost;
        } else {
            if !piece.glue.is_empty() {
                self.current.truncate(self.current.trim_end().len());
            }
            self.current.push_str(piece.glue);
            self.cost += cost;
        }
        self.current.push_str(piece.text);
        self.is_new = true;
        if piece.is_whole {
            self.repeatable = self.current.len();
        }
    }

    /// Ends a passage. The next one begins with its last sentences, if what follows fits after them.
    fn close(&mut self, next: usize) {
        let tail = last_sentences(&self.current[self.repeatable..], self.splitter.overlap);
        let cost = units(tail);
        let tail = if cost + next <= self.splitter.limit {
            tail.to_owned()
        } else {
            String::new()
        };
        self.cost = units(&tail);
        self.push(tail);
        (self.is_new, self.repeatable) = (false, 0);
    }

    /// Takes the current passage, and begins another one with this text.
    fn push(&mut self, next: String) {
        let passage = std::mem::replace(&mut self.current, next);
        let trimmed = passage.trim();
        if !trimmed.is_empty() {
            self.passages.push(trimmed.to_owned());
        }
    }

    fn finish(mut self) -> Vec<String> {
        if self.is_new {
            self.push(String::new());
        }
        self.passages
    }
}

/// Returns the length of a text in units.
fn units(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.chars().map(units_of).sum()
}

fn units_of(c: char) -> usize {
    match u32::from(c) {
        0..0x80 => 1,
        // From here on one character is a word, or a good part of one.
        0x2e80.. => UNITS,
        _ => 2,
    }
}

/// Splits a text behind each character for which the function returns true, given the text up to
/// and including the character; white space that follows stays with the part.
fn split_after(text: &str, ends: impl Fn(&[u8]) -> bool) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut ends_at = rest.char_indices().filter(|&(at, c)| {
            let end = at + c.len_utf8();
            ends(&rest.as_bytes()[at.saturating_sub(3)..end])
        });
        let end = ends_at
            .next()
            .map_or(rest.len(), |(at, c)| at + c.len_utf8());
        let space = rest[end..].len() - rest[end..].trim_start().len();
        let (part, behind) = rest.split_at(end + space);
        rest = behind;
        Some(part)
    })
}

/// Returns whether a sentence or a line ends with these bytes, the last few of a text.
fn ends_sentence(bytes: &[u8], only_lines: bool) -> bool {
    const CJK: [&str; 3] = ["。", "！", "？"];
    match bytes {
        [.., b'\n'] => true,
        _ if only_lines => false,
        [.., b'.' | b'!' | b'?', b' ' | b'\t'] => true,
        _ => CJK.iter().any(|end| bytes.ends_with(end.as_bytes())),
    }
}

/// Returns the length of the words at the beginning of a text that are within a limit in units: at
/// least one character.
fn words_within(text: &str, limit: usize) -> usize {
    let mut cost = 0;
    let fits = |&(_, c): &(usize, char)| {
        cost += units_of(c);
        cost <= limit
    };
    let fitting = text.char_indices().take_while(fits);
    let end = fitting.last().map_or(0, |(at, c)| at + c.len_utf8());
    let first = text.chars().next().map_or(0, char::len_utf8);
    let end = end.max(first);
    let space = text[..end].rfind(char::is_whitespace);
    // A long word is cut rather than a passage made very short.
    let space = space.filter(|space| *space > end / 2);
    space.map_or(end, |space| {
        space + text[space..].chars().next().map_or(0, char::len_utf8)
    })
}

/// Returns the last sentences of a text within a limit in units; without any, its last words; nothing
/// if that is the whole text.
fn last_sentences(whole: &str, limit: usize) -> &str {
    let text = whole.trim_end();
    let mut cost = 0;
    let fits = |&(_, c): &(usize, char)| {
        cost += units_of(c);
        cost <= limit
    };
    let fitting = text.char_indices().rev().take_while(fits);
    let Some(start) = fitting.last().map(|(at, _)| at).filter(|at| *at > 0) else {
        return "";
    };
    // The sentence before the window ends within the bytes in front of it.
    let from = text.floor_char_boundary(start.saturating_sub(2));
    let mut sentences = split_after(&text[from..], |end| ends_sentence(end, false));
    let first = sentences.next().unwrap_or_default().len();
    let at = (from + first).max(start);
    if at < text.len() {
        return &whole[at..];
    }
    let word = text[start..].find(char::is_whitespace);
    whole[start + word.unwrap_or(0)..].trim_start()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn block(text: &str, is_whole: bool) -> Block {
        Block {
            text: text.to_owned(),
            is_whole,
        }
    }

    fn texts(splitter: Splitter, blocks: Vec<Block>) -> Vec<String> {
        let heading = None;
        splitter.texts(&Section { heading, blocks })
    }

    fn split(tokens: usize, overlap: usize, text: &str) -> Vec<String> {
        texts(Splitter::new(tokens, overlap), vec![block(text, false)])
    }

    #[test]
    fn a_short_text_is_one_passage() {
        assert_eq!(split(300, 40, "a\n\nb"), ["a\n\nb"]);
        assert_eq!(texts(Splitter::default(), Vec::new()), [""; 0]);
    }

    #[test]
    fn it_is_split_between_paragraphs_then_sentences_then_words_then_characters() {
        for (text, expected) in [
            (
                "one two.\n\nthree four five",
                &["one two.", "three four five"][..],
            ),
            (
                "One two. Three. Four five six.",
                &["One two. Three.", "Four five six."],
            ),
            (
                "one\ntwo\nthree four five",
                &["one\ntwo", "three four five"],
            ),
            (
                "one two three four five six",
                &["one two three", "four five six"],
            ),
            (
                "aaaaaaaaaaaaaaaaaaaaaaaaaa",
                &["aaaaaaaaaaaaaaaa", "aaaaaaaaaa"],
            ),
            ("雪が降る。雪が", &["雪が降", "る。", "雪が"]),
        ] {
            let tokens = if text.is_ascii() { 4 } else { 3 };
            assert_eq!(split(tokens, 0, text), expected, "{text}");
        }
    }

    #[test]
    fn a_passage_begins_with_the_last_sentences_of_the_one_before() {
        let text = "Soil is loam. Sand is fine. Rain is wet. Wind is dry.";
        assert_eq!(
            split(8, 4, text),
            [
                "Soil is loam. Sand is fine.",
                "Sand is fine. Rain is wet.",
                "Rain is wet. Wind is dry."
            ]
        );
        // A sentence that is longer is repeated from a word on.
        let text = "one two three four five six seven eight nine ten";
        let passages = split(5, 2, text);
        assert_eq!(passages[0], "one two three four");
        assert!(passages[1].starts_with("four five"), "{passages:?}");
    }

    #[test]
    fn tables_and_code_are_whole_up_to_twice_the_length_and_are_not_repeated() {
        let code = "let a = 1;\nlet b = 2;\nlet c = 3;";
        let blocks = |code: &str| {
            vec![
                block("Before.", false),
                block(code, true),
                block("After.", false),
            ]
        };
        let splitter = Splitter::new(5, 2);
        assert_eq!(texts(splitter, blocks(code)), ["Before.", code, "After."]);
        let long = "let a = 1;\nlet b = 2;\nlet c = 3;\nlet d = 4;";
        let lines: Vec<_> = long.lines().collect();
        let mut expected = vec!["Before."];
        expected.extend(lines);
        expected.push("After.");
        assert_eq!(texts(Splitter::new(3, 1), blocks(long)), expected);
    }

    #[test]
    fn a_long_text_without_blanks_is_split_in_linear_time() {
        // Seconds here mean hours in the square of the length.
        let began = std::time::Instant::now();
        let passages = split(300, 40, &"ä".repeat(7 << 20));
        assert!(passages.len() > 10_000, "{}", passages.len());
        assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
    }

    #[test]
    fn a_passage_has_the_headings_above_it() {
        let document = Document::read(crate::Kind::Markdown, "# T\n## Beds\n### Soil\nloam");
        let passages = Splitter::default().passages(&document);
        assert_eq!(passages[0].heading, Some("Beds > Soil"));
        assert_eq!(passages[0].in_context(Some("T")), "T > Beds > Soil\n\nloam");
    }

    proptest! {
        #[test]
        fn passages_are_short_and_hold_all_words_in_order(
            paragraphs in prop::collection::vec("[a-z.ü雪。 \n]{1,200}", 0..8),
            tokens in 1_usize..60,
        ) {
            let blocks = paragraphs.iter().map(|text| block(text, false)).collect();
            let passages = texts(Splitter::new(tokens, 0), blocks);
            for passage in &passages {
                prop_assert!(!passage.is_empty() && units(passage) <= tokens * UNITS);
            }
            let dense = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(dense(&passages.concat()), dense(&paragraphs.concat()));
        }

        #[test]
        fn repetitions_are_short_and_end_the_passage_before(
            text in "([a-z]{1,9}[. \n]{1,2}){0,200}",
            tokens in 10_usize..60,
            overlap in 0_usize..20,
        ) {
            let alone = split(tokens, 0, &text).len();
            let passages = split(tokens, overlap, &text);
            prop_assert!(passages.len() >= alone);
            for passage in &passages {
                prop_assert!(units(passage) <= tokens * UNITS);
            }
            let count = |text: &str| text.split_whitespace().count();
            let all: usize = passages.iter().map(|passage| count(passage)).sum();
            prop_assert!(all >= count(&text));
        }
    }
}
