use std::{convert::Infallible, future::ready, time::Duration};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};
use tower::service_fn;

use crate::{
    Limits, RequestBody, Server,
    tests::{Running, limits, start_service},
};

const PATIENCE: Duration = Duration::from_secs(20);

// Types of frames, and one flag (RFC 9113, section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// A client that writes its frames itself, because libraries hide them.
struct Client(TcpStream);

/// A frame of the stream that the client has opened.
#[derive(Debug, PartialEq, Eq)]
struct Frame {
    kind: u8,
    is_last: bool,
    payload: Vec<u8>,
}

impl Client {
    /// Begins a POST; `length` is its content length.
    async fn posting(server: &Running, length: Option<&str>) -> Self {
        let mut client = Self(server.connect().await);
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        client.0.write_all(preface).await.expect("heard");
        client.send(SETTINGS, 0, 0, &[]).await;
        // `:method: POST`, `:scheme: http`, `:path: /`, `:authority: t` (RFC 7541, appendix A).
        let mut head = vec![0x83, 0x86, 0x84, 0x41, 1, b't'];
        if let Some(length) = length {
            head.extend([0x0f, 0x0d, u8::try_from(length.len()).expect("short")]);
            head.extend(length.as_bytes());
        }
        client.send(HEADERS, END_HEADERS, 1, &head).await;
        client
    }

    async fn send(&mut self, kind: u8, flags: u8, stream: u8, payload: &[u8]) {
        let [.., high, middle, low] = payload.len().to_be_bytes();
        let head = [high, middle, low, kind, flags, 0, 0, 0, stream];
        let frame = [&head, payload].concat();
        self.0.write_all(&frame).await.expect("heard");
    }

    async fn read(&mut self) -> (u8, u8, u8, Vec<u8>) {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).await.expect("a frame");
        let [high, middle, low, kind, flags, .., stream] = head;
        let length = u32::from_be_bytes([0, high, middle, low]);
        let mut payload = vec![0; usize::try_from(length).expect("short")];
        self.0.read_exact(&mut payload).await.expect("a frame");
        (kind, flags, stream, payload)
    }

    /// Returns the next frame of the stream, without window updates.
    async fn next(&mut self) -> Frame {
        let reading = async {
            loop {
                let (kind, flags, stream, payload) = self.read().await;
                if stream == 1 && matches!(kind, DATA | HEADERS | RST_STREAM) {
                    let is_last = kind != RST_STREAM && flags & END_STREAM != 0;
                    return Frame {
                        kind,
                        is_last,
                        payload,
                    };
                }
            }
        };
        timeout(PATIENCE, reading).await.expect("in time")
    }

    /// Returns the frames of the stream that arrive before the response to a ping.
    async fn rest(&mut self) -> Vec<u8> {
        self.send(PING, 0, 0, &[7; 8]).await;
        let reading = async {
            let mut kinds = Vec::new();
            loop {
                match self.read().await {
                    (PING, ..) => return kinds,
                    (kind @ (DATA | HEADERS | RST_STREAM), _, 1, _) => kinds.push(kind),
                    _ => {}
                }
            }
        };
        timeout(PATIENCE, reading).await.expect("in time")
    }

    /// Reads the rejection up to the end of its text, which is not the end of the stream.
    async fn refused(&mut self) {
        let head = self.next().await;
        assert_eq!((head.kind, head.is_last), (HEADERS, false));
        let text = self.next().await;
        assert_eq!((text.kind, &*text.payload), (DATA, &b"no"[..]));
        assert!(!text.is_last, "the request has not ended");
    }
}

/// Starts a server that reads no body.
async fn refusing(limits: Limits) -> Running {
    let service = service_fn(|_: Request<RequestBody>| {
        let refusal = Response::new(Full::<Bytes>::from("no"));
        ready(Ok::<_, Infallible>(refusal))
    });
    start_service(Server::new(limits), service).await
}

#[tokio::test]
async fn a_refusal_ends_its_stream_after_the_request_and_never_resets_it() {
    let server = refusing(limits()).await;
    for pieces in [&[&b""[..]][..], &[b"abc", b"", b"def"]] {
        let mut client = Client::posting(&server, None).await;
        client.refused().await;
        let (last, others) = pieces.split_last().expect("a piece");
        for piece in others {
            client.send(DATA, 0, 1, piece).await;
        }
        client.send(DATA, END_STREAM, 1, last).await;
        let end = client.next().await;
        assert_eq!((end.kind, end.is_last, end.payload.len()), (DATA, true, 0));
        let more = client.rest().await;
        assert!(more.is_empty(), "a reset: {more:?}");
    }
}

#[tokio::test]
async fn a_refusal_does_not_wait_long_for_a_request_that_pauses_or_is_large() {
    let limits = Limits {
        linger_bytes: 1000,
        ..limits()
    };
    let server = refusing(limits).await;
    for (length, sent) in [(None, 10), (None, 2000), (Some("5000"), 10)] {
        let mut client = Client::posting(&server, length).await;
        client.send(DATA, 0, 1, &vec![b'x'; sent]).await;
        client.refused().await;
        let end = client.next().await;
        let case = format!("{length:?}, {sent}");
        assert_eq!((end.kind, end.is_last), (DATA, true), "{case}");
        let reset = client.next().await;
        // NO_ERROR: the response is valid, and the rest of the request is not needed.
        assert_eq!(
            (reset.kind, &*reset.payload),
            (RST_STREAM, &[0; 4][..]),
            "{case}"
        );
    }
}
