//! The body of a result.

use std::{
    convert::Infallible,
    fmt, mem,
    pin::Pin,
    task::{Context, Poll, ready},
    vec,
};

use bytes::Bytes;
use futures_util::Stream;
use http_body::{Body, Frame, SizeHint};

use crate::{
    Piece, Reported, ResultSeal, SealedMember, Structure, Text, protocol::Revision, seal::Seal,
};

const OPENING: &str = r#"{"content":[{"type":"text","text":""#;
const CLOSING: &str = r#""}]"#;
const IS_ERROR: &str = r#","isError":true"#;

/// Text that closes the content and opens the structure.
const STRUCTURED: &str = r#""}],"structuredContent":"#;

/// Bytes that close a result after its text, with the members that the revision adds to every
/// result.
#[derive(Clone, Debug)]
pub(super) struct Ending {
    ok: Bytes,
    error: Bytes,
    /// Decides which structures the result can contain.
    revision: Revision,
}

/// Pieces that a tool streams.
// Boxed: streams differ from tool to tool, and there is one per streamed result.
pub(super) type Pieces = Pin<Box<dyn Stream<Item = Result<Piece, Reported>> + Send>>;

/// The parts of a result that are not sent yet, none of them empty.
type Parts = vec::IntoIter<Bytes>;

/// Body of a result: complete, or the text of a tool as it is streamed.
///
/// It cannot fail and always sends one complete JSON object. If a tool fails half-way, its error
/// replaces the rest of the text, and `isError` is the last member of a result, so that it can
/// still be set.
pub struct ResultBody {
    state: BodyState,
}

enum BodyState {
    Ready(Bytes),
    Parts(Parts),
    Opening {
        pieces: Pieces,
        ending: Ending,
        seal: Seal,
    },
    Streaming {
        pieces: Pieces,
        ending: Ending,
        has_text: bool,
        seal: Seal,
    },
    // Boxed: few results have a seal.
    Sealing(Box<Sealing>),
    Done,
}

/// The end of a result with a seal. Nothing of it is sent before the member is there: a small result
/// is one write that way.
struct Sealing {
    /// The parts before the last one, none of them empty.
    before: Vec<Bytes>,
    member: SealedMember,
    ending: Ending,
}

// === impl ResultBody ===

impl ResultBody {
    /// Makes a result from a complete text, with its structure if the revision supports one.
    pub(super) fn text(
        text: &Text,
        structure: Option<Structure>,
        ending: &Ending,
        seal: Seal,
    ) -> Self {
        let structure = structure.and_then(|structure| structure.in_revision(ending.revision));
        if let Some(mut seal) = seal {
            seal.text(text.as_bytes());
            let closing = closing(structure, seal.as_mut()).into_iter();
            let opening = [OPENING.as_bytes(), text.as_bytes()].concat();
            let before = [opening.into()].into_iter().chain(closing);
            return Self::sealed(before, seal, ending);
        }
        let Some(structure) = structure else {
            return Self::whole(text, &ending.ok);
        };
        let opening = [OPENING.as_bytes(), text.as_bytes(), STRUCTURED.as_bytes()].concat();
        let state = BodyState::Parts(parts(opening.into(), structure, ending));
        Self { state }
    }

    /// Makes a result that is an error.
    pub(super) fn error(text: &Text, ending: &Ending) -> Self {
        Self::whole(text, &ending.error)
    }

    /// Makes a result from text that is streamed.
    pub(super) fn streamed(pieces: Pieces, ending: Ending, seal: Seal) -> Self {
        let state = BodyState::Opening {
            pieces,
            ending,
            seal,
        };
        Self { state }
    }

    /// Makes a result from all parts but its last, which has the member of the seal.
    pub(super) fn sealed(
        before: impl IntoIterator<Item = Bytes>,
        seal: Box<dyn ResultSeal>,
        ending: &Ending,
    ) -> Self {
        let sealing = Sealing::new(before, seal, ending.clone());
        let state = BodyState::Sealing(Box::new(sealing));
        Self { state }
    }

    fn whole(text: &Text, ending: &[u8]) -> Self {
        Self::from(Bytes::from(
            [OPENING.as_bytes(), text.as_bytes(), ending].concat(),
        ))
    }
}

// === impl Ending ===

impl Ending {
    /// Returns the end of results of a revision, with the last members `tail`.
    pub(super) fn new(revision: Revision, tail: &str) -> Self {
        Self {
            ok: [CLOSING, tail].concat().into(),
            error: [CLOSING, IS_ERROR, tail].concat().into(),
            revision,
        }
    }

    /// Returns the bytes that follow a structure.
    fn tail(&self) -> Bytes {
        self.ok.slice(CLOSING.len()..)
    }

    /// Returns the same bytes with one more member of `_meta`.
    fn tail_with(&self, (name, value): (&'static str, String)) -> Bytes {
        let tail = self.tail();
        // In revisions that end results with members of their own, `_meta` is the last of these.
        let (before, meta, after) = match tail.strip_suffix(b"}}") {
            Some(before) => (before, ",", "}}"),
            None => (&b""[..], ",\"_meta\":{", "}}"),
        };
        let before = str::from_utf8(before).expect("JSON is text");
        format!("{before}{meta}\"{name}\":{value}{after}").into()
    }
}

impl From<Bytes> for ResultBody {
    fn from(result: Bytes) -> Self {
        let state = BodyState::Ready(result);
        Self { state }
    }
}

impl Body for ResultBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let state = &mut self.get_mut().state;
        let data = match mem::replace(state, BodyState::Done) {
            BodyState::Ready(result) => result,
            BodyState::Parts(parts) => first(parts, state),
            BodyState::Opening {
                pieces,
                ending,
                seal,
            } => {
                *state = BodyState::Streaming {
                    pieces,
                    ending,
                    has_text: false,
                    seal,
                };
                Bytes::from_static(OPENING.as_bytes())
            }
            BodyState::Streaming {
                pieces,
                ending,
                has_text,
                seal,
            } => match stream(pieces, ending, has_text, seal, state, cx) {
                Poll::Ready(data) => data,
                Poll::Pending => return Poll::Pending,
            },
            BodyState::Sealing(sealing) => ready!(sealing.poll(state, cx)),
            BodyState::Done => return Poll::Ready(None),
        };
        Poll::Ready(Some(Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.state, BodyState::Done)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.state {
            BodyState::Ready(result) => SizeHint::with_exact(length(result.len())),
            BodyState::Parts(parts) => {
                let parts = parts.as_slice().iter().map(Bytes::len);
                SizeHint::with_exact(length(parts.sum()))
            }
            BodyState::Opening { ending, .. } => at_least(OPENING.len() + ending.ok.len()),
            BodyState::Streaming { ending, .. } => at_least(ending.ok.len()),
            BodyState::Sealing(sealing) => {
                let before = sealing.before.iter().map(Bytes::len);
                at_least(before.sum::<usize>() + sealing.ending.tail().len())
            }
            BodyState::Done => SizeHint::with_exact(0),
        }
    }
}

impl fmt::Debug for ResultBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResultBody").finish_non_exhaustive()
    }
}

// === impl Sealing ===

impl Sealing {
    fn new(
        before: impl IntoIterator<Item = Bytes>,
        seal: Box<dyn ResultSeal>,
        ending: Ending,
    ) -> Self {
        Self {
            before: before.into_iter().collect(),
            member: seal.close(),
            ending,
        }
    }

    /// Returns the first part once the member is there, and keeps the others.
    fn poll(mut self: Box<Self>, rest: &mut BodyState, cx: &mut Context<'_>) -> Poll<Bytes> {
        let Poll::Ready(member) = self.member.as_mut().poll(cx) else {
            *rest = BodyState::Sealing(self);
            return Poll::Pending;
        };
        let tail = match member {
            Some(member) => self.ending.tail_with(member),
            None => self.ending.tail(),
        };
        self.before.push(tail);
        Poll::Ready(first(self.before.into_iter(), rest))
    }
}

/// Returns the parts between a text and the last part of its result.
fn closing(structure: Option<Structure>, seal: &mut dyn ResultSeal) -> Vec<Bytes> {
    match structure {
        None => vec![Bytes::from_static(CLOSING.as_bytes())],
        Some(structure) => {
            let json = structure.into_json();
            seal.structure(&json);
            vec![Bytes::from_static(STRUCTURED.as_bytes()), json]
        }
    }
}

/// Returns the next bytes of a streamed result, and keeps the state of the rest.
fn stream(
    mut pieces: Pieces,
    ending: Ending,
    has_text: bool,
    mut seal: Seal,
    state: &mut BodyState,
    cx: &mut Context<'_>,
) -> Poll<Bytes> {
    let (data, has_text) = match next(&mut pieces, cx) {
        Poll::Ready(Some(Ok(Piece::Text(text)))) => {
            if let Some(seal) = &mut seal {
                seal.text(text.as_bytes());
            }
            (Poll::Ready(text.into_bytes()), true)
        }
        // Drops the stream before the end of its result is sent, to free its resources early.
        Poll::Ready(Some(Ok(Piece::Structure(structure)))) => {
            let structure = structure.in_revision(ending.revision);
            return end_of_stream(structure, ending, seal, state, cx);
        }
        Poll::Ready(Some(Err(reported))) => {
            return Poll::Ready(closing_in_error(&reported, has_text, &ending));
        }
        Poll::Ready(None) => return end_of_stream(None, ending, seal, state, cx),
        Poll::Pending => (Poll::Pending, has_text),
    };
    *state = BodyState::Streaming {
        pieces,
        ending,
        has_text,
        seal,
    };
    data
}

/// Returns the bytes after the text of a stream, and keeps what follows them.
fn end_of_stream(
    structure: Option<Structure>,
    ending: Ending,
    seal: Seal,
    state: &mut BodyState,
    cx: &mut Context<'_>,
) -> Poll<Bytes> {
    match (seal, structure) {
        (None, None) => Poll::Ready(ending.ok),
        (None, Some(structure)) => {
            let opening = Bytes::from_static(STRUCTURED.as_bytes());
            Poll::Ready(first(parts(opening, structure, &ending), state))
        }
        (Some(mut seal), structure) => {
            let before = closing(structure, seal.as_mut());
            Box::new(Sealing::new(before, seal, ending)).poll(state, cx)
        }
    }
}

/// Returns the next piece that is not empty: an empty frame would end an HTTP/1.1 body.
fn next(pieces: &mut Pieces, cx: &mut Context<'_>) -> Poll<Option<Result<Piece, Reported>>> {
    loop {
        match ready!(pieces.as_mut().poll_next(cx)) {
            Some(Ok(Piece::Text(text))) if text.is_empty() => {}
            piece => return Poll::Ready(piece),
        }
    }
}

/// Returns the parts of a result with a structure; `opening` is the text before it.
fn parts(opening: Bytes, structure: Structure, ending: &Ending) -> Parts {
    vec![opening, structure.into_json(), ending.tail()].into_iter()
}

/// Returns the first of the remaining parts and keeps the others.
fn first(mut parts: Parts, rest: &mut BodyState) -> Bytes {
    let part = parts.next().expect("a part is left");
    if parts.len() > 0 {
        *rest = BodyState::Parts(parts);
    }
    part
}

fn closing_in_error(reported: &Reported, has_text: bool, ending: &Ending) -> Bytes {
    let mut closing = Text::new();
    if has_text {
        closing.push_str("\n\n");
    }
    closing.push_str(reported.as_str());
    let mut closing = Vec::from(closing.into_bytes());
    closing.extend_from_slice(&ending.error);
    closing.into()
}

fn at_least(bytes: usize) -> SizeHint {
    let mut hint = SizeHint::new();
    hint.set_lower(length(bytes));
    hint
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
