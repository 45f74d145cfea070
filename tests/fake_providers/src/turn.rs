//! What happens to one request.

use std::ops::Range;

use crate::{Answer, Gate, plan::Ending};

/// What happens to one request. By default: what the provider would truly answer.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Turn {
    pub(crate) what: What,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) gate: Option<Gate>,
    pub(crate) inner_gate: Option<(usize, Gate)>,
    pub(crate) end: Option<(usize, Ending)>,
    pub(crate) cuts: Cuts,
    pub(crate) has_crlf: bool,
    pub(crate) padding: usize,
    pub(crate) tail: usize,
}

/// What is answered.
#[derive(Clone, Debug, Default)]
pub(crate) enum What {
    /// What the provider would.
    #[default]
    True,
    /// The same, with this in it.
    Says(Answer),
    /// An error in the form of the provider; `{key}` stands for the key of the request.
    Refuses(u16, String),
    /// Anything.
    Raw(u16, Vec<u8>),
}

/// Where a body comes in pieces.
#[derive(Clone, Debug, Default)]
pub(crate) enum Cuts {
    /// Nowhere.
    #[default]
    Nowhere,
    /// Each so many bytes.
    Every(usize),
    /// Behind so many bytes.
    At(Vec<usize>),
}

// === impl Turn ===

impl Turn {
    /// What the provider would truly answer.
    pub fn answer() -> Self {
        Self::default()
    }

    /// A completion that says this.
    pub fn saying(answer: Answer) -> Self {
        Self {
            what: What::Says(answer),
            ..Self::default()
        }
    }

    /// A completion that says this text.
    pub fn text(text: &str) -> Self {
        Self::saying(Answer::text(text))
    }

    /// An error in the form the provider has for it.
    pub fn refusal(status: u16) -> Self {
        Self::refusal_with(status, "no, says the fake")
    }

    /// An error with these words; `{key}` in them becomes the key of the request, and `{stars}`
    /// the key with stars in its middle, as some providers quote it.
    pub fn refusal_with(status: u16, message: &str) -> Self {
        Self {
            what: What::Refuses(status, message.to_owned()),
            ..Self::default()
        }
    }

    /// Any status with any body; JSON, unless a header says otherwise.
    pub fn raw(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            what: What::Raw(status, body.into()),
            ..Self::default()
        }
    }

    /// A success whose JSON breaks off in the middle of a name.
    pub fn malformed() -> Self {
        Self::raw(200, r#"{"data": [{"embedd"#)
    }

    /// A success that is so many bytes long, and still JSON.
    pub fn huge(bytes: usize) -> Self {
        let mut turn = Self::answer();
        turn.tail = bytes;
        turn
    }

    /// Breaks the connection instead of an answer.
    pub fn reset() -> Self {
        Self::answer().reset_after(0)
    }

    /// Adds a header.
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Waits at the gate before anything is answered.
    pub fn held(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// Waits at the gate when so many bytes of the body are sent.
    pub fn held_after(mut self, bytes: usize, gate: &Gate) -> Self {
        self.inner_gate = Some((bytes, gate.clone()));
        self
    }

    /// Ends the body in good order after so many bytes, whether it is whole or not.
    pub fn ended_after(self, bytes: usize) -> Self {
        self.ending(bytes, Ending::Orderly)
    }

    /// Closes the connection after so many bytes of the body.
    pub fn cut_after(self, bytes: usize) -> Self {
        self.ending(bytes, Ending::Closed)
    }

    /// Resets the connection after so many bytes of the body.
    pub fn reset_after(self, bytes: usize) -> Self {
        self.ending(bytes, Ending::Reset)
    }

    /// Sends the body in pieces of so many bytes.
    pub fn in_pieces(mut self, bytes: usize) -> Self {
        self.cuts = Cuts::Every(bytes.max(1));
        self
    }

    /// Sends the body in pieces that end behind so many bytes.
    pub fn split_at(mut self, places: impl Into<Vec<usize>>) -> Self {
        self.cuts = Cuts::At(places.into());
        self
    }

    /// Ends lines with a carriage return too.
    pub fn with_crlf(mut self) -> Self {
        self.has_crlf = true;
        self
    }

    /// Puts a line of so many bytes that means nothing before the body of a stream.
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
    /// The pieces of a body of this length.
    pub(crate) fn pieces(&self, length: usize) -> Vec<Range<usize>> {
        let mut ends: Vec<usize> = match self {
            Self::Nowhere => Vec::new(),
            Self::Every(bytes) => (1..length).filter(|end| end % bytes == 0).collect(),
            Self::At(places) => places.iter().copied().filter(|end| *end < length).collect(),
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
