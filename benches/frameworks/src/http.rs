//! An HTTP/1.1 connection that costs little: one write and one read for most requests.

use std::io;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// A connection that is used again and again.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
    /// The body of the last response, if it was chunked.
    joined: Vec<u8>,
}

/// A response; its body is valid until the next request.
#[derive(Debug)]
pub(crate) struct Response<'a> {
    pub(crate) status: u16,
    pub(crate) head: &'a [u8],
    pub(crate) body: &'a [u8],
}

/// Description of a body in a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Bytes(usize),
    Chunked,
}

// === impl Connection ===

impl Connection {
    pub(crate) async fn open(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            received: Vec::with_capacity(1 << 16),
            joined: Vec::new(),
        })
    }

    /// Sends a request and waits for its response.
    pub(crate) async fn send(&mut self, request: &[u8]) -> io::Result<Response<'_>> {
        self.received.clear();
        self.joined.clear();
        self.stream.write_all(request).await?;
        let end = loop {
            self.read().await?;
            if let Some(end) = find(&self.received, b"\r\n\r\n") {
                break end;
            }
        };
        let head = end + 4;
        let status = status(&self.received)?;
        let body = match length(&self.received[..end])? {
            Length::Bytes(length) => {
                while self.received.len() < head + length {
                    self.read().await?;
                }
                head..head + length
            }
            Length::Chunked => {
                self.read_chunks(head).await?;
                0..0
            }
        };
        let is_chunked = body.is_empty() && !self.joined.is_empty();
        Ok(Response {
            status,
            head: &self.received[..head],
            body: if is_chunked {
                &self.joined
            } else {
                &self.received[body]
            },
        })
    }

    /// Joins the chunks that start at `at`, and reads up to the last one.
    async fn read_chunks(&mut self, mut at: usize) -> io::Result<()> {
        loop {
            let line = loop {
                if let Some(line) = find(&self.received[at..], b"\r\n") {
                    break line;
                }
                self.read().await?;
            };
            let size = str::from_utf8(&self.received[at..at + line]).map_err(io::Error::other)?;
            let size = usize::from_str_radix(size.trim(), 16).map_err(io::Error::other)?;
            let start = at + line + 2;
            while self.received.len() < start + size + 2 {
                self.read().await?;
            }
            let chunk = &self.received[start..start + size];
            self.joined.extend_from_slice(chunk);
            at = start + size + 2;
            if size == 0 {
                return Ok(());
            }
        }
    }

    async fn read(&mut self) -> io::Result<()> {
        if self.stream.read_buf(&mut self.received).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

// === impl Response ===

impl Response<'_> {
    /// The value of a header; `name` is in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let head = str::from_utf8(self.head).ok()?;
        head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

fn status(head: &[u8]) -> io::Result<u16> {
    let digits = head
        .strip_prefix(b"HTTP/1.1 ")
        .and_then(|rest| rest.get(..3));
    let status = digits.and_then(|digits| str::from_utf8(digits).ok()?.parse().ok());
    status.ok_or_else(|| io::Error::other("not HTTP/1.1"))
}

fn length(head: &[u8]) -> io::Result<Length> {
    for line in head.split(|&byte| byte == b'\n').skip(1) {
        let Some(colon) = line.iter().position(|&byte| byte == b':') else {
            continue;
        };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            let length = str::from_utf8(value).map_err(io::Error::other)?;
            return Ok(Length::Bytes(length.parse().map_err(io::Error::other)?));
        }
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            return Ok(Length::Chunked);
        }
    }
    Ok(Length::Bytes(0))
}

fn find(bytes: &[u8], end: &[u8]) -> Option<usize> {
    bytes.windows(end.len()).position(|window| window == end)
}
