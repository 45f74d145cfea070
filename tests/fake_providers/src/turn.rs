//! The scripted answer to one request.

use std::ops::Range;

use crate::{Answer, Gate, plan::Ending};

/// The scripted answer to one request. By default the answer of the real provider.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Turn {
    pub(crate) reply: Reply,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) gate: Option<Gate>,
    pub(crate) inner_gate: Option<(usize, Gate)>,
    pub(crate) end: Option<(usize, Ending)>,
    pub(crate) cuts: Cuts,
    pub(crate) has_crlf: bool,
    pub(crate) padding: usize,
    pub(crate) tail: usize,
}

/// The kind of answer.
#[derive(Clone, Debug, Default)]
pub(crate) enum Reply {
    /// The provider's answer.
    #[default]
    Genuine,
    /// The provider's answer with this content.
    Completion(Answer),
    /// An error in the format of the provider; `{key}` stands for the key of the request.
    Error(u16, String),
    /// Any body.
    Raw(u16, Vec<u8>),
}

/// The chunks of a body.
#[derive(Clone, Debug, Default)]
pub(crate) enum Cuts {
    /// One chunk.
    #[default]
    Whole,
    /// Chunks of this many bytes.
    Every(usize),
    /// Chunks that end after these numbers of bytes.
    At(Vec<usize>),
}

// === impl Turn ===

impl Turn {
    /// Answers like the real provider.
    pub fn answer() -> Self {
        Self::default()
    }

    /// Answers with this completion.
    pub fn saying(answer: Answer) -> Self {
        Self {
            reply: Reply::Completion(answer),
            ..Self::default()
        }
    }

    /// Answers with a completion of this text.
    pub fn text(text: &str) -> Self {
        Self::saying(Answer::text(text))
    }

    /// Answers with an error in the provider's format.
    pub fn refusal(status: u16) -> Self {
        Self::refusal_with(status, "no, says the fake")
    }

    /// Answers with this error message; `{key}` in it becomes the key of the request, and `{stars}`
    /// the key with stars in its middle, as some providers quote it.
    pub fn refusal_with(status: u16, message: &str) -> Self {
        Self {
            reply: Reply::Error(status, message.to_owned()),
            ..Self::default()
        }
    }

    /// Answers with any status and any body; JSON, unless a header sets another type.
    pub fn raw(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            reply: Reply::Raw(status, body.into()),
            ..Self::default()
        }
    }

    /// Answers with a success, but its JSON breaks off in the middle of a name.
    pub fn malformed() -> Self {
        Self::raw(200, r#"{"data": [{"embedd"#)
    }

    /// Answers with a success of this many bytes of valid JSON.
    pub fn huge(bytes: usize) -> Self {
        let mut turn = Self::answer();
        turn.tail = bytes;
        turn
    }

    /// Resets the connection instead of answering.
    pub fn reset() -> Self {
        Self::answer().reset_after(0)
    }

    /// Adds a header.
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Waits at the gate before the answer begins.
    pub fn held(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// Waits at the gate after this many bytes of the body.
    pub fn held_after(mut self, bytes: usize, gate: &Gate) -> Self {
        self.inner_gate = Some((bytes, gate.clone()));
        self
    }

    /// Ends the body after this many bytes, as if it were complete.
    pub fn ended_after(self, bytes: usize) -> Self {
        self.ending(bytes, Ending::Complete)
    }

    /// Closes the connection after this many bytes of the body.
    pub fn cut_after(self, bytes: usize) -> Self {
        self.ending(bytes, Ending::Closed)
    }

    /// Resets the connection after this many bytes of the body.
    pub fn reset_after(self, bytes: usize) -> Self {
        self.ending(bytes, Ending::Reset)
    }

    /// Sends the body in chunks of this many bytes.
    pub fn in_pieces(mut self, bytes: usize) -> Self {
        self.cuts = Cuts::Every(bytes.max(1));
        self
    }

    /// Sends the body in chunks that end after these numbers of bytes.
    pub fn split_at(mut self, positions: impl Into<Vec<usize>>) -> Self {
        self.cuts = Cuts::At(positions.into());
        self
    }

    /// Ends lines with a carriage return and a line feed.
    pub fn with_crlf(mut self) -> Self {
        self.has_crlf = true;
        self
    }

    /// Puts an ignored line of this many bytes before the body of a stream.
    pub fn with_long_line(mut self, bytes: usize) -> Self {
        self.padding = bytes;
        self
    }

    fn ending(mut self, bytes: usize, ending: Ending) -> Self {
        self.end = Some((bytes, ending));
        self
    }
}

// === impl Cuts ===

impl Cuts {
    /// The chunks of a body of this length.
    pub(crate) fn pieces(&self, length: usize) -> Vec<Range<usize>> {
        let mut ends: Vec<usize> = match self {
            Self::Whole => Vec::new(),
            Self::Every(bytes) => (1..length).filter(|end| end % bytes == 0).collect(),
            Self::At(positions) => positions
                .iter()
                .copied()
                .filter(|end| *end < length)
                .collect(),
        };
        ends.push(length);
        ends.sort_unstable();
        let mut start = 0;
        let mut pieces = Vec::new();
        for end in ends {
            if end > start {
                pieces.push(start..end);
            }
            start = end;
        }
        pieces
    }
}
