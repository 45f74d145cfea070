//! Streamed replies.

use std::{collections::VecDeque, fmt, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use tokio::time;
use ziggurat_layers::json_rpc::lines::{Line, LineDecoder};
use ziggurat_text::events::EventDecoder;

use crate::{
    Chunk, Error, MeasuredCall, Meter, Streaming,
    completion::{Fault, StreamReader},
    http::MAX_ANSWER,
};

/// A streamed reply. Dropping it cancels the request.
///
/// After [`Chunk::End`] or an error the stream ends. It reads from the provider only when the
/// caller polls.
pub struct Chunks {
    upstream: Option<Upstream>,
    queue: VecDeque<Chunk>,
    /// Error that ended the reply; returned after the chunks before it.
    error: Option<Error>,
}

struct Upstream {
    streaming: Streaming,
    reading: Reading,
    meter: Arc<Meter>,
    idle: Duration,
    measured: MeasuredCall,
}

/// Parses the bytes of a response into chunks.
#[derive(Debug)]
pub(super) struct Reading {
    cut: Decoder,
    reader: Box<dyn StreamReader>,
    /// Bytes of the text so far.
    text: usize,
}

#[derive(Debug)]
enum Decoder {
    Events(EventDecoder),
    Lines(LineDecoder),
}

// === impl Chunks ===

impl Chunks {
    pub(super) fn new(
        streaming: Streaming,
        reading: Reading,
        meter: Arc<Meter>,
        idle: Duration,
        measured: MeasuredCall,
    ) -> Self {
        let upstream = Upstream {
            streaming,
            reading,
            meter,
            idle,
            measured,
        };
        Self {
            upstream: Some(upstream),
            queue: VecDeque::new(),
            error: None,
        }
    }

    /// Creates a stream of existing chunks.
    pub(super) fn ready(chunks: impl IntoIterator<Item = Chunk>) -> Self {
        Self {
            upstream: None,
            queue: chunks.into_iter().collect(),
            error: None,
        }
    }

    /// Sets the maximum pause from here on.
    #[must_use]
    pub fn with_idle(mut self, idle: Duration) -> Self {
        if let Some(upstream) = &mut self.upstream {
            upstream.idle = idle;
        }
        self
    }

    /// Returns the next chunk, or `None` after the last. Cancelling it loses no chunk.
    ///
    /// # Errors
    ///
    /// Fails if the provider fails, pauses for too long, or stops before the reply is complete.
    pub async fn next(&mut self) -> Option<Result<Chunk, Error>> {
        loop {
            if let Some(chunk) = self.queue.pop_front() {
                return Some(Ok(chunk));
            }
            if let Some(error) = self.error.take() {
                return Some(Err(error));
            }
            let upstream = self.upstream.as_mut()?;
            let outcome = upstream.advance(&mut self.queue).await;
            if let Err(error) = &outcome {
                upstream.measured.end(Err(error));
            }
            if !matches!(outcome, Ok(false)) {
                self.upstream = None;
            }
            self.error = outcome.err();
        }
    }
}

impl fmt::Debug for Chunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunks").finish_non_exhaustive()
    }
}

// === impl Upstream ===

impl Upstream {
    /// Waits for more bytes, and returns whether the reply is complete.
    async fn advance(&mut self, queue: &mut VecDeque<Chunk>) -> Result<bool, Error> {
        let bytes = time::timeout(self.idle, self.streaming.chunk()).await;
        let bytes = bytes.unwrap_or(Err(Error::Slow))?;
        let read = match &bytes {
            Some(bytes) => self.reading.read(bytes, queue),
            None => self.reading.finish(queue),
        };
        let is_over = read.map_err(|fault| fault.of(self.measured.http()))?;
        if let Some(Chunk::End { usage, .. }) = queue.back() {
            self.meter.add(*usage);
            self.measured.end(Ok(*usage));
        }
        if is_over && bytes.is_some() {
            // The end of the body has often arrived, too; after reading it, the next request can
            // reuse the connection.
            while let Some(Ok(Some(_))) = self.streaming.chunk().now_or_never() {}
        }
        Ok(is_over)
    }
}

// === impl Reading ===

impl Reading {
    /// Parses server-sent events.
    pub(super) fn events(reader: Box<dyn StreamReader>) -> Self {
        let events = EventDecoder::new().with_max_bytes(MAX_ANSWER);
        Self::new(Decoder::Events(events), reader)
    }

    /// Parses lines.
    pub(super) fn lines(reader: Box<dyn StreamReader>) -> Self {
        let lines = LineDecoder::new().with_max_bytes(MAX_ANSWER);
        Self::new(Decoder::Lines(lines), reader)
    }

    fn new(cut: Decoder, reader: Box<dyn StreamReader>) -> Self {
        let text = 0;
        Self { cut, reader, text }
    }

    /// Parses more of the reply, and returns whether it is complete.
    pub(super) fn read(
        &mut self,
        mut bytes: &[u8],
        chunks: &mut VecDeque<Chunk>,
    ) -> Result<bool, Fault> {
        loop {
            let event = match &mut self.cut {
                Decoder::Events(events) => events.decode(&mut bytes)?,
                Decoder::Lines(lines) => lines.decode(&mut bytes).map(whole).transpose()?,
            };
            let Some(event) = event else {
                return Ok(false);
            };
            let before = chunks.len();
            self.reader.read(&event, chunks)?;
            for chunk in chunks.iter().skip(before) {
                if let Chunk::Text(text) = chunk {
                    self.text += text.len();
                }
            }
            if self.text > MAX_ANSWER {
                return Err(Fault::TooLong);
            }
            if is_complete(chunks) {
                return Ok(true);
            }
        }
    }

    /// Parses the rest at the end of the body.
    pub(super) fn finish(&mut self, chunks: &mut VecDeque<Chunk>) -> Result<bool, Fault> {
        let last = match &mut self.cut {
            Decoder::Events(events) => std::mem::take(events).finish()?,
            Decoder::Lines(lines) => std::mem::take(lines).finish().map(whole).transpose()?,
        };
        if let Some(event) = last {
            self.reader.read(&event, chunks)?;
        }
        if !is_complete(chunks) {
            self.reader.finish(chunks);
        }
        if is_complete(chunks) {
            Ok(true)
        } else {
            Err(Fault::Incomplete)
        }
    }
}

fn is_complete(chunks: &VecDeque<Chunk>) -> bool {
    matches!(chunks.back(), Some(Chunk::End { .. }))
}

fn whole(line: Line) -> Result<bytes::Bytes, Fault> {
    match line {
        Line::Message(line) => Ok(line),
        Line::TooLong => Err(Fault::TooLong),
    }
}
