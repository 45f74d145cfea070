//! The steps of sending a response.

use std::{collections::VecDeque, io, ops::Range};

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header::CONTENT_TYPE};

use crate::{Gate, Turn};

/// An answer in the format of the provider.
#[derive(Clone, Debug)]
pub(crate) struct Rendered {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) body: Vec<u8>,
}

/// The end of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The body is complete.
    #[default]
    Complete,
    /// The connection is closed in the middle.
    Closed,
    /// The connection is reset in the middle.
    Reset,
}

/// One step of sending a body.
#[derive(Debug)]
pub(crate) enum Step {
    Send(Bytes),
    Wait(Gate),
}

/// A response, as steps.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) head: Response<()>,
    pub(crate) steps: VecDeque<Step>,
    pub(crate) ending: Ending,
}

// === impl Rendered ===

impl Rendered {
    pub(crate) fn json(status: u16, body: &serde_json::Value) -> Self {
        Self {
            status,
            kind: "application/json",
            body: body.to_string().into_bytes(),
        }
    }

    pub(crate) fn events(body: String) -> Self {
        Self {
            status: 200,
            kind: "text/event-stream",
            body: body.into_bytes(),
        }
    }

    pub(crate) fn lines(body: String) -> Self {
        Self {
            status: 200,
            kind: "application/x-ndjson",
            body: body.into_bytes(),
        }
    }
}

// === impl Plan ===

impl Plan {
    /// Applies a turn to an answer.
    pub(crate) fn new(rendered: Rendered, turn: &Turn) -> Self {
        let head = head(&rendered, turn);
        let body = body(rendered, turn);
        let (mut length, mut ending) = (body.len(), Ending::Complete);
        if let Some((at, how)) = turn.end {
            length = length.min(at);
            ending = how;
        }
        let (gate_at, gate) = turn
            .inner_gate
            .as_ref()
            .map_or((usize::MAX, None), |(at, gate)| (*at, Some(gate)));
        let body = Bytes::from(body);
        let mut steps = VecDeque::new();
        let mut wait = gate.cloned();
        let send = |range: Range<usize>, steps: &mut VecDeque<Step>| {
            if !range.is_empty() {
                steps.push_back(Step::Send(body.slice(range)));
            }
        };
        for piece in turn.cuts.pieces(length) {
            let mut start = piece.start;
            if gate_at <= piece.end
                && let Some(gate) = wait.take()
            {
                send(start..gate_at, &mut steps);
                steps.push_back(Step::Wait(gate));
                start = gate_at;
            }
            send(start..piece.end, &mut steps);
        }
        Self {
            head,
            steps,
            ending,
        }
    }

    /// Returns the next chunk of the body, an error that closes the connection, or the end.
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, io::Error>> {
        while let Some(step) = self.steps.pop_front() {
            match step {
                Step::Send(bytes) => return Some(Ok(bytes)),
                Step::Wait(gate) => gate.pass().await,
            }
        }
        match std::mem::take(&mut self.ending) {
            Ending::Complete => None,
            Ending::Closed | Ending::Reset => {
                // Lets the connection send the chunks so far before it is closed.
                tokio::task::yield_now().await;
                Some(Err(io::Error::other("the script breaks off here")))
            }
        }
    }
}

fn head(rendered: &Rendered, turn: &Turn) -> Response<()> {
    let mut head = Response::new(());
    *head.status_mut() = StatusCode::from_u16(rendered.status).expect("a status");
    let kind = HeaderValue::from_static(rendered.kind);
    head.headers_mut().insert(CONTENT_TYPE, kind);
    for (name, value) in &turn.headers {
        let name: http::HeaderName = name.parse().expect("the name of a header");
        let value = value.parse().expect("the value of a header");
        head.headers_mut().insert(name, value);
    }
    head
}

fn body(rendered: Rendered, turn: &Turn) -> Vec<u8> {
    let mut body = rendered.body;
    if turn.padding > 0 {
        // Ignored by clients: a comment between events, white space between lines of JSON.
        let (first, rest) = match rendered.kind {
            "text/event-stream" => (b':', b'x'),
            _ => (b' ', b' '),
        };
        let mut line = vec![rest; turn.padding];
        line[0] = first;
        line.push(b'\n');
        line.append(&mut body);
        body = line;
    }
    if turn.has_crlf {
        let text = String::from_utf8(body).expect("lines of text");
        body = text.replace('\n', "\r\n").into_bytes();
    }
    // White space after JSON is ignored.
    body.resize(body.len() + turn.tail, b' ');
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(turn: &Turn) -> Vec<String> {
        let rendered = Rendered {
            status: 200,
            kind: "text/event-stream",
            body: b"data: 1\n\n".to_vec(),
        };
        let steps = Plan::new(rendered, turn).steps;
        steps
            .into_iter()
            .map(|step| match step {
                Step::Send(bytes) => String::from_utf8(bytes.to_vec()).expect("text"),
                Step::Wait(_) => "…".to_owned(),
            })
            .collect()
    }

    #[test]
    fn a_body_is_sent_in_the_scripted_chunks() {
        let gate = Gate::new();
        for (turn, expected) in [
            (Turn::answer(), vec!["data: 1\n\n"]),
            (Turn::answer().in_pieces(4), vec!["data", ": 1\n", "\n"]),
            (
                Turn::answer().split_at([1, 6, 90]),
                vec!["d", "ata: ", "1\n\n"],
            ),
            (Turn::answer().with_crlf(), vec!["data: 1\r\n\r\n"]),
            (Turn::answer().with_long_line(3), vec![":xx\ndata: 1\n\n"]),
            (Turn::answer().ended_after(2), vec!["da"]),
            (Turn::answer().cut_after(2).in_pieces(1), vec!["d", "a"]),
            (
                Turn::answer().held_after(6, &gate),
                vec!["data: ", "…", "1\n\n"],
            ),
            (
                Turn::answer().held_after(0, &gate).in_pieces(6),
                vec!["…", "data: ", "1\n\n"],
            ),
            (
                Turn::answer().held_after(9, &gate),
                vec!["data: 1\n\n", "…"],
            ),
        ] {
            assert_eq!(sent(&turn), expected, "{turn:?}");
        }
    }
}
