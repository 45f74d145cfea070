//! Server-sent events as the body of a response.
//!
//! An [`EventStream`] only frames the items of a stream, one event after another: there is no task
//! and no channel. It polls for the next event when the connection can take one, so a slow client
//! slows down the source of the events; if the client disconnects, the stream is dropped, with
//! everything it holds.
//!
//! ```
//! use futures_util::stream;
//! use http::Version;
//! use http_body_util::BodyExt as _;
//! use serde_json::json;
//! use ziggurat_serve::sse::{Event, EventStream};
//!
//! # tokio_test::block_on(async {
//! let events = [Event::json(&json!({"says": "a\nb"}))?, Event::json(&[1, 2])?];
//! let response = EventStream::new(stream::iter(events)).into_response(Version::HTTP_11);
//! assert_eq!(response.headers()["content-type"], "text/event-stream");
//!
//! let body = response.into_body().collect().await?.to_bytes();
//! assert_eq!(body, "data: {\"says\":\"a\\nb\"}\n\ndata: [1,2]\n\n");
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

use std::{
    convert::Infallible,
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use futures_util::Stream;
use http::{HeaderName, HeaderValue, Response, Version, header};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use serde::Serialize;
use tokio::time::{Sleep, sleep};

/// Comment that is sent during a silence, so that no proxy closes the connection.
pub const KEEP_ALIVE: Bytes = Bytes::from_static(b": keep-alive\n\n");

/// Tells proxies such as nginx not to buffer events.
pub const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// One event, framed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event(Bytes);

pin_project! {
    /// The body of a response that sends events as a stream produces them.
    ///
    /// It ends when the stream ends, and cannot fail.
    pub struct EventStream<S> {
        // Dropped at its end, together with what it holds.
        #[pin]
        events: Option<S>,
        // Runs only while the stream has no event.
        #[pin]
        silence: Option<Sleep>,
        keep_alive: Option<Duration>,
    }
}

// === impl Event ===

impl Event {
    /// Creates an event with this value as its data, in compact JSON on one line.
    ///
    /// # Errors
    /// Fails if the value has no JSON form, such as a map with keys that are not strings.
    pub fn json(value: &impl Serialize) -> serde_json::Result<Self> {
        let mut frame = b"data: ".to_vec();
        // Compact JSON contains no line feed: those in strings are escaped.
        serde_json::to_writer(&mut frame, value)?;
        frame.extend_from_slice(b"\n\n");
        Ok(Self(frame.into()))
    }

    /// Creates an event with this line of text as its data.
    ///
    /// ```
    /// use ziggurat_serve::sse::Event;
    ///
    /// assert_eq!(Event::text("[DONE]").size(), "data: [DONE]\n\n".len());
    /// ```
    #[must_use]
    pub fn text(line: &str) -> Self {
        Self(format!("data: {line}\n\n").into())
    }

    /// Returns the number of bytes that are sent for it.
    #[must_use]
    pub fn size(&self) -> usize {
        self.0.len()
    }
}

// === impl EventStream ===

impl<S> EventStream<S> {
    /// Sends these events.
    pub fn new(events: S) -> Self {
        Self {
            events: Some(events),
            silence: None,
            keep_alive: None,
        }
    }

    /// Sends a comment, which clients ignore, after each silence of this length.
    #[must_use]
    pub fn with_keep_alive(mut self, silence: Option<Duration>) -> Self {
        self.keep_alive = silence;
        self
    }

    /// Returns the response with this body, with the headers for this version of HTTP.
    pub fn into_response(self, version: Version) -> Response<Self> {
        let mut response = Response::new(self);
        let headers = response.headers_mut();
        for (name, value) in [
            (header::CONTENT_TYPE, "text/event-stream"),
            (header::CACHE_CONTROL, "no-cache"),
            (X_ACCEL_BUFFERING, "no"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        // HTTP/2 and later have no connection header (RFC 9113, section 8.2.2).
        if version == Version::HTTP_11 {
            let keep_alive = HeaderValue::from_static("keep-alive");
            headers.insert(header::CONNECTION, keep_alive);
        }
        response
    }
}

impl<S: Stream<Item = Event>> Body for EventStream<S> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let mut this = self.project();
        let Some(events) = this.events.as_mut().as_pin_mut() else {
            return Poll::Ready(None);
        };
        match events.poll_next(cx) {
            Poll::Ready(Some(Event(frame))) => {
                this.silence.set(None);
                return Poll::Ready(Some(Ok(Frame::data(frame))));
            }
            Poll::Ready(None) => {
                this.events.set(None);
                this.silence.set(None);
                return Poll::Ready(None);
            }
            Poll::Pending => {}
        }
        let Some(keep_alive) = *this.keep_alive else {
            return Poll::Pending;
        };
        if this.silence.is_none() {
            this.silence.set(Some(sleep(keep_alive)));
        }
        if let Some(silence) = this.silence.as_mut().as_pin_mut() {
            ready!(silence.poll(cx));
        }
        this.silence.set(None);
        Poll::Ready(Some(Ok(Frame::data(KEEP_ALIVE))))
    }

    fn is_end_stream(&self) -> bool {
        self.events.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match self.events {
            Some(_) => SizeHint::default(),
            None => SizeHint::with_exact(0),
        }
    }
}

impl<S> fmt::Debug for EventStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream")
            .field("keep_alive", &self.keep_alive)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::{FutureExt as _, StreamExt as _, stream};
    use http_body_util::BodyExt as _;
    use proptest::prelude::*;
    use tokio::{sync::mpsc, time::Instant};

    use super::*;
    use ziggurat_text::events::EventDecoder;

    fn event(text: &str) -> Event {
        Event::json(&text).expect("JSON")
    }

    async fn next(body: &mut Pin<Box<EventStream<impl Stream<Item = Event>>>>) -> Option<Bytes> {
        let frame = body.frame().await?.expect("infallible");
        Some(frame.into_data().expect("data"))
    }

    #[tokio::test]
    async fn each_event_is_a_frame_of_one_line_and_an_empty_one() {
        let events = stream::iter(["a", "größer", "\n\r\"\\\u{2028}"].map(event));
        let mut body = Box::pin(EventStream::new(events));
        for expected in [
            "data: \"a\"\n\n",
            "data: \"größer\"\n\n",
            "data: \"\\n\\r\\\"\\\\\u{2028}\"\n\n",
        ] {
            assert!(!body.is_end_stream());
            assert_eq!(next(&mut body).await.expect("a frame"), expected);
        }
        assert_eq!(next(&mut body).await, None);
        assert!(body.is_end_stream());
        assert_eq!(next(&mut body).await, None, "asked once more");
    }

    proptest! {
        #[test]
        fn every_framed_event_is_read_back(texts in prop::collection::vec(any::<String>(), 0..8)) {
            let frames = texts.iter().map(|text| event(text).0);
            let stream = frames.collect::<Vec<_>>().concat();
            let (mut decoder, mut input) = (EventDecoder::new(), &stream[..]);
            for text in texts {
                let data = decoder.decode(&mut input).expect("short").expect("an event");
                prop_assert_eq!(serde_json::from_slice::<String>(&data).expect("JSON"), text);
            }
            prop_assert!(input.is_empty());
        }
    }

    #[tokio::test]
    async fn no_event_is_produced_before_it_is_polled() {
        let (made, mut seen) = mpsc::unbounded_channel();
        let events = stream::iter(0..3).map(move |number| {
            made.send(number).expect("the receiver is alive");
            Event::json(&number).expect("JSON")
        });
        let mut body = Box::pin(EventStream::new(events));
        assert!(seen.try_recv().is_err());
        for number in 0..3 {
            next(&mut body).await.expect("a frame");
            assert_eq!(seen.try_recv(), Ok(number));
            assert!(seen.try_recv().is_err(), "no more than was asked for");
        }
    }

    #[tokio::test]
    async fn the_values_of_a_stream_are_dropped_at_its_end() {
        let held = Arc::new(());
        let kept = Arc::clone(&held);
        let events = stream::iter(["a"].map(event)).map(move |event| {
            let _ = &kept;
            event
        });
        let mut body = Box::pin(EventStream::new(events));
        next(&mut body).await.expect("a frame");
        assert_eq!(Arc::strong_count(&held), 2);
        assert_eq!(next(&mut body).await, None);
        assert_eq!(Arc::strong_count(&held), 1, "the body is still there");
    }

    #[tokio::test(start_paused = true)]
    async fn a_comment_is_sent_after_each_silence() {
        let (sender, receiver) = mpsc::unbounded_channel();
        let events = stream::unfold(receiver, |mut receiver| async move {
            Some((receiver.recv().await?, receiver))
        });
        let second = Duration::from_secs(1);
        let mut body = Box::pin(EventStream::new(events).with_keep_alive(Some(15 * second)));
        let began = Instant::now();
        for comments in 1..=2 {
            assert_eq!(next(&mut body).await.expect("a frame"), KEEP_ALIVE);
            assert_eq!(began.elapsed(), comments * 15 * second);
        }
        tokio::time::advance(10 * second).await;
        sender.send(event("a")).expect("the stream is alive");
        assert_eq!(next(&mut body).await.expect("a frame"), "data: \"a\"\n\n");
        let began = Instant::now();
        assert_eq!(next(&mut body).await.expect("a frame"), KEEP_ALIVE);
        assert_eq!(began.elapsed(), 15 * second, "counted from the last event");
        drop(sender);
        assert_eq!(next(&mut body).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn without_keep_alive_nothing_is_sent_during_a_silence() {
        let mut body = Box::pin(EventStream::new(stream::pending::<Event>()));
        let hour = Duration::from_hours(1);
        let waited = tokio::time::timeout(hour, next(&mut body)).await;
        assert!(waited.is_err());
        assert!(body.frame().now_or_never().is_none());
    }

    #[test]
    fn only_http_1_1_gets_a_connection_header() {
        for (version, connection) in [
            (Version::HTTP_10, None),
            (Version::HTTP_11, Some("keep-alive")),
            (Version::HTTP_2, None),
        ] {
            let response = EventStream::new(()).into_response(version);
            let headers = response.headers();
            let value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
            assert_eq!(value("content-type"), Some("text/event-stream"));
            assert_eq!(value("cache-control"), Some("no-cache"));
            assert_eq!(value("x-accel-buffering"), Some("no"));
            assert_eq!(value("connection"), connection, "{version:?}");
        }
    }
}
