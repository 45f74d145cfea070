//! The lines of the output.

use std::{convert::Infallible, future::poll_fn, io, pin::pin};

use bytes::Bytes;
use http_body::Body;
use tokio::{
    io::{AsyncWrite, AsyncWriteExt as _, BufWriter},
    sync::{OwnedSemaphorePermit, mpsc},
};
use ziggurat_layers::json_rpc::RpcBody;

/// An answer that may be written now.
pub(super) struct OutputLine<T> {
    pub(super) body: RpcBody<T>,
    /// The only permit to write, released when the line is complete.
    pub(super) _write_permit: OwnedSemaphorePermit,
    /// The permit of the call, released at the same time. `None` for a notification.
    pub(super) _call_permit: Option<OwnedSemaphorePermit>,
}

/// Writes answers until there are no more, each on a line of its own.
pub(super) async fn write_lines<W, T>(
    mut lines: mpsc::Receiver<OutputLine<T>>,
    output: W,
) -> io::Result<()>
where
    W: AsyncWrite + Unpin,
    T: Body<Data = Bytes, Error = Infallible>,
{
    // Buffered, because each write to the standard output runs on another thread.
    let mut output = BufWriter::new(output);
    while let Some(line) = lines.recv().await {
        let mut body = pin!(line.body);
        while let Some(Ok(frame)) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            if let Ok(data) = frame.into_data() {
                output.write_all(&data).await?;
            }
        }
        output.write_all(b"\n").await?;
        output.flush().await?;
    }
    output.shutdown().await
}
