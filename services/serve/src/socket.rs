//! A socket that reports its reads to [`Activity`] and closes in stages.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep, sleep_until},
};

use crate::{Limits, idle::Activity};

/// First bytes of an HTTP/2 client (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes read and dropped at a time while a connection lingers.
const DRAIN_BUFFER: usize = 4096;

/// Maximum pause of a client that is still sending. One that sends nothing and does not close
/// either is not waited for.
pub(super) const MAX_PAUSE: Duration = Duration::from_millis(500);

/// Reports the reads of a connection to [`Activity`], limits its writes, and closes it in stages.
///
/// Closing while unread bytes wait makes the system send a reset, and the client may lose the
/// response with the reason. A client that reads nothing of its response would keep a write
/// waiting.
#[derive(Debug)]
pub(super) struct Socket<T> {
    inner: T,
    activity: Arc<Activity>,
    phase: Phase,
    /// Deadline for a client that reads nothing; set only while it does not.
    // Boxed: one allocation per pause of a client, not per write.
    stall: Option<Pin<Box<Sleep>>>,
    /// Deadline for the closing.
    // Boxed: one per connection, and hyper has to move its socket.
    closing: Option<Pin<Box<Sleep>>>,
    write_timeout: Duration,
    linger: Duration,
    linger_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// This many bytes have arrived, all of them equal to the preface.
    Detecting {
        matched: usize,
    },
    Http1,
    Http2,
    /// The writing side is being shut down, with a deadline.
    Closing {
        until: Instant,
    },
    /// This many bytes may still be read and dropped, with a deadline.
    Lingering {
        bytes: u64,
        until: Instant,
    },
}

// === impl Socket ===

impl<T> Socket<T> {
    pub(super) fn new(inner: T, activity: Arc<Activity>, limits: &Limits) -> Self {
        Self {
            inner,
            activity,
            phase: Phase::Detecting { matched: 0 },
            stall: None,
            closing: None,
            write_timeout: limits.write_timeout,
            linger: limits.linger,
            linger_bytes: limits.linger_bytes,
        }
    }
}

impl<T> Socket<T> {
    /// Limits the time that a write waits, because a waiting response holds memory, and perhaps a
    /// statement in a database.
    fn progress<W>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<W>>,
    ) -> Poll<io::Result<W>> {
        if written.is_ready() {
            if self.stall.take().is_some() {
                self.activity.stalls(false);
            }
            return written;
        }
        let stall = self.stall.get_or_insert_with(|| {
            self.activity.stalls(true);
            Box::pin(sleep(self.write_timeout))
        });
        ready!(stall.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Detects the protocol from the bytes that arrived, or the begin of a request.
    fn received(&mut self, bytes: &[u8]) {
        match self.phase {
            Phase::Detecting { matched } => {
                self.phase = Phase::detected(matched, bytes);
                if self.phase == Phase::Http2 {
                    self.activity.uses_http2();
                }
            }
            Phase::Http1 => self.activity.received(),
            Phase::Http2 | Phase::Closing { .. } | Phase::Lingering { .. } => {}
        }
    }

    fn close_by(&mut self, deadline: Instant) {
        match &mut self.closing {
            Some(closing) => closing.as_mut().reset(deadline),
            None => self.closing = Some(Box::pin(sleep_until(deadline))),
        }
    }

    /// Returns ready when the closing has taken too long.
    fn poll_closing(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let closing = self.closing.as_mut();
        closing.map_or(Poll::Ready(()), |closing| closing.as_mut().poll(cx))
    }
}

impl Phase {
    /// Returns the phase after `bytes` more, when `matched` bytes equal the preface.
    fn detected(matched: usize, bytes: &[u8]) -> Self {
        let rest = &PREFACE[matched..];
        if bytes.starts_with(rest) {
            Self::Http2
        } else if rest.starts_with(bytes) {
            let matched = matched + bytes.len();
            Self::Detecting { matched }
        } else {
            Self::Http1
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Socket<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(cx, buffer))?;
        this.received(&buffer.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Socket<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.inner).poll_write(cx, bytes);
        this.progress(cx, written)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.inner).poll_flush(cx);
        this.progress(cx, written)
    }

    /// Shuts the writing side down, then continues to read until the client closes or pauses, or
    /// the limit of time or bytes is reached.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            match this.phase {
                Phase::Detecting { .. } | Phase::Http1 | Phase::Http2 => {
                    let until = Instant::now() + this.linger;
                    this.close_by(until);
                    this.phase = Phase::Closing { until };
                }
                Phase::Closing { until } => {
                    if Pin::new(&mut this.inner).poll_shutdown(cx)?.is_pending() {
                        // A client that reads nothing gets no more time than the others.
                        ready!(this.poll_closing(cx));
                        return Poll::Ready(Ok(()));
                    }
                    let bytes = this.linger_bytes;
                    this.phase = Phase::Lingering { bytes, until };
                    this.close_by(until.min(Instant::now() + MAX_PAUSE));
                }
                Phase::Lingering { bytes, until } => {
                    if this.poll_closing(cx).is_ready() || bytes == 0 {
                        return Poll::Ready(Ok(()));
                    }
                    let mut space = [0; DRAIN_BUFFER];
                    let mut buffer = ReadBuf::new(&mut space);
                    let read = ready!(Pin::new(&mut this.inner).poll_read(cx, &mut buffer));
                    let dropped = buffer.filled().len() as u64;
                    if read.is_err() || dropped == 0 {
                        // The client closed, too, or is gone: nothing more to wait for.
                        return Poll::Ready(Ok(()));
                    }
                    let bytes = bytes.saturating_sub(dropped);
                    this.phase = Phase::Lingering { bytes, until };
                    this.close_by(until.min(Instant::now() + MAX_PAUSE));
                }
            }
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.inner).poll_write_vectored(cx, slices);
        this.progress(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

    use super::*;
    use crate::idle::TimeoutReason;

    fn guarded(limits: &Limits) -> (Socket<DuplexStream>, DuplexStream) {
        let (server, client) = duplex(1 << 20);
        (Socket::new(server, activity(limits), limits), client)
    }

    fn activity(limits: &Limits) -> Arc<Activity> {
        Arc::new(Activity::new(Arc::default(), limits))
    }

    fn limits() -> Limits {
        Limits {
            linger_bytes: 10_000,
            ..Limits::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_never_shows_its_protocol_is_cut_off() {
        for beginning in [&b""[..], b"P", b"PRI * HTTP/2.0\r\n", b"GET / HTTP/1.1\r\n"] {
            let begun = Instant::now();
            let (socket, mut client) = guarded(&limits());
            let activity = Arc::clone(&socket.activity);
            let mut socket = Box::pin(socket);
            client.write_all(beginning).await.expect("open");
            let mut read = vec![0; beginning.len()];
            socket.read_exact(&mut read).await.expect("there");
            assert_eq!(
                activity.timed_out().await,
                TimeoutReason::Slow,
                "{beginning:?}"
            );
            assert_eq!(begun.elapsed(), limits().header_timeout, "{beginning:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_preface_is_recognised_in_pieces_and_with_more_bytes_after_it() {
        for piece in [1, 5, 23, 24, 30] {
            let (socket, mut client) = guarded(&limits());
            let mut socket = Box::pin(socket);
            let sent = [PREFACE, &[0; 36]].concat();
            for bytes in sent.chunks(piece) {
                client.write_all(bytes).await.expect("open");
                let mut read = vec![0; bytes.len()];
                socket.read_exact(&mut read).await.expect("there");
            }
            assert_eq!(socket.phase, Phase::Http2, "{piece}");
            assert_eq!(
                socket.activity.timed_out().await,
                TimeoutReason::Idle,
                "{piece}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_nothing_is_cut_off_but_a_slow_one_is_not() {
        let (server, mut client) = duplex(10);
        let mut socket = Box::pin(Socket::new(server, activity(&limits()), &limits()));
        let slowly = async {
            let mut taken = [0; 10];
            for _ in 0..5 {
                sleep(limits().write_timeout / 2).await;
                client.read_exact(&mut taken).await.expect("open");
            }
            std::future::pending::<()>().await;
        };
        let begun = Instant::now();
        let error = tokio::select! {
            written = socket.write_all(&[7; 100]) => written.expect_err("given up"),
            () = slowly => unreachable!("it never ends"),
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(begun.elapsed(), limits().write_timeout / 2 * 7);
    }

    #[tokio::test(start_paused = true)]
    async fn a_close_reads_on_until_the_client_closes_too() {
        let (socket, mut client) = guarded(&limits());
        let mut socket = Box::pin(socket);
        client.write_all(&[7; 5000]).await.expect("open");
        let closing = async {
            socket.write_all(b"no").await.expect("open");
            socket.shutdown().await
        };
        let reading = async {
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).await.expect("no reset");
            client.write_all(&[7; 100]).await.expect("still read");
            drop(client);
            answer
        };
        let (closed, answer) = tokio::join!(closing, reading);
        closed.expect("clean");
        assert_eq!(answer, b"no");
    }

    #[tokio::test(start_paused = true)]
    async fn a_close_does_not_wait_for_a_client_that_is_silent() {
        let (socket, client) = guarded(&limits());
        let begun = Instant::now();
        Box::pin(socket).shutdown().await.expect("given up");
        assert!(begun.elapsed() >= MAX_PAUSE);
        assert!(begun.elapsed() < MAX_PAUSE * 2);
        drop(client);
    }

    #[tokio::test(start_paused = true)]
    async fn a_close_gives_up_on_a_client_that_never_stops_sending() {
        let (socket, mut client) = guarded(&limits());
        let mut socket = Box::pin(socket);
        let begun = Instant::now();
        let dribbling = async {
            let mut pause = tokio::time::interval(MAX_PAUSE / 2);
            loop {
                pause.tick().await;
                client.write_all(b".").await.expect("open");
            }
        };
        tokio::select! {
            closed = socket.shutdown() => closed.expect("given up"),
            () = dribbling => unreachable!("it never ends"),
        }
        assert!(begun.elapsed() >= limits().linger);
        assert!(begun.elapsed() < limits().linger + MAX_PAUSE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_close_gives_up_after_the_bytes_allowed() {
        let (socket, mut client) = guarded(&limits());
        client.write_all(&vec![7; 20_000]).await.expect("open");
        let begun = Instant::now();
        Box::pin(socket).shutdown().await.expect("given up");
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }
}
