//! The address of this machine that a browser comes back to after a sign-in (RFC 8252).

use std::{collections::BTreeMap, io, time::Duration};

use percent_encoding::percent_decode_str;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time,
};

/// The path that the browser comes back to.
const PATH: &str = "/callback";

/// Longest request that is read.
const LONGEST: usize = 16 * 1024;

/// Longest wait for the request of a connection.
const REQUEST: Duration = Duration::from_secs(10);

/// Waits for a browser that comes back.
#[derive(Debug)]
pub(super) struct Loopback {
    listener: TcpListener,
}

/// Parameters that the browser brings.
pub(super) type Parameters = BTreeMap<String, String>;

// === impl Loopback ===

impl Loopback {
    /// Listens on any port of this machine.
    pub(super) async fn bind() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        Ok(Self { listener })
    }

    /// Returns the address to come back to.
    pub(super) fn redirect(&self) -> io::Result<String> {
        let port = self.listener.local_addr()?.port();
        Ok(format!("http://127.0.0.1:{port}{PATH}"))
    }

    /// Returns the parameters of the browser that has this state. Other requests get an error, and do
    /// not end the wait.
    pub(super) async fn answer(&self, state: &str) -> io::Result<Parameters> {
        let mut requests = JoinSet::new();
        loop {
            let (stream, target) = tokio::select! {
                accepted = self.listener.accept() => {
                    let (stream, _) = accepted?;
                    requests.spawn(time::timeout(REQUEST, request(stream)));
                    continue;
                }
                Some(read) = requests.join_next() => match read {
                    Ok(Ok(Ok(found))) => found,
                    _ => continue,
                },
            };
            let parameters = parameters(&target);
            let found = parameters.filter(|it| it.get("state").is_some_and(|it| it == state));
            let (status, text) = match &found {
                Some(it) if it.contains_key("code") => {
                    ("200 OK", "You are signed in. You can close this page.")
                }
                Some(_) => ("200 OK", "You are not signed in. You can close this page."),
                None => ("404 Not Found", "There is nothing here."),
            };
            // A browser that is gone has brought its parameters all the same.
            let _ = time::timeout(REQUEST, reply(stream, status, text)).await;
            if let Some(found) = found {
                return Ok(found);
            }
        }
    }
}

/// Reads the target of a request.
async fn request(mut stream: TcpStream) -> io::Result<(TcpStream, String)> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut part = [0; 1024];
        let count = stream.read(&mut part).await?;
        if count == 0 || head.len() > LONGEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        head.extend_from_slice(&part[..count]);
    }
    let head = String::from_utf8_lossy(&head);
    let mut words = head.split(' ');
    let target = match (words.next(), words.next()) {
        (Some("GET"), Some(target)) => target.to_owned(),
        _ => String::new(),
    };
    Ok((stream, target))
}

async fn reply(mut stream: TcpStream, status: &str, text: &str) -> io::Result<()> {
    let page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Ziggurat</title>\
         </head><body><p>{text}</p></body></html>\n"
    );
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\ncontent-security-policy: default-src 'none'\r\n\
         referrer-policy: no-referrer\r\nconnection: close\r\n\r\n{page}",
        page.len()
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}

/// Returns the parameters of the one path; `None` for another path, or a parameter twice.
fn parameters(target: &str) -> Option<Parameters> {
    let (path, query) = target.split_once('?')?;
    if path != PATH {
        return None;
    }
    let mut parameters = Parameters::new();
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=')?;
        let value = value.replace('+', " ");
        let value = percent_decode_str(&value).decode_utf8().ok()?.into_owned();
        if parameters.insert(name.to_owned(), value).is_some() {
            return None;
        }
    }
    Some(parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_one_path_brings_parameters_and_each_once() {
        let found = parameters("/callback?code=zac_1&state=a%2Fb+c").expect("parameters");
        assert_eq!(found["code"], "zac_1");
        assert_eq!(found["state"], "a/b c");
        for target in [
            "",
            "/callback",
            "/other?code=1",
            "/callback/?code=1",
            "/callback?code=1&code=2",
            "/callback?code",
            "/callback?code=%ff",
        ] {
            assert!(parameters(target).is_none(), "{target}");
        }
    }
}
