//! Answers of limited size, in pages.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ziggurat_answers::CallFormat;

use crate::search_schema::level::Level;

/// Longest last line of a page that is not the last.
const MORE: usize = 64;

/// A text that grows up to a limit.
pub(super) struct Page {
    pub(super) text: String,
    max_bytes: usize,
    format: CallFormat,
    /// The positions that were written, each at its level.
    pub(super) shown: Vec<(usize, Level)>,
    /// The number of positions behind it.
    pub(super) more: usize,
    /// The cursor of the next page, if there is one.
    pub(super) cursor: Option<String>,
}

/// The entries of a page: these positions of `count`, from `start` on, up to `end`.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) count: usize,
}

/// Returns the number of bytes of a text that a model counts as this many tokens: a quarter of its
/// bytes, a fifth more because it is no prose, and ten.
pub(crate) fn max_bytes(max_tokens: usize) -> usize {
    max_tokens.saturating_sub(10).saturating_mul(10) / 3
}

// === impl Page ===

impl Page {
    /// Starts a page with some text.
    pub(super) fn new(mut text: String, max_tokens: usize, format: CallFormat) -> Self {
        let max_bytes = max_bytes(max_tokens);
        cut_line(&mut text, 0, max_bytes / 4);
        Self {
            text,
            max_bytes,
            format,
            shown: Vec::new(),
            more: 0,
            cursor: None,
        }
    }

    /// Writes a line that stands before entries, if need be cut.
    pub(super) fn push_head(&mut self, line: &str) {
        let start = self.text.len();
        self.text.push_str(line);
        self.format.show(&mut self.text, start);
        cut_line(&mut self.text, start, self.max_bytes / 2);
    }

    /// Writes entries until one does not fit, each whole, and returns the position of that one. If
    /// the first one does not fit, it is written at a lower level, at last as the beginning of a
    /// line, so that each page has one.
    pub(super) fn fill(
        &mut self,
        span: Span,
        level: Level,
        write: impl Fn(&mut String, usize, Level),
    ) -> usize {
        let mut next = span.start;
        while next < span.end {
            // The last page needs no last line.
            let more = if next + 1 == span.count { 0 } else { MORE };
            let room = self.max_bytes.saturating_sub(more);
            let start = self.text.len();
            write(&mut self.text, next, level);
            self.format.show(&mut self.text, start);
            let mut shown = level;
            if self.text.len() > room {
                self.text.truncate(start);
                if next > span.start {
                    break;
                }
                shown = self.shorten(next, level, room, &write);
            }
            self.shown.push((next, shown));
            next += 1;
        }
        next
    }

    fn shorten(
        &mut self,
        position: usize,
        level: Level,
        room: usize,
        write: impl Fn(&mut String, usize, Level),
    ) -> Level {
        let start = self.text.len();
        for lower in [Level::Summary, Level::Names] {
            if lower >= level {
                continue;
            }
            write(&mut self.text, position, lower);
            self.format.show(&mut self.text, start);
            if self.text.ends_with('\n') {
                self.text.pop();
            }
            self.text
                .push_str(" (shortened: ask for this table alone)\n");
            if self.text.len() <= room {
                return lower;
            }
            self.text.truncate(start);
        }
        write(&mut self.text, position, Level::Names);
        self.format.show(&mut self.text, start);
        cut_line(&mut self.text, start, room.saturating_sub(start));
        Level::Names
    }

    /// Ends a page before a position of `count`: the last line tells how many are left, and has the
    /// cursor of the next page.
    pub(super) fn end(&mut self, next: usize, count: usize, fingerprint: u32) {
        self.more = count.saturating_sub(next);
        if self.more > 0 {
            let cursor = cursor(next, fingerprint);
            let more = self.more.to_string();
            self.text.extend(["… ", &more, " more; cursor=", &cursor]);
            self.cursor = Some(cursor);
        }
    }
}

/// Cuts the text from `start` on if it is longer.
fn cut_line(text: &mut String, start: usize, max_bytes: usize) {
    const CUT: &str = "…\n";
    if text.len() - start > max_bytes {
        let end = text.floor_char_boundary(start + max_bytes.saturating_sub(CUT.len()));
        text.truncate(end.max(start));
        text.push_str(CUT);
    }
}

/// Returns a cursor: a position in the answer to a request of this fingerprint.
pub(super) fn cursor(position: usize, fingerprint: u32) -> String {
    let position = u32::try_from(position).unwrap_or(u32::MAX);
    let bytes = [position.to_be_bytes(), fingerprint.to_be_bytes()].concat();
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Reads a cursor. Returns `None` if it is invalid, or of a request with another fingerprint.
pub(super) fn position(cursor: &str, fingerprint: u32) -> Option<usize> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let (position, of) = bytes.split_first_chunk::<4>()?;
    let is_of_request = *of == fingerprint.to_be_bytes();
    is_of_request.then_some(u32::from_be_bytes(*position) as usize)
}

/// Returns a number for texts that is the same in all processes (FNV-1a).
pub(super) fn fingerprint<'a, I>(texts: I) -> u32
where
    I: IntoIterator<Item = &'a str>,
{
    let mut hash = 0x811c_9dc5_u32;
    for text in texts {
        // A byte that is in no text separates them.
        for byte in text.bytes().chain([0xff]) {
            hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use ziggurat_answers::ResultFormat;

    #[test]
    fn a_cursor_is_valid_for_its_own_request_only() {
        let (one, two) = (fingerprint(["a", "b"]), fingerprint(["ab", ""]));
        assert_ne!(one, two);
        assert_eq!(position(&cursor(37, one), one), Some(37));
        assert_eq!(position(&cursor(37, one), two), None);
        for invalid in ["", "x", "Mzc", "AAAAAAAAAAAAAAAAAAAA", "ä"] {
            assert_eq!(position(invalid, one), None, "{invalid}");
        }
    }

    proptest! {
        #[test]
        fn pages_keep_the_budget_and_leave_nothing_out(
            sizes in prop::collection::vec(1_usize..3000, 1..40),
            max_tokens in 200_usize..2000,
        ) {
            let write = |out: &mut String, at: usize, level: Level| {
                let size = match level { Level::Full => sizes[at], Level::Summary => sizes[at] / 2, Level::Names => sizes[at] / 4 };
                out.push_str(&"ä\u{202e}".repeat(size / 2));
                out.push('\n');
            };
            let mut next = 0;
            while next < sizes.len() {
                let format = ResultFormat::default().for_client(true);
                let mut page = Page::new("database: a\n".to_owned(), max_tokens, format);
                let span = Span { start: next, end: sizes.len(), count: sizes.len() };
                let behind = page.fill(span, Level::Full, write);
                prop_assert!(behind > next);
                page.end(behind, sizes.len(), 7);
                let bytes = u32::try_from(page.text.len()).expect("small");
                let tokens = (f64::from(bytes) / 4.0 * 1.2 + 10.0).ceil();
                prop_assert!(tokens <= f64::from(u32::try_from(max_tokens).expect("small")));
                next = behind;
            }
        }
    }
}
