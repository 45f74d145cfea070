//! Requests that are sent in part, and answers that may be cut off.

use std::{
    io::{self, Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::net::TcpSocket;

use crate::support::PATIENCE;

/// Response to a request.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) body: String,
}

/// Builds a call of a tool.
pub(super) fn tool(name: &str, arguments: &Value) -> String {
    let params = json!({"name": name, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

/// Builds a call that runs a query.
pub(super) fn query(text: &str) -> String {
    tool("query_database", &json!({"query": text}))
}

/// Returns the bytes of a request.
pub(super) fn request(token: &str, body: &str) -> String {
    post(&format!("authorization: Bearer {token}\r\n"), body)
}

fn post(authorization: &str, body: &str) -> String {
    format!(
        "POST /mcp/v1 HTTP/1.1\r\nhost: localhost\r\n{authorization}\
         content-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Sends a request and reads the whole response; a cut-off response is an error.
pub(super) fn ask(address: &str, token: &str, body: &str) -> io::Result<Reply> {
    answer(TcpStream::connect(address)?, &request(token, body))
}

/// Sends a login call, without a token.
pub(super) fn log_in(address: &str, body: &str) -> io::Result<Reply> {
    answer(TcpStream::connect(address)?, &post("", body))
}

/// Sends a login call from another loopback address, with a timeout for the response.
pub(super) fn log_in_from(
    source: Ipv4Addr,
    address: &str,
    body: &str,
    patience: Duration,
) -> io::Result<Reply> {
    answer_within(patience, connect_from(source, address)?, &post("", body))
}

fn answer(stream: TcpStream, request: &str) -> io::Result<Reply> {
    answer_within(PATIENCE, stream, request)
}

fn answer_within(patience: Duration, mut stream: TcpStream, request: &str) -> io::Result<Reply> {
    stream.set_read_timeout(Some(patience))?;
    stream.write_all(request.as_bytes())?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    Reply::parse(&bytes).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

fn connect_from(source: Ipv4Addr, address: &str) -> io::Result<TcpStream> {
    let address = address.parse().expect("an address");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let stream = runtime.block_on(async {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from((source, 0)))?;
        socket.connect(address).await?.into_std()
    })?;
    stream.set_nonblocking(false)?;
    Ok(stream)
}

impl Reply {
    /// Parses a response; returns `None` if it is not complete.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
        let head = str::from_utf8(&bytes[..end]).ok()?.to_ascii_lowercase();
        let rest = &bytes[end + 4..];
        let body = if head.contains("transfer-encoding: chunked") {
            unchunked(rest)?
        } else {
            let length = head.split("content-length: ").nth(1)?.lines().next()?;
            let is_whole = length.parse() == Ok(rest.len());
            is_whole.then(|| rest.to_vec())?
        };
        Some(Self {
            status: head.split(' ').nth(1)?.parse().ok()?,
            body: String::from_utf8(body).ok()?,
        })
    }

    /// Returns the text of a tool result, and whether it is an error.
    pub(super) fn said(&self) -> (String, bool) {
        assert_eq!(self.status, 200, "{self:?}");
        let answer: Value = serde_json::from_str(&self.body).expect("JSON");
        if let Some(error) = answer.get("error") {
            return (error.to_string(), true);
        }
        let text = answer["result"]["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("a text in {answer}"));
        (text.to_owned(), answer["result"]["isError"] == true)
    }
}

fn unchunked(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|window| window == b"\r\n")?;
        let size = usize::from_str_radix(str::from_utf8(&rest[..end]).ok()?, 16).ok()?;
        if size == 0 {
            return (&rest[end..] == b"\r\n\r\n").then_some(body);
        }
        body.extend_from_slice(rest.get(end + 2..end + 2 + size)?);
        rest = rest.get(end + 4 + size..)?;
    }
}
