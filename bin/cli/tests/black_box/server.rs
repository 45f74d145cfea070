//! A test server that sends prepared answers, and records the requests.

use std::{
    fmt::Write as _,
    io::{BufRead as _, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// A recorded request.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    /// Target from the request line.
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

/// Answer to a request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// A status, headers and a body.
    With(u16, Vec<(&'static str, String)>, String),
    /// Raw bytes, and then the end of the connection.
    Bytes(Vec<u8>),
    /// The connection ends without a response.
    Close,
    /// No response until the client disconnects.
    Hang,
}

/// A running server; its threads end with the test's process.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
}

pub(crate) const TOKEN_PATH: &str = "/account/v1/oauth/token";

// === impl Seen ===

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(header, _)| header.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn is_exchange(&self) -> bool {
        self.target.ends_with(TOKEN_PATH)
    }
}

// === impl Reply ===

impl Reply {
    pub(crate) fn json(status: u16, body: &str) -> Self {
        let kind = ("Content-Type", "application/json".to_owned());
        Self::With(status, vec![kind], body.to_owned())
    }

    pub(crate) fn token(token: &str, expires_in: u64) -> Self {
        Self::json(
            200,
            &format!(
                r#"{{"access_token":"{token}","expires_in":{expires_in},"token_type":"Bearer"}}"#
            ),
        )
    }
}

// === impl Server ===

impl Server {
    /// Starts a server that answers all requests with this function.
    pub(crate) fn answering(answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        Self::over(Some, answer)
    }

    /// Starts a platform: it exchanges any credential for `live-token-<n>`, n counted from 1, and
    /// answers other requests with this function.
    pub(crate) fn platform(answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let exchanged = Mutex::new(0);
        Self::answering(move |seen| {
            if seen.is_exchange() {
                let mut exchanged = exchanged.lock().expect("a count");
                *exchanged += 1;
                return Reply::token(&format!("live-token-{exchanged}"), 3600);
            }
            answer(seen)
        })
    }

    /// Starts a server with this answer for token exchanges, and this function for other requests.
    pub(crate) fn exchanging(
        token: Reply,
        answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::answering(move |seen| {
            if seen.is_exchange() {
                token.clone()
            } else {
                answer(seen)
            }
        })
    }

    /// Starts such a server with a wrapper around its connections, such as TLS.
    pub(crate) fn over<S: Read + Write + Send + 'static>(
        accept: impl Fn(TcpStream) -> Option<S> + Send + Sync + 'static,
        answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let server = Self {
            port,
            seen: Arc::clone(&seen),
        };
        let shared = Arc::new((accept, answer));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, shared) = (Arc::clone(&seen), Arc::clone(&shared));
                thread::spawn(move || {
                    if let Some(stream) = (shared.0)(stream) {
                        serve(stream, &seen, &shared.1);
                    }
                });
            }
        });
        server
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns all requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("a list").clone()
    }

    /// Returns the token exchanges so far.
    pub(crate) fn exchanges(&self) -> Vec<Seen> {
        let seen = self.seen().into_iter();
        seen.filter(Seen::is_exchange).collect()
    }

    /// Returns the requests so far, without token exchanges.
    pub(crate) fn calls(&self) -> Vec<Seen> {
        let seen = self.seen().into_iter();
        seen.filter(|seen| !seen.is_exchange()).collect()
    }
}

fn serve<S: Read + Write>(stream: S, seen: &Mutex<Vec<Seen>>, answer: &impl Fn(&Seen) -> Reply) {
    let mut stream = BufReader::new(stream);
    while let Some(request) = read(&mut stream) {
        seen.lock().expect("a list").push(request.clone());
        let bytes = match answer(&request) {
            Reply::With(status, headers, body) => rendered(status, &headers, &body),
            Reply::Bytes(bytes) => {
                let _ = stream.get_mut().write_all(&bytes);
                return;
            }
            Reply::Close => return,
            Reply::Hang => {
                // Ends when the client gives up.
                let _ = stream.read(&mut [0]);
                return;
            }
        };
        if stream.get_mut().write_all(&bytes).is_err() {
            return;
        }
        let _ = stream.get_mut().flush();
    }
}

fn rendered(status: u16, headers: &[(&str, String)], body: &str) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} X\r\n");
    for (name, value) in headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    if status != 204 {
        let _ = write!(head, "Content-Length: {}\r\n", body.len());
    }
    format!("{head}\r\n{body}").into_bytes()
}

fn read<S: Read>(stream: &mut BufReader<S>) -> Option<Seen> {
    let mut line = String::new();
    stream.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let mut seen = Seen {
        method,
        target,
        headers,
        body: String::new(),
    };
    let length = seen.header("content-length").map_or(0, |length| {
        length.parse::<usize>().expect("a number of bytes")
    });
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    seen.body = String::from_utf8(body).expect("text");
    Some(seen)
}
