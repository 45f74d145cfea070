//! A client that uses little processor time.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rustix::{
    buffer::spare_capacity,
    event::epoll::{self, CreateFlags, Event, EventData, EventFlags},
};

/// Keeps connections busy: each sends the same request again as soon as it is answered.
///
/// One thread, one `epoll` for all connections, one read and one write per request; nothing is
/// allocated. Of an answer it checks the status and the length.
#[derive(Debug)]
pub struct Load {
    request: Vec<u8>,
    connections: Vec<Connection>,
    /// The `epoll`; its data are indices of connections.
    watch: OwnedFd,
}

#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
    length: usize,
}

// === impl Load ===

impl Load {
    /// Opens `connections` connections.
    ///
    /// # Panics
    /// Panics when the server does not listen.
    #[must_use]
    pub fn new(address: &str, connections: usize, request: Vec<u8>) -> Self {
        let connect = || {
            let stream = TcpStream::connect(address).expect("listening");
            stream.set_nodelay(true).expect("set");
            Connection {
                stream,
                received: vec![0; 1 << 20],
                length: 0,
            }
        };
        let connections: Vec<_> = (0..connections).map(|_| connect()).collect();
        let watch = epoll::create(CreateFlags::CLOEXEC).expect("a descriptor");
        for (number, connection) in (0..).zip(&connections) {
            let data = EventData::new_u64(number);
            epoll::add(&watch, &connection.stream, data, EventFlags::IN).expect("watched");
        }
        Self {
            request,
            connections,
            watch,
        }
    }

    /// Sends another request from now on.
    pub fn set_request(&mut self, request: Vec<u8>) {
        self.request = request;
    }

    /// Sends one request and returns the answer with its head.
    ///
    /// # Panics
    /// Panics when the answer is not a success.
    pub fn once(&mut self) -> String {
        let connection = &mut self.connections[0];
        connection.ask(&self.request);
        while !connection.is_complete_after_read() {}
        String::from_utf8_lossy(&connection.received[..connection.length]).into_owned()
    }

    /// Returns the answers per second over `time`.
    ///
    /// # Panics
    /// Panics when an answer is not a success.
    pub fn rate(&mut self, time: Duration) -> f64 {
        let begun = Instant::now();
        for connection in &mut self.connections {
            connection.ask(&self.request);
        }
        let mut busy = self.connections.len();
        let mut events: Vec<Event> = Vec::with_capacity(busy);
        let mut answers = 0_u32;
        while busy > 0 {
            events.clear();
            epoll::wait(&self.watch, spare_capacity(&mut events), None).expect("ours");
            let is_over = begun.elapsed() >= time;
            for event in &events {
                let number = usize::try_from(event.data.u64()).expect("a small one");
                let connection = &mut self.connections[number];
                if !connection.is_complete_after_read() {
                    continue;
                }
                answers += 1;
                if is_over {
                    busy -= 1;
                } else {
                    connection.ask(&self.request);
                }
            }
        }
        f64::from(answers) / begun.elapsed().as_secs_f64()
    }
}

// === impl Connection ===

impl Connection {
    fn ask(&mut self, request: &[u8]) {
        self.length = 0;
        self.stream.write_all(request).expect("sent");
    }

    /// Reads more of the answer; returns whether it is complete.
    fn is_complete_after_read(&mut self) -> bool {
        let read = self.stream.read(&mut self.received[self.length..]);
        let read = read.expect("answered");
        assert!(read > 0, "the server hung up");
        self.length += read;
        let received = &self.received[..self.length];
        let Some(end) = received.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
            return false;
        };
        let text = || String::from_utf8_lossy(received);
        assert!(received.starts_with(b"HTTP/1.1 200 "), "{}", text());
        let Some(length) = content_length(&received[..end]) else {
            // The body is chunked; the last chunk is empty.
            return received.ends_with(b"\r\n0\r\n\r\n");
        };
        let whole = end + 4 + length;
        assert!(self.length <= whole, "too long: {}", text());
        self.length == whole
    }
}

fn content_length(head: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"\r\ncontent-length: ";
    let at = head.windows(NAME.len()).position(|bytes| bytes == NAME)?;
    let digits = head[at + NAME.len()..]
        .split(|&byte| byte == b'\r')
        .next()?;
    str::from_utf8(digits).ok()?.parse().ok()
}
