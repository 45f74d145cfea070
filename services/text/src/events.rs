//! Decodes server-sent events: the data of one event after another.
//!
//! Names of events, ids, comments and retry times are ignored, because the protocols that are read
//! here repeat the relevant parts in the data. The module does no input or output.
//!
//! ```
//! use ziggurat_text::events::EventDecoder;
//!
//! let mut events = EventDecoder::new();
//! // What one read brought. The last event is not complete yet: it stays in the decoder.
//! let mut input: &[u8] = b": hello\ndata: {\"a\":1}\n\ndata: {";
//! assert_eq!(events.decode(&mut input)?.as_deref(), Some(&b"{\"a\":1}"[..]));
//! assert_eq!(events.decode(&mut input)?, None);
//! # Ok::<_, ziggurat_text::events::TooLong>(())
//! ```

use std::{error::Error, fmt, mem};

use bytes::Bytes;

/// Maximum length of a line, and of an event.
pub const MAX_BYTES: usize = 8 << 20;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Splits a stream of bytes into the data of events.
///
/// A line ends with a line feed or with a carriage return and a line feed. The decoder holds at
/// most one line and one event, neither longer than the limit.
#[derive(Clone, Debug)]
#[must_use]
pub struct EventDecoder {
    max_bytes: usize,
    /// The line so far.
    line: Vec<u8>,
    /// The event so far, if it has data.
    event: Option<Vec<u8>>,
    is_first_line: bool,
}

/// A line or an event is longer than the limit. The rest of the stream cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

// === impl TooLong ===

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event of the stream is too long")
    }
}

impl Error for TooLong {}

// === impl EventDecoder ===

impl EventDecoder {
    /// Accepts lines and events of up to [`MAX_BYTES`].
    pub fn new() -> Self {
        Self {
            max_bytes: MAX_BYTES,
            line: Vec::new(),
            event: None,
            is_first_line: true,
        }
    }

    /// Sets the maximum length of a line, including everything before its line feed, and of the
    /// data of an event.
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Consumes the input up to the end of the next event with data.
    ///
    /// Returns `None` if the input is used up and the event is not complete.
    ///
    /// # Errors
    /// Fails on a line or an event longer than the limit.
    pub fn decode(&mut self, input: &mut &[u8]) -> Result<Option<Bytes>, TooLong> {
        while let Some(end) = input.iter().position(|&byte| byte == b'\n') {
            let (piece, rest) = input.split_at(end);
            *input = &rest[1..];
            self.check_line(piece)?;
            let event = if self.line.is_empty() {
                self.read_line(piece)?
            } else {
                let mut line = mem::take(&mut self.line);
                line.extend_from_slice(piece);
                self.read_line(&line)?
            };
            if event.is_some() {
                return Ok(event);
            }
        }
        self.check_line(input)?;
        self.line.extend_from_slice(input);
        *input = &[];
        Ok(None)
    }

    /// Returns the rest at the end of the input: an event without a blank line after it, which some
    /// servers send as their last.
    ///
    /// # Errors
    /// Fails on an event longer than the limit.
    pub fn finish(mut self) -> Result<Option<Bytes>, TooLong> {
        let line = mem::take(&mut self.line);
        if let event @ Some(_) = self.read_line(&line)? {
            return Ok(event);
        }
        Ok(self.event.map(Bytes::from))
    }

    fn check_line(&self, more: &[u8]) -> Result<(), TooLong> {
        if more.len() > self.max_bytes - self.line.len() {
            return Err(TooLong);
        }
        Ok(())
    }

    fn read_line(&mut self, line: &[u8]) -> Result<Option<Bytes>, TooLong> {
        let mut line = line.strip_suffix(b"\r").unwrap_or(line);
        if mem::take(&mut self.is_first_line) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            return Ok(self.event.take().map(Bytes::from));
        }
        let Some(value) = line.strip_prefix(b"data") else {
            return Ok(None);
        };
        let value = match value {
            // A name alone is a field without a value.
            [] => value,
            [b':', b' ', value @ ..] | [b':', value @ ..] => value,
            // The name has only the same prefix.
            _ => return Ok(None),
        };
        match &mut self.event {
            Some(event) => {
                if value.len() >= self.max_bytes - event.len() {
                    return Err(TooLong);
                }
                event.push(b'\n');
                event.extend_from_slice(value);
            }
            None => self.event = Some(value.to_vec()),
        }
        Ok(None)
    }
}

impl Default for EventDecoder {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Decodes all events of the pieces, including one without a blank line.
    fn decode(mut decoder: EventDecoder, pieces: &[&[u8]]) -> (Vec<String>, Result<(), TooLong>) {
        let mut events = Vec::new();
        let text = |event: Bytes| String::from_utf8(event.to_vec()).expect("text");
        for mut piece in pieces.iter().copied() {
            loop {
                match decoder.decode(&mut piece) {
                    Ok(Some(event)) => events.push(text(event)),
                    Ok(None) => break,
                    Err(error) => return (events, Err(error)),
                }
            }
            assert!(piece.is_empty(), "the input is used up");
        }
        match decoder.finish() {
            Ok(event) => events.extend(event.map(text)),
            Err(error) => return (events, Err(error)),
        }
        (events, Ok(()))
    }

    #[test]
    fn events_are_cut_and_cleaned() {
        let cases: [(&str, &[&str]); 14] = [
            ("", &[]),
            ("\n\r\n\n", &[]),
            ("data: a\n\ndata:b\n\n", &["a", "b"]),
            ("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]),
            ("data:  a \n\n", &[" a "]),
            ("event: x\nid: 1\nretry: 5\ndata: a\n\n", &["a"]),
            (": comment\n\n: another\ndata: a\n: more\n\n", &["a"]),
            ("data: a\ndata: b\n\n", &["a\nb"]),
            ("data\ndata:\n\n", &["\n"]),
            ("data: \n\n", &[""]),
            ("database: a\n data: b\n\n", &[]),
            ("\u{feff}data: a\n\n\u{feff}data: b\n\n", &["a"]),
            ("data: a\n\ndata: b\n", &["a", "b"]),
            ("data: a\n\ndata: b", &["a", "b"]),
        ];
        for (input, events) in cases {
            let (found, ending) = decode(EventDecoder::new(), &[input.as_bytes()]);
            assert_eq!(found, events, "{input:?}");
            assert_eq!(ending, Ok(()), "{input:?}");
        }
    }

    #[test]
    fn a_character_cut_in_two_is_put_together() {
        let whole = "data: größer\n\n".as_bytes();
        let pieces: Vec<&[u8]> = whole.chunks(1).collect();
        let expected = vec!["größer".to_owned()];
        assert_eq!(decode(EventDecoder::new(), &pieces), (expected, Ok(())));
    }

    #[test]
    fn an_event_that_is_too_long_is_refused_before_it_ends() {
        let mut decoder = EventDecoder::new().with_max_bytes(8);
        assert_eq!(decoder.decode(&mut &b"data: 12"[..]), Ok(None));
        assert_eq!(decoder.decode(&mut &b"3"[..]), Err(TooLong));

        let mut decoder = EventDecoder::new().with_max_bytes(8);
        let fits = b"data:123\ndata:4\ndata:56\n";
        assert_eq!(decoder.decode(&mut &fits[..]), Ok(None), "8 bytes in all");
        let mut decoder = EventDecoder::new().with_max_bytes(8);
        let longer = b"data:123\ndata:4\ndata:567\n";
        assert_eq!(decoder.decode(&mut &longer[..]), Err(TooLong));
    }

    proptest! {
        #[test]
        fn the_events_are_the_same_for_any_split_of_the_input(
            input in "(data|dat|: ?|[ab\r\n\u{feff} ü]){0,40}",
            cuts in prop::collection::vec(1_usize..8, 0..64),
        ) {
            let decoder = EventDecoder::new().with_max_bytes(12);
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
        fn each_written_event_is_read(events in prop::collection::vec("[a-zü{}:\" ]{0,12}", 0..6)) {
            let written = events.iter().map(|event| format!("event: x\ndata: {event}\n\n"));
            let stream = written.collect::<Vec<_>>().concat();
            let (found, ending) = decode(EventDecoder::new(), &[stream.as_bytes()]);
            prop_assert_eq!(found, events);
            prop_assert_eq!(ending, Ok(()));
        }
    }
}
