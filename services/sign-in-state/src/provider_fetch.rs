//! Sends requests to the providers that the administrator chose.

use std::{error::Error, path::Path, time::Duration};

use bytes::Bytes;
use http::{Request, Response};
use reqwest::{Client, redirect::Policy};
use ziggurat_mcp_auth::AskProvider;

use crate::guarded_fetch::{GuardedFetchError, answer, certificates};

/// Longest answer.
const LONGEST: usize = 1 << 20;

/// Time for a whole request.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sends requests to providers. Their addresses may be private ones, and a proxy may be on the way.
#[derive(Clone, Debug)]
pub struct ProviderFetch {
    client: Client,
}

// === impl ProviderFetch ===

impl ProviderFetch {
    /// Creates a sender that trusts the authorities of the platform, and more in a file in PEM form.
    ///
    /// # Errors
    /// Fails if the file cannot be read or has something else than certificates.
    pub fn new(ca_file: Option<&Path>) -> Result<Self, GuardedFetchError> {
        let client = Client::builder()
            // A code or a secret goes to the provider alone.
            .redirect(Policy::none())
            .referer(false)
            .timeout(PATIENCE)
            .user_agent(concat!("ziggurat/", env!("CARGO_PKG_VERSION")))
            .tls_certs_merge(certificates(ca_file)?)
            .build();
        Ok(Self {
            client: client.map_err(GuardedFetchError::Tls)?,
        })
    }
}

impl AskProvider for ProviderFetch {
    async fn ask(
        &self,
        request: Request<Bytes>,
    ) -> Result<Response<Bytes>, Box<dyn Error + Send + Sync>> {
        let request = request.try_into()?;
        let sent = self.client.execute(request).await;
        answer(sent.map_err(reqwest::Error::without_url)?, LONGEST).await
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
        task::JoinSet,
    };

    use super::*;

    /// Answers one request with this, and returns the request.
    async fn exchanged(head: &str, body: usize) -> (Option<Response<Bytes>>, String) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let answer = format!("{head}content-length: {body}\r\n\r\n{}", "x".repeat(body));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut seen = Vec::new();
            while !seen.ends_with(b"code=c0de") {
                let read = stream.read_buf(&mut seen).await.expect("a request");
                assert!(read > 0, "the end");
            }
            // The reader may stop before the end.
            let _ = stream.write_all(answer.as_bytes()).await;
            String::from_utf8(seen).expect("UTF-8")
        });
        let request = Request::post(format!("http://{address}/token"))
            .header("authorization", "Basic eA==")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Bytes::from_static(b"code=c0de"));
        let fetch = ProviderFetch::new(None).expect("a sender");
        let answer = fetch.ask(request.expect("a request")).await.ok();
        let seen = tasks.join_next().await.expect("a task").expect("no panic");
        (answer, seen)
    }

    #[tokio::test]
    async fn a_request_is_sent_as_it_is_and_its_answer_returned_whatever_it_says() {
        let head = "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n";
        let (answer, seen) = exchanged(head, 9).await;
        let answer = answer.expect("an answer");
        assert_eq!((answer.status().as_u16(), answer.body().len()), (400, 9));
        assert!(seen.starts_with("POST /token HTTP/1.1"), "{seen}");
        assert!(seen.contains("authorization: Basic eA=="), "{seen}");
    }

    #[tokio::test]
    async fn a_redirect_is_not_followed_and_a_long_answer_is_not_read() {
        let head = "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/\r\n";
        let (answer, _) = exchanged(head, 0).await;
        assert_eq!(answer.expect("an answer").status().as_u16(), 307);
        let (answer, _) = exchanged("HTTP/1.1 200 OK\r\n", LONGEST + 1).await;
        assert!(answer.is_none());
        let (answer, _) = exchanged("HTTP/1.1 200 OK\r\n", LONGEST).await;
        assert_eq!(answer.expect("an answer").body().len(), LONGEST);
    }
}
