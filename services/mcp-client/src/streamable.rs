//! Requests over HTTP (Streamable HTTP, without the stream that GET opens).

use std::{
    collections::VecDeque,
    future::poll_fn,
    mem,
    sync::{Arc, Mutex, OnceLock},
    task::{Context, Poll, Waker, ready},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use ziggurat_mcp::protocol::Revision;
use ziggurat_text::events::EventDecoder;

use crate::{
    error::{ClientError, quote},
    headers::{self, SESSION},
    lock::lock,
    message::{self, Message},
    outgoing::Outgoing,
    service::{BoxBody, BoxResponse, HttpService},
};

/// Limit on cancellations that wait to be sent.
const MAX_CANCELLATIONS: usize = 64;

/// A server behind a URI.
pub(crate) struct Http {
    pub(crate) service: Arc<dyn HttpService>,
    pub(crate) uri: Uri,
    /// Headers that the program adds.
    pub(crate) headers: HeaderMap,
    pub(crate) max_bytes: usize,
    session: OnceLock<HeaderValue>,
    cancellations: Mutex<Cancellations>,
}

/// Cancellations that are being sent.
#[derive(Default)]
struct Cancellations {
    running: VecDeque<BoxResponse>,
    /// True if a task has taken them out to poll them.
    is_polled: bool,
}

/// A request over HTTP and its response.
pub(crate) struct HttpExchange {
    http: Arc<Http>,
    id: u64,
    revision: Option<Revision>,
    is_cancellable: bool,
    is_initialize: bool,
    state: State,
}

enum State {
    Sent(BoxResponse),
    Whole {
        status: StatusCode,
        body: BoxBody,
        read: Vec<u8>,
    },
    Events {
        body: BoxBody,
        decoder: EventDecoder,
        unread: Bytes,
    },
    Done,
}

// === impl Http ===

impl Http {
    pub(crate) fn new(
        service: Arc<dyn HttpService>,
        uri: Uri,
        headers: HeaderMap,
        max_bytes: usize,
    ) -> Self {
        Self {
            service,
            uri,
            headers,
            max_bytes,
            session: OnceLock::new(),
            cancellations: Mutex::default(),
        }
    }

    pub(crate) fn start(self: &Arc<Self>, request: Outgoing<'_>) -> HttpExchange {
        let is_initialize = request.method == "initialize";
        let mut headers = self.headers(request.revision);
        headers::add_routing(&mut headers, &request);
        let Outgoing {
            id, revision, body, ..
        } = request;
        HttpExchange {
            http: Arc::clone(self),
            id,
            revision,
            // In the modern revision, closing the response cancels the request.
            is_cancellable: !is_initialize && !revision.is_some_and(Revision::is_modern),
            is_initialize,
            state: State::Sent(self.call(Method::POST, headers, body)),
        }
    }

    /// Sends a message and waits until the server accepts it.
    pub(crate) async fn send(
        &self,
        revision: Option<Revision>,
        message: Bytes,
    ) -> Result<(), ClientError> {
        let response = self
            .call(Method::POST, self.headers(revision), message)
            .await;
        let response = response.map_err(ClientError::transport)?;
        if response.status().is_success() {
            // Read to its end, so that the connection can be used again.
            if !is_events(response.headers()) {
                let mut body = response.into_body();
                poll_fn(|cx| poll_drain(&mut body, cx)).await;
            }
            return Ok(());
        }
        let (status, body) = (response.status(), response.into_body());
        let mut whole = State::Whole {
            status,
            body,
            read: Vec::new(),
        };
        match poll_fn(|cx| whole.poll_whole(cx, self.max_bytes)).await? {
            Message::Answer {
                outcome: Err(error),
                ..
            } => Err(error),
            _ => Err(ClientError::unexpected("a result for a notification")),
        }
    }

    /// Polls the cancellations that are being sent.
    fn poll_cancellations(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut running = {
            let mut cancellations = lock(&self.cancellations);
            if cancellations.is_polled {
                // Another task polls them now, and this one looks again.
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            cancellations.is_polled = true;
            mem::take(&mut cancellations.running)
        };
        // Without the lock: the service is code of the program.
        running.retain_mut(|sending| sending.as_mut().poll(cx).is_pending());
        let mut cancellations = lock(&self.cancellations);
        cancellations.is_polled = false;
        running.append(&mut cancellations.running);
        cancellations.running = running;
        if cancellations.running.is_empty() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    /// Starts to cancel a request. Later requests, or a flush, send what does not leave at once.
    fn cancel(&self, id: u64, revision: Option<Revision>) {
        let headers = self.headers(revision);
        let mut sending = self.call(Method::POST, headers, message::cancelled(id));
        let mut cx = Context::from_waker(Waker::noop());
        if sending.as_mut().poll(&mut cx).is_pending() {
            let mut cancellations = lock(&self.cancellations);
            if cancellations.running.len() >= MAX_CANCELLATIONS {
                cancellations.running.pop_front();
            }
            cancellations.running.push_back(sending);
        }
    }

    pub(crate) async fn flush(&self) {
        poll_fn(|cx| self.poll_cancellations(cx)).await;
    }

    /// Ends the session, if the server has opened one.
    pub(crate) async fn close(&self, revision: Revision) -> Result<(), ClientError> {
        self.flush().await;
        if self.session.get().is_some() {
            let headers = self.headers(Some(revision));
            // Servers may refuse it: they end sessions in their own time.
            let response = self.call(Method::DELETE, headers, Bytes::new()).await;
            response.map_err(ClientError::transport)?;
        }
        Ok(())
    }

    fn headers(&self, revision: Option<Revision>) -> HeaderMap {
        let mut headers = self.headers.clone();
        headers::add_common(&mut headers, revision);
        if let Some(session) = self.session.get() {
            headers.insert(SESSION, session.clone());
        }
        headers
    }

    fn call(&self, method: Method, headers: HeaderMap, body: Bytes) -> BoxResponse {
        let mut request = Request::new(body.into());
        *request.method_mut() = method;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = headers;
        self.service.call(request)
    }
}

// === impl HttpExchange ===

impl HttpExchange {
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Message, ClientError>> {
        // Sent along with this request.
        if !lock(&self.http.cancellations).running.is_empty() {
            let _: Poll<()> = self.http.poll_cancellations(cx);
        }
        let max_bytes = self.http.max_bytes;
        if let State::Sent(response) = &mut self.state {
            let response = ready!(response.as_mut().poll(cx));
            let response = response.map_err(ClientError::transport)?;
            if self.is_initialize
                && let Some(session) = response.headers().get(SESSION)
            {
                self.http.session.set(session.clone()).ok();
            }
            self.state = State::of(response, max_bytes);
        }
        match &mut self.state {
            State::Events { .. } => self.state.poll_event(cx, max_bytes),
            _ => self.state.poll_whole(cx, max_bytes),
        }
    }

    pub(crate) fn finish(&mut self) {
        self.is_cancellable = false;
        self.state = State::Done;
    }
}

impl Drop for HttpExchange {
    fn drop(&mut self) {
        if mem::take(&mut self.is_cancellable) {
            self.http.cancel(self.id, self.revision);
        }
    }
}

// === impl State ===

impl State {
    fn of(response: Response<BoxBody>, max_bytes: usize) -> Self {
        let status = response.status();
        let is_events = status.is_success() && is_events(response.headers());
        let body = response.into_body();
        if is_events {
            Self::Events {
                body,
                decoder: EventDecoder::new().with_max_bytes(max_bytes),
                unread: Bytes::new(),
            }
        } else {
            Self::Whole {
                status,
                body,
                read: Vec::new(),
            }
        }
    }

    /// Reads a body that is one message.
    fn poll_whole(
        &mut self,
        cx: &mut Context<'_>,
        max_bytes: usize,
    ) -> Poll<Result<Message, ClientError>> {
        let Self::Whole { status, body, read } = self else {
            return Poll::Ready(Err(ClientError::Closed));
        };
        while let Some(frame) = ready!(body.as_mut().poll_frame(cx)) {
            let frame = frame.map_err(ClientError::transport)?;
            let Ok(data) = frame.into_data() else {
                continue;
            };
            if read.len() + data.len() > max_bytes {
                return Poll::Ready(Err(ClientError::TooLarge { max_bytes }));
            }
            read.extend_from_slice(&data);
        }
        let message = match Message::read(read) {
            Ok(message) if status.is_success() => Ok(message),
            Ok(
                message @ Message::Answer {
                    outcome: Err(_), ..
                },
            ) => Ok(message),
            Err(error) if status.is_success() && !read.is_empty() => Err(error),
            _ => Err(ClientError::Status {
                status: *status,
                body: quote(read),
            }),
        };
        *self = Self::Done;
        Poll::Ready(message)
    }

    /// Reads the next event of a stream.
    fn poll_event(
        &mut self,
        cx: &mut Context<'_>,
        max_bytes: usize,
    ) -> Poll<Result<Message, ClientError>> {
        let Self::Events {
            body,
            decoder,
            unread,
        } = self
        else {
            return Poll::Ready(Err(ClientError::Closed));
        };
        loop {
            let mut input = &unread[..];
            let event = decoder.decode(&mut input);
            let event = event.map_err(|_| ClientError::TooLarge { max_bytes })?;
            *unread = unread.slice(unread.len() - input.len()..);
            match event {
                // Servers open streams with an empty event, to give it an id.
                Some(data) if data.trim_ascii().is_empty() => {}
                Some(data) => return Poll::Ready(Message::read(&data)),
                None => match ready!(body.as_mut().poll_frame(cx)) {
                    Some(frame) => {
                        let frame = frame.map_err(ClientError::transport)?;
                        *unread = frame.into_data().unwrap_or_default();
                    }
                    None => return Poll::Ready(Err(ClientError::Closed)),
                },
            }
        }
    }
}

/// Reads a body to its end and drops what it says.
fn poll_drain(body: &mut BoxBody, cx: &mut Context<'_>) -> Poll<()> {
    while let Some(Ok(_)) = ready!(body.as_mut().poll_frame(cx)) {}
    Poll::Ready(())
}

fn is_events(headers: &HeaderMap) -> bool {
    let media_type = headers.get(header::CONTENT_TYPE);
    let media_type = media_type.map_or(&b""[..], HeaderValue::as_bytes);
    let essence = media_type.split(|&byte| byte == b';').next();
    essence.is_some_and(|it| it.trim_ascii().eq_ignore_ascii_case(b"text/event-stream"))
}
