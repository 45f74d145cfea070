//! The lines of the input.

use std::{io, mem};

use tokio::io::{AsyncRead, AsyncReadExt as _};
use ziggurat_layers::json_rpc::lines::{Line, LineDecoder};

const BUFFER_BYTES: usize = 16 << 10;

/// Reads lines.
pub(super) struct Lines<R> {
    input: R,
    decoder: LineDecoder,
    buffer: Box<[u8]>,
    /// Range of the buffer that is read and not yet decoded.
    start: usize,
    end: usize,
    is_at_end: bool,
}

// === impl Lines ===

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(input: R, max_bytes: usize) -> Self {
        Self {
            input,
            decoder: LineDecoder::new().with_max_bytes(max_bytes),
            buffer: vec![0; BUFFER_BYTES].into(),
            start: 0,
            end: 0,
            is_at_end: false,
        }
    }

    /// Returns the next line, or `None` at the end of the input.
    ///
    /// Cancel safe: no bytes are lost when the future is dropped.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let mut rest = &self.buffer[self.start..self.end];
            let line = self.decoder.decode(&mut rest);
            self.start = self.end - rest.len();
            if line.is_some() {
                return Ok(line);
            }
            if self.is_at_end {
                return Ok(mem::take(&mut self.decoder).finish());
            }
            let count = self.input.read(&mut self.buffer).await?;
            (self.start, self.end) = (0, count);
            self.is_at_end = count == 0;
        }
    }
}
