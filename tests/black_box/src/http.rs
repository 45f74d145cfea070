//! A minimal HTTP client that shows the whole response.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpStream},
};

use serde_json::{Value, json};
use tokio::net::TcpSocket;

use crate::{connect, waiting::patient};

/// A client with one connection per request.
#[derive(Clone, Debug)]
pub struct Client {
    address: String,
    source: Option<Ipv4Addr>,
    token: Option<String>,
}

/// The answer of a server.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The status line and the headers.
    pub head: String,
    /// The body, unchunked.
    pub body: String,
}

impl Client {
    /// A client of the server at this address.
    pub fn new(address: String) -> Self {
        Self {
            address,
            source: None,
            token: None,
        }
    }

    /// The same client, with this bearer token.
    pub fn bearing(&self, token: &str) -> Self {
        Self {
            token: Some(token.to_owned()),
            ..self.clone()
        }
    }

    /// The same client, with another source address.
    pub fn calling_from(&self, source: Ipv4Addr) -> Self {
        Self {
            source: Some(source),
            ..self.clone()
        }
    }

    /// The address of the server.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Its bearer token.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// The same client, for the server of another client.
    pub fn at(&self, other: &Self) -> Self {
        Self {
            address: other.address.clone(),
            ..self.clone()
        }
    }

    /// Sends a request with these header lines, each ended by CRLF.
    pub fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let mut stream = self.connect();
        let length = body.len();
        let token = self.token.as_ref();
        let authorization = token.map_or_else(String::new, |token| {
            format!("authorization: Bearer {token}\r\n")
        });
        let address = &self.address;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\n{authorization}{headers}\
             connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("answered");
        Answer::parse(&answer)
    }

    /// Sends bytes unchanged, and reads until the server closes the connection.
    pub fn exchange(&self, bytes: &[u8]) -> Answer {
        let mut stream = connect(&self.address);
        // A server may close the connection before it has read all.
        stream.write_all(bytes).ok();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok();
        Answer::parse(&answer)
    }

    /// Posts a message, and waits only for the beginning of the answer.
    pub fn begin(&self, path: &str, body: &str) -> TcpStream {
        let mut stream = connect(&self.address);
        let (address, length) = (&self.address, body.len());
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).expect("sent");
        stream.read_exact(&mut [0; 1024]).expect("answered");
        stream
    }

    /// Posts a message with these header lines, and reads until the answer holds `needle`.
    pub fn open(&self, path: &str, headers: &str, body: &str, needle: &str) -> TcpStream {
        let mut stream = connect(&self.address);
        let (address, length) = (&self.address, body.len());
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\n{headers}content-length: {length}\r\n\r\n\
             {body}"
        );
        stream.write_all(request.as_bytes()).expect("sent");
        let (mut answer, mut piece) = (String::new(), [0; 1024]);
        while !answer.contains(needle) {
            let read = match stream.read(&mut piece) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => read.expect("answered"),
            };
            assert!(read > 0, "{needle} in {answer}");
            answer.push_str(&String::from_utf8_lossy(&piece[..read]));
        }
        stream
    }

    fn connect(&self) -> TcpStream {
        let Some(source) = self.source else {
            return connect(&self.address);
        };
        let address = self.address.parse().expect("an address");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .expect("a runtime");
        let stream = runtime.block_on(async {
            let socket = TcpSocket::new_v4()?;
            socket.bind(SocketAddr::from((source, 0)))?;
            socket.connect(address).await?.into_std()
        });
        let stream = stream.expect("listening");
        stream.set_nonblocking(false).expect("set");
        patient(stream)
    }

    /// Gets a path.
    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, "", "")
    }

    /// Posts JSON.
    pub fn post(&self, path: &str, body: &str) -> Answer {
        self.send("POST", path, "content-type: application/json\r\n", body)
    }

    /// Posts a JSON-RPC message, and parses the answer.
    pub fn call(&self, method: &str, params: &Value) -> Value {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = self.post("/mcp/v1", &call.to_string());
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// Calls a tool; returns its text, and whether it is an error.
    pub fn tool(&self, name: &str, arguments: &Value) -> (String, bool) {
        let answer = self.call("tools/call", &json!({"name": name, "arguments": arguments}));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("a text in {answer}"));
        (text.to_owned(), result["isError"] == true)
    }

    /// Runs a statement that must succeed.
    pub fn query(&self, query: &str) -> String {
        let (text, is_error) = self.tool("query_database", &json!({"query": query}));
        assert!(!is_error, "{text}");
        text
    }

    /// Logs in; returns the whole answer.
    pub fn login(&self, username: &str, password: &str) -> Answer {
        let arguments = json!({"username": username, "password": password});
        let params = json!({"name": "authenticate_user", "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        self.post("/mcp/v1", &call.to_string())
    }

    /// Logs in; returns a client with the session's token.
    pub fn logged_in(&self, username: &str, password: &str) -> Self {
        let answer = self.login(username, password).json();
        let text = answer["result"]["content"][0]["text"].as_str();
        let session: Value = text
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_else(|| panic!("a session in {answer}"));
        self.bearing(session["session_token"].as_str().expect("a token"))
    }
}

impl Answer {
    fn parse(bytes: &[u8]) -> Self {
        let split = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        let split = split.unwrap_or_else(|| panic!("a head in {bytes:?}"));
        let head = String::from_utf8(bytes[..split].to_vec()).expect("text");
        let rest = &bytes[split + 4..];
        let is_chunked = head
            .to_ascii_lowercase()
            .contains("transfer-encoding: chunked");
        let body = if is_chunked {
            unchunked(rest)
        } else {
            rest.to_vec()
        };
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        Self {
            status: status.unwrap_or_else(|| panic!("a status in {head}")),
            head,
            body: String::from_utf8(body).expect("text"),
        }
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The value of a header, if it is there.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|window| window == b"\r\n");
        let end = end.expect("the size of a chunk");
        let size = str::from_utf8(&rest[..end]).expect("digits");
        let size = usize::from_str_radix(size, 16).expect("a size");
        if size == 0 {
            return body;
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 2 + size + 2..];
    }
}
