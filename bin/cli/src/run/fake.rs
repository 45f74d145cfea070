//! A fake platform for tests: it sends prepared answers, and records the requests.

use std::{
    fmt::Write as _,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

/// A recorded request.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) body: String,
}

/// A server of prepared answers.
pub(super) struct Fake {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// An answer to a request: a status and a body.
pub(super) type Answer = (u16, String);

// === impl Fake ===

impl Fake {
    /// Starts a server that issues tokens and answers other requests with this function.
    pub(super) fn new(answer: impl Fn(&Asked) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&asked);
        // The thread ends with the process: it holds nothing that needs cleanup.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { continue };
                let _ = serve(stream, &record, &answer);
            }
        });
        Self { address, asked }
    }

    /// Returns the base URL of the API.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the requests so far, without token exchanges.
    pub(super) fn asked(&self) -> Vec<Asked> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let calls = asked
            .iter()
            .filter(|asked| !asked.path.ends_with("/oauth/token"));
        calls.cloned().collect()
    }

    /// Returns the requests so far, one line each.
    pub(super) fn lines(&self) -> Vec<String> {
        self.asked()
            .iter()
            .map(|asked| {
                format!("{} {} {}", asked.method, asked.path, asked.body)
                    .trim_end()
                    .to_owned()
            })
            .collect()
    }
}

fn serve(
    stream: TcpStream,
    record: &Mutex<Vec<Asked>>,
    answer: &impl Fn(&Asked) -> Answer,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(());
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next(), words.next());
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let header = header.trim_end().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let asked = Asked {
        method: method.unwrap_or_default(),
        path: path.unwrap_or_default(),
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    let (status, body) = if asked.path.ends_with("/oauth/token") {
        let token = r#"{"access_token":"t0ken","expires_in":3600,"token_type":"Bearer"}"#;
        (200, token.to_owned())
    } else {
        answer(&asked)
    };
    record
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(asked);
    let mut head = format!("HTTP/1.1 {status} Whatever\r\nconnection: close\r\n");
    let _ = write!(head, "content-type: application/json\r\n");
    let _ = write!(head, "content-length: {}\r\n\r\n", body.len());
    let mut stream = stream;
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    stream.flush()
}
