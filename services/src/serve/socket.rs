//! A connection that neither waits for ever at its start nor slams the door at its end.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep},
};

use super::Limits;

/// What an HTTP/2 client says first (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes read and dropped at a time while a connection lingers.
const DRAIN_BUFFER: usize = 4096;

/// How long a client that is still sending may pause. One that has nothing to say, and does
/// not close either, need not be waited for.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Guards the start and the end of a connection, and its writes.
///
/// At the start hyper waits without a limit of time until it knows the protocol: a client
/// that sends nothing, or the beginning of the HTTP/2 preface, would hold its connection
/// for ever. At the end a close while unread bytes wait makes the system send a reset,
/// and the client may lose the response that told it why. And in between, a client that takes
/// nothing of its response would keep it waiting.
#[derive(Debug)]
pub(super) struct Socket<T> {
    inner: T,
    // Boxed: one per connection, and hyper wants to move its socket.
    deadline: Pin<Box<Sleep>>,
    phase: Phase,
    /// When to give up on a client that takes nothing; only while it does not.
    // Boxed: one per pause of a client, not per write.
    stall: Option<Pin<Box<Sleep>>>,
    write_timeout: Duration,
    linger: Duration,
    linger_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// So many bytes have come in, all of them as in the preface.
    Opening {
        matched: usize,
    },
    Open,
    /// The writing side is being shut down.
    Closing,
    /// So many bytes may still be read and dropped, until then.
    Lingering {
        bytes: u64,
        until: Instant,
    },
}

// === impl Socket ===

impl<T> Socket<T> {
    pub(super) fn new(inner: T, limits: &Limits) -> Self {
        Self {
            inner,
            deadline: Box::pin(sleep(limits.header_timeout)),
            phase: Phase::Opening { matched: 0 },
            stall: None,
            write_timeout: limits.write_timeout,
            linger: limits.linger,
            linger_bytes: limits.linger_bytes,
        }
    }
}

impl<T> Socket<T> {
    /// Lets a write wait, but not for ever: what waits for it holds memory, and perhaps a
    /// statement in a database.
    fn progress<W>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<W>>,
    ) -> Poll<io::Result<W>> {
        if written.is_ready() {
            self.stall = None;
            return written;
        }
        let timeout = self.write_timeout;
        let stall = self.stall.get_or_insert_with(|| Box::pin(sleep(timeout)));
        ready!(stall.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn wait_for_more(&mut self, until: Instant) {
        let pause = Instant::now() + LONGEST_PAUSE;
        self.deadline.as_mut().reset(pause.min(until));
    }
}

impl Phase {
    /// The phase after `bytes` more came in.
    fn after(self, bytes: &[u8]) -> Self {
        match self {
            Self::Opening { matched } => {
                let end = matched + bytes.len();
                if end < PREFACE.len() && bytes == &PREFACE[matched..end] {
                    Self::Opening { matched: end }
                } else {
                    Self::Open
                }
            }
            later => later,
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
        if Pin::new(&mut this.inner)
            .poll_read(cx, buffer)?
            .is_pending()
        {
            if matches!(this.phase, Phase::Opening { .. }) {
                ready!(this.deadline.as_mut().poll(cx));
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            return Poll::Pending;
        }
        this.phase = this.phase.after(&buffer.filled()[before..]);
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

    /// Shuts the writing side down, then reads on until the client closes, pauses, or has had
    /// enough time or bytes.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            match &mut this.phase {
                Phase::Opening { .. } | Phase::Open => {
                    this.deadline.as_mut().reset(Instant::now() + this.linger);
                    this.phase = Phase::Closing;
                }
                Phase::Closing => {
                    if Pin::new(&mut this.inner).poll_shutdown(cx)?.is_pending() {
                        // A client that reads nothing is waited for no longer than the others.
                        ready!(this.deadline.as_mut().poll(cx));
                        return Poll::Ready(Ok(()));
                    }
                    let until = this.deadline.deadline();
                    let bytes = this.linger_bytes;
                    this.phase = Phase::Lingering { bytes, until };
                    this.wait_for_more(until);
                }
                Phase::Lingering { bytes, until } => {
                    if this.deadline.as_mut().poll(cx).is_ready() || *bytes == 0 {
                        return Poll::Ready(Ok(()));
                    }
                    let mut space = [0; DRAIN_BUFFER];
                    let mut buffer = ReadBuf::new(&mut space);
                    let read = ready!(Pin::new(&mut this.inner).poll_read(cx, &mut buffer));
                    let dropped = buffer.filled().len() as u64;
                    if read.is_err() || dropped == 0 {
                        // The client closed too, or is gone: nothing left to be polite to.
                        return Poll::Ready(Ok(()));
                    }
                    *bytes = bytes.saturating_sub(dropped);
                    let until = *until;
                    this.wait_for_more(until);
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

    fn guarded(limits: &Limits) -> (Socket<DuplexStream>, DuplexStream) {
        let (server, client) = duplex(1 << 20);
        (Socket::new(server, limits), client)
    }

    fn limits() -> Limits {
        Limits {
            linger_bytes: 10_000,
            ..Limits::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_never_says_which_protocol_it_speaks_is_cut_off() {
        for beginning in [&b""[..], b"P", b"PRI * HTTP/2.0\r\n"] {
            let (socket, mut client) = guarded(&limits());
            let mut socket = Box::pin(socket);
            client.write_all(beginning).await.expect("open");
            let mut read = vec![0; beginning.len()];
            socket.read_exact(&mut read).await.expect("there");
            let begun = Instant::now();
            let error = socket.read_u8().await.expect_err("timed out");
            assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{beginning:?}");
            assert!(begun.elapsed() <= limits().header_timeout, "{beginning:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn once_the_protocol_is_known_reading_may_take_its_time() {
        for beginning in [&b"POST"[..], PREFACE] {
            let (socket, mut client) = guarded(&limits());
            let mut socket = Box::pin(socket);
            client.write_all(beginning).await.expect("open");
            let mut read = vec![0; beginning.len()];
            socket.read_exact(&mut read).await.expect("there");
            let late = tokio::time::timeout(limits().header_timeout * 3, socket.read_u8());
            late.await.expect_err("still waiting");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_given_up_but_a_slow_one_is_not() {
        let (server, mut client) = duplex(10);
        let mut socket = Box::pin(Socket::new(server, &limits()));
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
        assert!(begun.elapsed() >= LONGEST_PAUSE);
        assert!(begun.elapsed() < LONGEST_PAUSE * 2);
        drop(client);
    }

    #[tokio::test(start_paused = true)]
    async fn a_close_gives_up_on_a_client_that_goes_on_and_on() {
        let (socket, mut client) = guarded(&limits());
        let mut socket = Box::pin(socket);
        let begun = Instant::now();
        let dribbling = async {
            let mut pause = tokio::time::interval(LONGEST_PAUSE / 2);
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
        assert!(begun.elapsed() < limits().linger + LONGEST_PAUSE);
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
