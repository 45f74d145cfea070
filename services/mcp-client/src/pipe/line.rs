//! Lines on pipes.

use std::{
    io, mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, sink};
use ziggurat_layers::json_rpc::lines::{Line, LineDecoder};

use crate::error::ClientError;

const BUFFER_BYTES: usize = 16 << 10;

/// Reads lines.
pub(super) struct LineReader {
    // Boxed: the client has no type parameters, so that programs can store it.
    input: Box<dyn AsyncRead + Send + Unpin>,
    decoder: LineDecoder,
    buffer: Box<[u8]>,
    /// Range of the buffer that is read and not yet decoded.
    start: usize,
    end: usize,
    /// The error of all reads from now on.
    ended: Option<ClientError>,
}

/// Writes lines.
pub(super) struct LineWriter {
    output: Box<dyn AsyncWrite + Send + Unpin>,
    unsent: Vec<u8>,
    /// Bytes of `unsent` that are written.
    written: usize,
    failed: Option<ClientError>,
}

// === impl LineReader ===

impl LineReader {
    pub(super) fn new(input: Box<dyn AsyncRead + Send + Unpin>, max_bytes: usize) -> Self {
        Self {
            input,
            decoder: LineDecoder::new().with_max_bytes(max_bytes),
            buffer: vec![0; BUFFER_BYTES].into(),
            start: 0,
            end: 0,
            ended: None,
        }
    }

    /// Returns the next line, or `None` for a line that is too long.
    pub(super) fn poll_line(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, ClientError>> {
        loop {
            if let Some(ended) = &self.ended {
                return Poll::Ready(Err(ended.clone()));
            }
            let mut rest = &self.buffer[self.start..self.end];
            let line = self.decoder.decode(&mut rest);
            self.start = self.end - rest.len();
            match line {
                Some(Line::Message(message)) => return Poll::Ready(Ok(Some(message))),
                Some(Line::TooLong) => return Poll::Ready(Ok(None)),
                None => {}
            }
            let mut buffer = ReadBuf::new(&mut self.buffer);
            let read = ready!(Pin::new(&mut self.input).poll_read(cx, &mut buffer));
            (self.start, self.end) = (0, buffer.filled().len());
            match read {
                Ok(()) if self.end > 0 => {}
                Ok(()) => {
                    self.ended = Some(ClientError::Closed);
                    // The last line may lack its end.
                    if let Some(Line::Message(line)) = mem::take(&mut self.decoder).finish() {
                        return Poll::Ready(Ok(Some(line)));
                    }
                }
                Err(error) => self.ended = Some(ClientError::Transport(Arc::new(error))),
            }
        }
    }
}

// === impl LineWriter ===

impl LineWriter {
    pub(super) fn new(output: Box<dyn AsyncWrite + Send + Unpin>) -> Self {
        Self {
            output,
            unsent: Vec::new(),
            written: 0,
            failed: None,
        }
    }

    /// Adds a line to the end of the output.
    pub(super) fn push(&mut self, line: &[u8]) {
        if self.failed.is_none() {
            self.unsent.extend_from_slice(line);
            self.unsent.push(b'\n');
        }
    }

    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        if let Some(failed) = &self.failed {
            return Poll::Ready(Err(failed.clone()));
        }
        let outcome = ready!(self.poll_write_all(cx));
        Poll::Ready(outcome.map_err(|error| self.fail(error)))
    }

    fn poll_write_all(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.unsent.len() {
            let rest = &self.unsent[self.written..];
            let count = ready!(Pin::new(&mut self.output).poll_write(cx, rest))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += count;
        }
        self.unsent.clear();
        self.written = 0;
        Pin::new(&mut self.output).poll_flush(cx)
    }

    pub(super) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        let closed = ready!(Pin::new(&mut self.output).poll_shutdown(cx));
        let closed = closed.map_err(ClientError::transport);
        // The input of a child process ends when its pipe is dropped.
        self.output = Box::new(sink());
        self.failed = Some(ClientError::Closed);
        Poll::Ready(closed)
    }

    fn fail(&mut self, error: io::Error) -> ClientError {
        let is_gone = matches!(
            error.kind(),
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
        );
        let error = if is_gone {
            ClientError::Closed
        } else {
            ClientError::Transport(Arc::new(error))
        };
        self.unsent = Vec::new();
        self.written = 0;
        self.failed = Some(error.clone());
        error
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{future::poll_fn, time::Duration};

    use tokio::{io::AsyncReadExt as _, net::unix::pipe::pipe, time::timeout};

    use super::*;

    #[tokio::test]
    async fn the_pipe_to_a_child_process_ends_at_the_shutdown() {
        let (sender, mut input) = pipe().expect("a pipe");
        let mut writer = LineWriter::new(Box::new(sender));
        writer.push(b"last");
        poll_fn(|cx| writer.poll_flush(cx)).await.expect("flushed");
        let shutdown = poll_fn(|cx| writer.poll_shutdown(cx)).await;
        shutdown.expect("shut down");
        let mut text = String::new();
        let end = input.read_to_string(&mut text);
        let end = timeout(Duration::from_secs(20), end).await;
        end.expect("an end").expect("a text");
        assert_eq!(text, "last\n");
    }
}
