//! Long errors and notices with texts that are cut while they are read.

use std::ffi::CStr;

use bytes::{Buf as _, BufMut as _, BytesMut};

/// Tags of the messages that are cut: errors and notices.
const TAGS: [u8; 2] = [b'E', b'N'];

/// Maximum number of bytes of each text of a message.
const MAX_TEXT: usize = 8 << 10;

/// Bytes after which no further text of a message is kept.
const MAX_TEXTS: usize = 8 * MAX_TEXT;

/// End of a text that was cut.
const CUT: &str = " …";

/// An error or a notice of which only the beginning of each text is kept.
pub(super) struct LongMessage {
    /// Bytes that follow.
    left: usize,
    /// The message so far, with its header.
    kept: BytesMut,
    /// Start in `kept` of the text that is being read; `None` between two texts.
    text: Option<usize>,
}

// === impl LongMessage ===

impl LongMessage {
    /// Returns whether a message of this tag and length has a text that is too long.
    pub(super) fn is_long(tag: u8, length: usize) -> bool {
        TAGS.contains(&tag) && length > MAX_TEXT
    }

    /// Begins with a message that has so many bytes after its header.
    pub(super) fn new(tag: u8, left: usize) -> Self {
        let mut kept = BytesMut::new();
        kept.put_u8(tag);
        // The length, which is known at the end.
        kept.put_u32(0);
        Self {
            left,
            kept,
            text: None,
        }
    }

    /// Takes the bytes of the message out of the input, and returns whether it is complete.
    pub(super) fn read(&mut self, input: &mut BytesMut) -> bool {
        let mut piece = input.split_to(self.left.min(input.len()));
        self.left -= piece.len();
        while piece.has_remaining() {
            let Some(start) = self.text else {
                // The type of the next text, or the end of the message.
                let kind = piece.get_u8();
                self.kept.put_u8(kind);
                self.text = (kind != 0).then_some(self.kept.len());
                continue;
            };
            let end = CStr::from_bytes_until_nul(&piece).ok();
            let end = end.map(CStr::count_bytes);
            let length = end.unwrap_or(piece.len());
            // A byte more than the limit shows that the text is too long.
            let room = MAX_TEXT + 1 - (self.kept.len() - start);
            self.kept.put_slice(&piece[..length.min(room)]);
            piece.advance(length);
            if end.is_some() {
                piece.advance(1);
                self.end_text(start);
            }
        }
        self.left == 0
    }

    /// Ends a text, after its last whole character. Drops it if there were too many before it.
    fn end_text(&mut self, start: usize) {
        self.text = None;
        if start > MAX_TEXTS {
            // Its type stands before it.
            self.kept.truncate(start - 1);
            return;
        }
        let mut end = start + MAX_TEXT;
        if self.kept.len() > end {
            while end > start && self.kept[end] & 0xC0 == 0x80 {
                end -= 1;
            }
            self.kept.truncate(end);
            self.kept.put_slice(CUT.as_bytes());
        }
        self.kept.put_u8(0);
    }

    /// Returns the message as if it had been sent with the texts that were kept.
    pub(super) fn finish(mut self) -> BytesMut {
        let length = u32::try_from(self.kept.len() - 1).unwrap_or(u32::MAX);
        self.kept[1..5].copy_from_slice(&length.to_be_bytes());
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use fallible_iterator::FallibleIterator as _;
    use postgres_protocol::message::backend::Message;

    use super::*;

    /// Reads a message that arrives in pieces of this size; returns its texts.
    fn texts(fields: &[(u8, &str)], piece: usize) -> Vec<(u8, String)> {
        let mut sent = BytesMut::new();
        for (kind, text) in fields {
            sent.put_u8(*kind);
            sent.put_slice(text.as_bytes());
            sent.put_u8(0);
        }
        sent.put_u8(0);
        let mut long = LongMessage::new(b'E', sent.len());
        // What follows the message is left alone.
        sent.put_slice(b"Z");
        let mut input = BytesMut::new();
        let mut is_complete = false;
        for bytes in sent.chunks(piece) {
            input.put_slice(bytes);
            is_complete = is_complete || long.read(&mut input);
        }
        assert!(is_complete);
        assert_eq!(&input[..], b"Z");
        let mut message = long.finish();
        let Ok(Some(Message::ErrorResponse(body))) = Message::parse(&mut message) else {
            panic!("an error");
        };
        let texts = body.fields().map(|field| {
            let text = str::from_utf8(field.value_bytes()).expect("whole characters");
            Ok((field.type_(), text.to_owned()))
        });
        texts.collect().expect("valid")
    }

    #[test]
    fn the_texts_of_a_long_error_are_cut_and_the_others_stay_in_pieces_of_any_size() {
        for letter in ["x", "ä", "字"] {
            let long = letter.repeat(100_000);
            let fields = [
                (b'S', "ERROR"),
                (b'M', &*long),
                (b'C', "22P02"),
                (b'D', "d"),
            ];
            for piece in [1, 7, 8192, 1 << 20] {
                let found = texts(&fields, piece);
                assert_eq!(found.len(), 4, "{letter} {piece}");
                assert_eq!(found[0], (b'S', "ERROR".to_owned()));
                assert_eq!(found[2], (b'C', "22P02".to_owned()));
                assert_eq!(found[3], (b'D', "d".to_owned()));
                let cut = found[1].1.strip_suffix(CUT).expect("says that it is cut");
                assert!(cut.len() <= MAX_TEXT && cut.len() > MAX_TEXT - 8);
                assert!(long.starts_with(cut));
            }
        }
    }

    #[test]
    fn an_error_with_many_long_texts_takes_no_more_than_a_few_of_them() {
        let long = "x".repeat(20_000);
        let fields: Vec<_> = (0..100).map(|_| (b'M', &*long)).collect();
        let kept: usize = texts(&fields, 4096).iter().map(|(_, it)| it.len()).sum();
        assert!(kept <= MAX_TEXTS + MAX_TEXT + 100 * CUT.len(), "{kept}");
        let fields = vec![(b'M', ""); 1_000_000];
        assert!(texts(&fields, 1 << 20).len() <= MAX_TEXTS);
    }
}
