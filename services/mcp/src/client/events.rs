//! Splits a stream of server-sent events.

use std::mem;

use crate::client::error::ClientError;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Splits a stream of bytes into the data of its events. Holds at most one event, up to a limit.
#[derive(Debug)]
pub(super) struct EventDecoder {
    max_bytes: usize,
    /// The line so far.
    line: Vec<u8>,
    /// The data of the event so far.
    data: Option<Vec<u8>>,
    /// True if the event has another type than `message`.
    is_other: bool,
    /// True if the last byte was a carriage return, which may begin a line end of two bytes.
    is_after_return: bool,
    is_at_start: bool,
}

// === impl EventDecoder ===

impl EventDecoder {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            line: Vec::new(),
            data: None,
            is_other: false,
            is_after_return: false,
            is_at_start: true,
        }
    }

    /// Takes bytes from the input up to the end of the next event and returns its data; `None` if
    /// the input is used up and the event is not complete.
    pub(super) fn decode(&mut self, input: &mut &[u8]) -> Result<Option<Vec<u8>>, ClientError> {
        while let Some(&first) = input.first() {
            if mem::take(&mut self.is_after_return) && first == b'\n' {
                *input = &input[1..];
                continue;
            }
            let end = input.iter().position(|&byte| matches!(byte, b'\n' | b'\r'));
            let (piece, rest) = input.split_at(end.unwrap_or(input.len()));
            let held = self.line.len() + self.data.as_ref().map_or(0, Vec::len);
            if held + piece.len() > self.max_bytes.saturating_add("data: ".len()) {
                let max_bytes = self.max_bytes;
                return Err(ClientError::TooLarge { max_bytes });
            }
            self.line.extend_from_slice(piece);
            *input = rest;
            if let Some((end, rest)) = rest.split_first() {
                *input = rest;
                self.is_after_return = *end == b'\r';
                if let Some(data) = self.end_line() {
                    return Ok(Some(data));
                }
            }
        }
        Ok(None)
    }

    /// Interprets a line; returns the data of the event if the line is its end.
    fn end_line(&mut self) -> Option<Vec<u8>> {
        let line = mem::take(&mut self.line);
        let mut line = &*line;
        if mem::take(&mut self.is_at_start) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            let data = self.data.take();
            let is_other = mem::take(&mut self.is_other);
            return data.filter(|_| !is_other);
        }
        let colon = line.iter().position(|&byte| byte == b':');
        let (field, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            },
            b"event" => self.is_other = value != b"message",
            // Comments have an empty name. Ids are for streams that continue on a new connection.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(pieces: &[&[u8]]) -> Vec<String> {
        let mut decoder = EventDecoder::new(100);
        let mut events = Vec::new();
        for piece in pieces {
            let mut input = *piece;
            while let Some(data) = decoder.decode(&mut input).expect("short events") {
                events.push(String::from_utf8(data).expect("UTF-8"));
            }
            assert!(input.is_empty());
        }
        events
    }

    #[test]
    fn a_stream_split_at_any_two_positions_has_the_same_events() {
        let stream = "\u{feff}: hi\r\n\r\nevent: message\r\ndata: {\"ä\":1}\r\n\r\ndata:a\rdata: b\r\r\
            event: endpoint\ndata: /x\n\nid: 7\nretry: 3\ndata\n\ndata: last\n\ndata: cut";
        let expected = ["{\"ä\":1}", "a\nb", "", "last"];
        let stream = stream.as_bytes();
        for first in 0..=stream.len() {
            for second in first..=stream.len() {
                let pieces = [&stream[..first], &stream[first..second], &stream[second..]];
                assert_eq!(decode(&pieces), expected, "{first} {second}");
            }
        }
        let bytes: Vec<_> = stream.chunks(1).collect();
        assert_eq!(decode(&bytes), expected);
    }

    #[test]
    fn an_event_longer_than_the_limit_is_an_error() {
        let accepts = |stream: &str| {
            let mut decoder = EventDecoder::new(10);
            let mut input = stream.as_bytes();
            loop {
                match decoder.decode(&mut input) {
                    Ok(Some(_)) => {}
                    Ok(None) => return true,
                    Err(_) => return false,
                }
            }
        };
        for (stream, expected) in [
            ("data: 0123456789\n\n", true),
            ("data: 0123456789\n\ndata: 0123456789\n\n", true),
            ("data: 01234567890\n\n", false),
            ("data: 01234567890", false),
            ("data: 01234567\ndata: 01234567\n\n", false),
            (": a comment that never ends", false),
        ] {
            assert_eq!(accepts(stream), expected, "{stream}");
        }
    }
}
