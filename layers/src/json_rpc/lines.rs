//! JSON-RPC over lines: one message per line, as on standard input and output.
//!
//! [`LineDecoder`] splits a stream of bytes into lines and does no input or output itself;
//! [`Dialect::read_line`] turns a line into an [`Incoming`], which works as with HTTP. Messages may
//! be answered concurrently and out of order, since answers have ids. Only the bodies have to be
//! written one after the other, each with a line feed at the end.
//!
//! ```
//! use std::convert::Infallible;
//! use http_body_util::BodyExt as _;
//! use tower::service_fn;
//! use ziggurat_layers::json_rpc::{Call, Dialect, Error, Json, Reply, lines::LineDecoder};
//!
//! # tokio_test::block_on(async {
//! let service = service_fn(|call: Call| async move {
//!     let reply: Reply = match call.method() {
//!         "ping" => Json::new("pong").map_err(|_| Error::internal_error()).into(),
//!         _ => Error::method_not_found().into(),
//!     };
//!     Ok::<_, Infallible>(reply)
//! });
//!
//! let dialect = Dialect::new();
//! let mut lines = LineDecoder::new();
//! let mut output = Vec::new();
//! // The result of one read. The last line is not complete yet: it stays in the decoder.
//! let mut input: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}
//! not json
//! {"jsonrpc":"2."#;
//! while let Some(line) = lines.decode(&mut input) {
//!     // A server spawns this future, and sends the body to the task that writes.
//!     let answer = dialect.read_line(line).answer(service).await?;
//!     if let Some(body) = answer.into_body() {
//!         output.extend(body.collect().await?.to_bytes());
//!         output.push(b'\n');
//!     }
//! }
//! let output = String::from_utf8(output)?;
//! let mut answers = output.lines();
//! assert_eq!(answers.next(), Some(r#"{"jsonrpc":"2.0","id":1,"result":"pong"}"#));
//! assert!(answers.next().is_some_and(|answer| answer.contains("-32700")));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! To cancel a call, keep its abort handle in a map by its [`Id`](crate::json_rpc::Id) while it
//! runs: match on the [`Incoming`] before answering it. A body that was aborted half-way leaves
//! half a line behind, so abort only calls that have not begun to write.

use std::mem;

use bytes::{Buf as _, Bytes};
use http::Request;

use crate::json_rpc::{DEFAULT_MAX_BYTES, Dialect, Error, Incoming};

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Splits a stream of bytes into lines.
///
/// A line ends with a line feed, and a carriage return before that belongs to the end. Blank lines
/// and a byte order mark in front of a line are skipped. The decoder holds at most one line, up to
/// the limit: the rest of a line that is too long is dropped as it arrives.
///
/// ```
/// use ziggurat_layers::json_rpc::lines::{Line, LineDecoder};
///
/// let mut lines = LineDecoder::new();
/// let mut first_read = &b"one\ntw"[..];
/// assert_eq!(lines.decode(&mut first_read), Some(Line::Message("one".into())));
/// assert_eq!(lines.decode(&mut first_read), None);
/// assert_eq!(lines.decode(&mut &b"o\n"[..]), Some(Line::Message("two".into())));
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct LineDecoder {
    max_bytes: usize,
    /// The line so far.
    partial: Vec<u8>,
    /// True if the line has been reported as too long already.
    is_skipping: bool,
}

/// A line, or the report that a line is too long.
///
/// ```
/// use ziggurat_layers::json_rpc::lines::{Line, LineDecoder};
///
/// let mut lines = LineDecoder::new().with_max_bytes(4);
/// let line = lines.decode(&mut &b"12345\n"[..]);
/// assert_eq!(line, Some(Line::TooLong));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A line that is not blank, without its end.
    Message(Bytes),
    /// A line longer than the limit; reported once, when it grows too long.
    TooLong,
}

// === impl LineDecoder ===

impl LineDecoder {
    /// Accepts lines of up to 10 MiB.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::lines::LineDecoder;
    ///
    /// assert_eq!(LineDecoder::new().finish(), None);
    /// ```
    pub fn new() -> Self {
        Self {
            max_bytes: DEFAULT_MAX_BYTES,
            partial: Vec::new(),
            is_skipping: false,
        }
    }

    /// Sets the maximum length of a line, without its line feed.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::lines::{Line, LineDecoder};
    ///
    /// let mut lines = LineDecoder::new().with_max_bytes(4);
    /// assert_eq!(lines.decode(&mut &b"1234\n"[..]), Some(Line::Message("1234".into())));
    /// ```
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Takes bytes from the input up to the end of the next line.
    ///
    /// Returns `None` if the input is used up and the line is not complete.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::lines::{Line, LineDecoder};
    ///
    /// let mut lines = LineDecoder::new();
    /// let mut input = &b"one\r\n\ntwo\n"[..];
    /// let mut messages = Vec::new();
    /// while let Some(Line::Message(message)) = lines.decode(&mut input) {
    ///     messages.push(message);
    /// }
    /// assert_eq!(messages, ["one", "two"]);
    /// ```
    pub fn decode(&mut self, input: &mut &[u8]) -> Option<Line> {
        while !input.is_empty() {
            let newline = input.iter().position(|&byte| byte == b'\n');
            let (piece, rest) = input.split_at(newline.unwrap_or(input.len()));
            *input = rest.get(1..).unwrap_or_default();
            let is_complete = newline.is_some();

            if self.is_skipping {
                self.is_skipping = !is_complete;
                continue;
            }
            if piece.len() > self.max_bytes - self.partial.len() {
                self.partial = Vec::new();
                self.is_skipping = !is_complete;
                return Some(Line::TooLong);
            }
            self.extend(piece);
            if is_complete && let Some(line) = self.take() {
                return Some(line);
            }
        }
        None
    }

    /// Takes the remaining bytes at the end of the input: a last line without a line feed.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::lines::{Line, LineDecoder};
    ///
    /// let mut lines = LineDecoder::new();
    /// assert_eq!(lines.decode(&mut &b"the last"[..]), None);
    /// assert_eq!(lines.finish(), Some(Line::Message("the last".into())));
    /// ```
    #[must_use]
    pub fn finish(mut self) -> Option<Line> {
        self.take()
    }

    fn extend(&mut self, piece: &[u8]) {
        let needed = self.partial.len() + piece.len();
        if needed > self.partial.capacity() {
            // Grows like a vector, but not beyond the limit.
            let doubled = (2 * self.partial.capacity()).min(self.max_bytes);
            self.partial
                .reserve_exact(needed.max(doubled) - self.partial.len());
        }
        self.partial.extend_from_slice(piece);
    }

    fn take(&mut self) -> Option<Line> {
        let whole = mem::take(&mut self.partial);
        let line = whole.strip_suffix(b"\r").unwrap_or(&whole);
        let message = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        if message.trim_ascii().is_empty() {
            return None;
        }
        let (start, end) = (line.len() - message.len(), line.len());
        let mut message = Bytes::from(whole);
        message.truncate(end);
        message.advance(start);
        Some(Line::Message(message))
    }
}

impl Default for LineDecoder {
    fn default() -> Self {
        Self::new()
    }
}

// === impl Dialect ===

impl Dialect {
    /// Reads the message on a line; one that is too long is refused as unreadable.
    ///
    /// ```
    /// use ziggurat_layers::json_rpc::{Dialect, Incoming, lines::Line};
    ///
    /// let line = Line::Message(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.into());
    /// assert!(matches!(Dialect::new().read_line(line), Incoming::Call(_)));
    /// assert!(matches!(Dialect::new().read_line(Line::TooLong), Incoming::Refused(_)));
    /// ```
    #[must_use]
    pub fn read_line(&self, line: Line) -> Incoming {
        match line {
            Line::Message(message) => self.read(Request::new(message)),
            Line::TooLong => {
                let error = Error::parse_error().with_data("the line is too long");
                Incoming::Refused(self.refuse(None, error))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(text: &'static str) -> Line {
        Line::Message(Bytes::from_static(text.as_bytes()))
    }

    /// All lines of the pieces, the one without a line feed included.
    fn decode(mut decoder: LineDecoder, pieces: &[&[u8]]) -> Vec<Line> {
        let mut lines = Vec::new();
        for mut piece in pieces.iter().copied() {
            while let Some(line) = decoder.decode(&mut piece) {
                lines.push(line);
            }
            assert!(piece.is_empty(), "the input is used up");
            assert!(decoder.partial.capacity() <= decoder.max_bytes);
        }
        lines.extend(decoder.finish());
        lines
    }

    #[test]
    fn lines_are_split_and_trimmed() {
        let cases: [(&str, &[Line]); 9] = [
            ("", &[]),
            ("a\nb\n", &[message("a"), message("b")]),
            ("a\r\nb", &[message("a"), message("b")]),
            ("\n \t\n\r\n\r", &[]),
            ("\u{feff}a\n\u{feff}\n", &[message("a")]),
            ("a\rb\n", &[message("a\rb")]),
            ("12345678\n1", &[message("12345678"), message("1")]),
            ("123456789\n1\n", &[Line::TooLong, message("1")]),
            (
                "1234567890123\n\n123456789",
                &[Line::TooLong, Line::TooLong],
            ),
        ];
        for (input, lines) in cases {
            let decoder = LineDecoder::new().with_max_bytes(8);
            assert_eq!(decode(decoder, &[input.as_bytes()]), lines, "{input:?}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_reported_before_it_ends() {
        let mut decoder = LineDecoder::new().with_max_bytes(2);
        assert_eq!(decoder.decode(&mut &b"abc"[..]), Some(Line::TooLong));
        assert_eq!(decoder.decode(&mut &b"def"[..]), None);
        assert_eq!(decoder.decode(&mut &b"g\nok\n"[..]), Some(message("ok")));
    }

    #[test]
    fn a_line_that_is_too_long_is_a_parse_error() {
        let Incoming::Refused(refusal) = Dialect::new().read_line(Line::TooLong) else {
            panic!("refused");
        };
        assert_eq!(refusal.error().code(), Error::PARSE_ERROR);
    }

    proptest! {
        #[test]
        fn the_lines_do_not_depend_on_the_chunks_of_the_input(
            input in "[ab\r\n\u{feff} ]{0,64}",
            cuts in prop::collection::vec(1_usize..8, 0..64),
        ) {
            let decoder = LineDecoder::new().with_max_bytes(6);
            let whole = decode(decoder.clone(), &[input.as_bytes()]);
            let mut rest = input.as_bytes();
            let mut pieces = Vec::new();
            for cut in cuts {
                let (piece, behind) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = behind;
            }
            pieces.push(rest);
            prop_assert_eq!(decode(decoder, &pieces), whole);
        }

        #[test]
        fn no_bytes_are_lost_or_added(input in "[ab\r\n ]{0,64}") {
            let lines = decode(LineDecoder::new(), &[input.as_bytes()]);
            let expected: Vec<_> = input
                .split('\n')
                .map(|line| line.strip_suffix('\r').unwrap_or(line))
                .filter(|line| !line.trim().is_empty())
                .map(|line| Line::Message(Bytes::copy_from_slice(line.as_bytes())))
                .collect();
            prop_assert_eq!(lines, expected);
        }
    }
}
