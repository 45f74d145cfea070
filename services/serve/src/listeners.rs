//! The listening sockets of a server.

use std::{
    io,
    net::SocketAddr,
    sync::atomic::{AtomicUsize, Ordering},
    task::{Context, Poll},
};

use futures_util::future::poll_fn;
use tokio::net::{TcpListener, TcpStream};

/// The sockets that a server listens on; they are polled in turn, so that many connections at one
/// do not delay those at another.
#[derive(Debug)]
pub struct Listeners {
    sockets: Vec<TcpListener>,
    /// Index of the next socket to poll.
    next: AtomicUsize,
}

// === impl Listeners ===

impl From<TcpListener> for Listeners {
    fn from(socket: TcpListener) -> Self {
        vec![socket].into()
    }
}

/// A server without sockets waits until it is stopped.
impl From<Vec<TcpListener>> for Listeners {
    fn from(sockets: Vec<TcpListener>) -> Self {
        Self {
            sockets,
            next: AtomicUsize::new(0),
        }
    }
}

impl Listeners {
    /// Waits for a connection.
    pub(super) async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        loop {
            match poll_fn(|cx| self.poll_accept(cx)).await {
                Ok((stream, peer)) => {
                    // Responses are written whole, so Nagle's algorithm would only delay them.
                    stream.set_nodelay(true).ok();
                    return Ok((stream, peer));
                }
                Err(error) if is_about_one_connection(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let count = self.sockets.len();
        for turn in 0..count {
            let socket = &self.sockets[first.wrapping_add(turn) % count];
            if let Poll::Ready(accepted) = socket.poll_accept(cx) {
                return Poll::Ready(accepted);
            }
        }
        Poll::Pending
    }
}

fn is_about_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn socket() -> TcpListener {
        TcpListener::bind("127.0.0.1:0").await.expect("a port")
    }

    #[tokio::test]
    async fn connections_at_one_socket_do_not_wait_for_those_at_another() {
        let (busy, quiet) = (socket().await, socket().await);
        let at = [&busy, &quiet].map(|socket| socket.local_addr().expect("bound"));
        let listeners = Listeners::from(vec![busy, quiet]);
        let mut connections = Vec::new();
        for _ in 0..4 {
            connections.push(TcpStream::connect(at[0]).await.expect("connected"));
        }
        let late = TcpStream::connect(at[1]).await.expect("connected");
        let late = late.local_addr().expect("connected");
        let mut before = 0;
        while listeners.accept().await.expect("accepted").1 != late {
            before += 1;
        }
        assert!(before < 4, "{before} of the others came first");
    }
}
