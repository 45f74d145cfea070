//! Refusals and their format.
//!
//! A layer that refuses a request describes the refusal as a [`Rejection`]: a status, a short
//! machine-readable code, a sentence for the client and the headers HTTP asks for. A [`Render`]
//! makes the response, so one gateway answers in one format, independent of the layer that refused.
//!
//! A `Rejection` is made from texts that were written for the client. Nothing in this module
//! accepts an error value, so a driver's message cannot become a body by accident.
//!
//! ```
//! use bytes::Bytes;
//! use http::StatusCode;
//! use ziggurat_layers::reject::{ErrorString, Problem, Rejection};
//!
//! let no = Rejection::new(StatusCode::FORBIDDEN, "wrong_door", "This door is closed");
//!
//! let response = no.clone().into_response::<Bytes>(&ErrorString);
//! assert_eq!(response.status(), StatusCode::FORBIDDEN);
//! assert_eq!(response.body(), r#"{"error":"This door is closed"}"#);
//!
//! let response = no.into_response::<Bytes>(&Problem);
//! assert_eq!(response.headers()["content-type"], "application/problem+json");
//! ```

use std::{borrow::Cow, error::Error, io};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};

/// A refusal: only what the client may know about it.
///
/// ```
/// use http::{HeaderValue, StatusCode, header};
/// use ziggurat_layers::reject::Rejection;
///
/// let busy = Rejection::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "Too many imports are running")
///     .with_header(header::RETRY_AFTER, HeaderValue::from_static("30"));
/// assert_eq!(busy.headers()["retry-after"], "30");
/// ```
#[derive(Clone, Debug)]
pub struct Rejection {
    status: StatusCode,
    code: &'static str,
    message: Cow<'static, str>,
    headers: HeaderMap,
}

/// Renders a [`Rejection`] with the body type of the wrapped service.
///
/// Implemented by the stock renderers of this module and by every
/// `Fn(&Rejection) -> Response<B>`. The status and the headers of the rejection are put on
/// the response afterwards, so a renderer only has to care about the body.
///
/// ```
/// use bytes::Bytes;
/// use http::{Response, StatusCode};
/// use ziggurat_layers::reject::{Rejection, Render};
///
/// /// Renders plain text.
/// struct Text;
///
/// impl<B: From<Bytes>> Render<B> for Text {
///     fn render(&self, rejection: &Rejection) -> Response<B> {
///         Response::new(Bytes::copy_from_slice(rejection.message().as_bytes()).into())
///     }
/// }
///
/// let response: Response<Bytes> =
///     Rejection::new(StatusCode::GONE, "gone", "This order is closed").into_response(&Text);
/// assert_eq!(response.body(), "This order is closed");
/// ```
pub trait Render<B> {
    /// Makes the response that carries the refusal.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http::StatusCode;
    /// use ziggurat_layers::reject::{Rejection, Render as _, SuccessFlag};
    ///
    /// let no = Rejection::new(StatusCode::CONFLICT, "closed", "This order is closed");
    /// let response: http::Response<Bytes> = SuccessFlag.render(&no);
    /// assert_eq!(response.headers()["content-type"], "application/json");
    /// ```
    fn render(&self, rejection: &Rejection) -> Response<B>;
}

/// Renders `{"error": "<message>"}`.
///
/// ```
/// use bytes::Bytes;
/// use http::StatusCode;
/// use ziggurat_layers::reject::{ErrorString, Rejection};
///
/// let no = Rejection::new(StatusCode::CONFLICT, "closed", "This order is closed");
/// let response = no.into_response::<Bytes>(&ErrorString);
/// assert_eq!(response.body(), r#"{"error":"This order is closed"}"#);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ErrorString;

/// Renders `{"error": {"code": "<CODE>", "message": "<message>"}}`, the code in capitals.
///
/// ```
/// use bytes::Bytes;
/// use http::StatusCode;
/// use ziggurat_layers::reject::{ErrorObject, Rejection};
///
/// let no = Rejection::new(StatusCode::CONFLICT, "order_closed", "This order is closed");
/// let response = no.into_response::<Bytes>(&ErrorObject);
/// let expected = r#"{"error":{"code":"ORDER_CLOSED","message":"This order is closed"}}"#;
/// assert_eq!(response.body(), expected);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ErrorObject;

/// Renders `{"success": false, "error": "<message>"}`.
///
/// ```
/// use bytes::Bytes;
/// use http::StatusCode;
/// use ziggurat_layers::reject::{Rejection, SuccessFlag};
///
/// let no = Rejection::new(StatusCode::CONFLICT, "closed", "This order is closed");
/// let response = no.into_response::<Bytes>(&SuccessFlag);
/// assert_eq!(response.body(), r#"{"success":false,"error":"This order is closed"}"#);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SuccessFlag;

/// Renders an RFC 9457 problem document.
///
/// ```
/// use bytes::Bytes;
/// use http::StatusCode;
/// use ziggurat_layers::reject::{Problem, Rejection};
///
/// let no = Rejection::new(StatusCode::CONFLICT, "closed", "This order is closed");
/// let response = no.into_response::<Bytes>(&Problem);
/// let expected =
///     r#"{"title":"Conflict","status":409,"detail":"This order is closed","code":"closed"}"#;
/// assert_eq!(response.body(), expected);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Problem;

/// Renderer made by [`RenderExt::map_body`].
///
/// ```
/// use bytes::Bytes;
/// use http_body_util::Full;
/// use ziggurat_layers::reject::{ErrorObject, MapBody, RenderExt as _};
///
/// let render: MapBody<ErrorObject, fn(Bytes) -> Full<Bytes>> = ErrorObject.map_body(Full::new);
/// # let _ = render;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MapBody<R, F> {
    render: R,
    map: F,
}

/// Marks the response to a request with invalid credentials.
///
/// The code that checked the credentials puts it into the extensions of the response: the bearer
/// layer, or a handler that checks a password. The failure policy of the rate limiter counts it.
///
/// ```
/// use http::{Response, StatusCode};
/// use ziggurat_layers::reject::AuthFailed;
///
/// /// The answer of a login page to a wrong password.
/// fn wrong_password() -> Response<&'static str> {
///     let mut response = Response::new("Wrong name or password");
///     *response.status_mut() = StatusCode::UNAUTHORIZED;
///     response.extensions_mut().insert(AuthFailed);
///     response
/// }
/// assert_eq!(wrong_password().extensions().get(), Some(&AuthFailed));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuthFailed;

// === impl Rejection ===

impl Rejection {
    /// Describes a refusal.
    ///
    /// `code` is for programs, in snake case (`invalid_token`); `message` is for people and
    /// must not carry anything the client is not meant to see.
    ///
    /// ```
    /// use http::StatusCode;
    /// use ziggurat_layers::reject::Rejection;
    ///
    /// let order = 4711;
    /// let no = Rejection::new(StatusCode::CONFLICT, "closed", format!("Order {order} is closed"));
    /// assert_eq!(no.message(), "Order 4711 is closed");
    /// ```
    pub fn new(
        status: StatusCode,
        code: &'static str,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            headers: HeaderMap::new(),
        }
    }

    /// Describes the refusal of a request with an unreadable body.
    ///
    /// Answers 408 if the body came in too slowly, that is, if an [`io::Error`] of the kind
    /// [`TimedOut`](io::ErrorKind::TimedOut) is among the causes of the error. The connection is
    /// closed then (RFC 9110, section 15.5.9). Answers 400 otherwise. Nothing else of the error is
    /// read.
    ///
    /// ```
    /// use std::io;
    /// use http::StatusCode;
    /// use ziggurat_layers::reject::Rejection;
    ///
    /// let late = Rejection::unreadable_body(&io::Error::from(io::ErrorKind::TimedOut));
    /// assert_eq!(late.status(), StatusCode::REQUEST_TIMEOUT);
    /// let broken = Rejection::unreadable_body(&io::Error::other("reset by peer"));
    /// assert_eq!(broken.status(), StatusCode::BAD_REQUEST);
    /// ```
    pub fn unreadable_body(error: &(dyn Error + 'static)) -> Self {
        let mut causes = std::iter::successors(Some(error), |&error| error.source());
        let is_late = causes.any(|cause| {
            let cause = cause.downcast_ref::<io::Error>();
            cause.is_some_and(|cause| cause.kind() == io::ErrorKind::TimedOut)
        });
        if !is_late {
            return Self::new(
                StatusCode::BAD_REQUEST,
                "body_unreadable",
                "Failed to read request body",
            );
        }
        Self::new(
            StatusCode::REQUEST_TIMEOUT,
            "request_timeout",
            "The request body did not arrive in time",
        )
        .with_header(header::CONNECTION, HeaderValue::from_static("close"))
    }

    /// Adds a header to the response, next to others of that name.
    ///
    /// ```
    /// use http::{HeaderValue, StatusCode, header};
    /// use ziggurat_layers::reject::Rejection;
    ///
    /// let no = Rejection::new(StatusCode::METHOD_NOT_ALLOWED, "read_only", "Orders are read-only")
    ///     .with_header(header::ALLOW, HeaderValue::from_static("GET"));
    /// assert_eq!(no.headers()["allow"], "GET");
    /// ```
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.append(name, value);
        self
    }

    /// The status of the response.
    ///
    /// ```
    /// use http::StatusCode;
    /// use ziggurat_layers::reject::Rejection;
    ///
    /// let gone = Rejection::new(StatusCode::GONE, "gone", "This order is closed");
    /// assert_eq!(gone.status(), StatusCode::GONE);
    /// ```
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The reason, for programs.
    ///
    /// ```
    /// use http::{Response, StatusCode};
    /// use ziggurat_layers::reject::Rejection;
    ///
    /// /// The label of a response in the metrics.
    /// fn label<B>(response: &Response<B>) -> &'static str {
    ///     response.extensions().get().map_or("answered", Rejection::code)
    /// }
    /// assert_eq!(label(&Response::new(())), "answered");
    /// ```
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// The reason, for people.
    ///
    /// ```
    /// use http::StatusCode;
    /// use ziggurat_layers::reject::Rejection;
    ///
    /// let gone = Rejection::new(StatusCode::GONE, "gone", "This order is closed");
    /// assert_eq!(gone.message(), "This order is closed");
    /// ```
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The headers the refusal needs, such as a challenge, `Retry-After` or `Allow`.
    ///
    /// ```
    /// use http::StatusCode;
    /// use ziggurat_layers::reject::Rejection;
    ///
    /// let gone = Rejection::new(StatusCode::GONE, "gone", "This order is closed");
    /// assert!(gone.headers().is_empty());
    /// ```
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Renders the refusal and completes the response.
    ///
    /// The status and the headers of the rejection win over what the renderer set, and the
    /// rejection itself goes into the extensions, where a layer further out can log it.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http::{Response, StatusCode};
    /// use ziggurat_layers::reject::Rejection;
    ///
    /// let html = |rejection: &Rejection| {
    ///     Response::new(Bytes::from(format!("<p>{}</p>", rejection.message())))
    /// };
    /// let response =
    ///     Rejection::new(StatusCode::GONE, "gone", "This order is closed").into_response(&html);
    /// assert_eq!(response.status(), StatusCode::GONE);
    /// assert!(response.extensions().get::<Rejection>().is_some());
    /// ```
    pub fn into_response<B>(self, render: &impl Render<B>) -> Response<B> {
        let mut response = render.render(&self);
        *response.status_mut() = self.status;
        for name in self.headers.keys() {
            response.headers_mut().remove(name);
        }
        for (name, value) in &self.headers {
            response.headers_mut().append(name, value.clone());
        }
        response.extensions_mut().insert(self);
        response
    }
}

// === impl Render ===

impl<B, F> Render<B> for F
where
    F: Fn(&Rejection) -> Response<B>,
{
    fn render(&self, rejection: &Rejection) -> Response<B> {
        self(rejection)
    }
}

impl<B: From<Bytes>> Render<B> for ErrorString {
    fn render(&self, rejection: &Rejection) -> Response<B> {
        let mut body = String::from(r#"{"error":"#);
        push_json_string(&mut body, rejection.message());
        body.push('}');
        json("application/json", body)
    }
}

impl<B: From<Bytes>> Render<B> for ErrorObject {
    fn render(&self, rejection: &Rejection) -> Response<B> {
        let mut body = String::from(r#"{"error":{"code":"#);
        push_json_string(&mut body, &rejection.code().to_ascii_uppercase());
        body.push_str(r#","message":"#);
        push_json_string(&mut body, rejection.message());
        body.push_str("}}");
        json("application/json", body)
    }
}

impl<B: From<Bytes>> Render<B> for SuccessFlag {
    fn render(&self, rejection: &Rejection) -> Response<B> {
        let mut body = String::from(r#"{"success":false,"error":"#);
        push_json_string(&mut body, rejection.message());
        body.push('}');
        json("application/json", body)
    }
}

impl<B: From<Bytes>> Render<B> for Problem {
    fn render(&self, rejection: &Rejection) -> Response<B> {
        // RFC 9457, 4.2.1: without a type of its own the title is the status phrase.
        let title = rejection.status().canonical_reason().unwrap_or("Error");
        let mut body = String::from(r#"{"title":"#);
        push_json_string(&mut body, title);
        body.push_str(r#","status":"#);
        body.push_str(rejection.status().as_str());
        body.push_str(r#","detail":"#);
        push_json_string(&mut body, rejection.message());
        body.push_str(r#","code":"#);
        push_json_string(&mut body, rejection.code());
        body.push('}');
        json("application/problem+json", body)
    }
}

/// Adapts a renderer to a body that cannot be made from [`Bytes`] alone.
///
/// ```
/// use bytes::Bytes;
/// use http_body_util::Full;
/// use ziggurat_layers::reject::{ErrorObject, Render, RenderExt as _};
///
/// /// The renderer of all layers of a server with bodies of this type.
/// fn render() -> impl Render<Full<Bytes>> + Clone {
///     ErrorObject.map_body(Full::new)
/// }
/// # let _ = render();
/// ```
pub trait RenderExt: Render<Bytes> + Sized {
    /// Wraps the rendered bytes into another body type.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use http::StatusCode;
    /// use http_body_util::{Either, Empty, Full};
    /// use ziggurat_layers::reject::{ErrorString, Rejection, RenderExt as _};
    ///
    /// type Body = Either<Full<Bytes>, Empty<Bytes>>;
    /// let render = ErrorString.map_body(|bytes| Body::Left(Full::new(bytes)));
    /// let response = Rejection::new(StatusCode::GONE, "gone", "Gone").into_response(&render);
    /// # let _: http::Response<Body> = response;
    /// ```
    fn map_body<F>(self, map: F) -> MapBody<Self, F> {
        MapBody { render: self, map }
    }
}

impl<R: Render<Bytes>> RenderExt for R {}

impl<R, F, B> Render<B> for MapBody<R, F>
where
    R: Render<Bytes>,
    F: Fn(Bytes) -> B,
{
    fn render(&self, rejection: &Rejection) -> Response<B> {
        self.render.render(rejection).map(&self.map)
    }
}

fn json<B: From<Bytes>>(content_type: &'static str, body: String) -> Response<B> {
    let mut response = Response::new(B::from(Bytes::from(body)));
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// Appends `text` as a JSON string (RFC 8259, section 7), quotes included.
fn push_json_string(out: &mut String, text: &str) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => {
                let byte = control as usize;
                out.push_str("\\u00");
                out.push(HEX[byte >> 4].into());
                out.push(HEX[byte & 15].into());
            }
            plain => out.push(plain),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use proptest::prelude::*;

    use super::*;

    /// An error that hides its cause.
    #[derive(Debug)]
    struct Broken(io::Error);

    impl fmt::Display for Broken {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("broken")
        }
    }

    impl Error for Broken {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    fn teapot() -> Rejection {
        Rejection::new(StatusCode::IM_A_TEAPOT, "short_and_stout", "say \"tea\"\n")
    }

    #[test]
    fn a_body_that_timed_out_anywhere_below_is_late_and_every_other_is_bad() {
        for (kind, status, closes) in [
            (io::ErrorKind::TimedOut, 408, true),
            (io::ErrorKind::ConnectionReset, 400, false),
        ] {
            let rejection = Rejection::unreadable_body(&Broken(kind.into()));
            assert_eq!(rejection.status(), status, "{kind:?}");
            let close = rejection.headers().get(header::CONNECTION);
            assert_eq!(close.is_some(), closes, "{kind:?}");
        }
    }

    #[test]
    fn every_stock_renderer_writes_its_documented_body() {
        let cases: [(&str, Response<Bytes>, &str); 4] = [
            (
                "ErrorString",
                teapot().into_response(&ErrorString),
                r#"{"error":"say \"tea\"\n"}"#,
            ),
            (
                "ErrorObject",
                teapot().into_response(&ErrorObject),
                r#"{"error":{"code":"SHORT_AND_STOUT","message":"say \"tea\"\n"}}"#,
            ),
            (
                "SuccessFlag",
                teapot().into_response(&SuccessFlag),
                r#"{"success":false,"error":"say \"tea\"\n"}"#,
            ),
            (
                "Problem",
                teapot().into_response(&Problem),
                r#"{"title":"I'm a teapot","status":418,"detail":"say \"tea\"\n","code":"short_and_stout"}"#,
            ),
        ];
        for (name, response, body) in cases {
            assert_eq!(response.status(), StatusCode::IM_A_TEAPOT, "{name}");
            assert_eq!(response.body(), body, "{name}");
        }
    }

    #[test]
    fn the_headers_of_the_rejection_win_over_those_of_the_renderer() {
        let render = |_: &Rejection| {
            Response::builder()
                .header("allow", "GET")
                .header("x-kept", "yes")
                .body(Bytes::new())
                .expect("static parts")
        };
        let response = teapot()
            .with_header(header::ALLOW, HeaderValue::from_static("POST"))
            .with_header(header::ALLOW, HeaderValue::from_static("PUT"))
            .into_response(&render);
        let allow: Vec<_> = response.headers().get_all("allow").iter().collect();
        assert_eq!(allow, ["POST", "PUT"]);
        assert_eq!(response.headers()["x-kept"], "yes");
        assert_eq!(response.status(), StatusCode::IM_A_TEAPOT);
    }

    #[test]
    fn the_rejection_stays_readable_in_the_extensions() {
        let response: Response<Bytes> = teapot().into_response(&ErrorString);
        let kept = response.extensions().get::<Rejection>().expect("kept");
        assert_eq!(kept.code(), "short_and_stout");
    }

    proptest! {
        #[test]
        fn any_text_becomes_a_json_string_that_reads_back(text: String) {
            let mut out = String::new();
            push_json_string(&mut out, &text);
            prop_assert_eq!(read_back(&out), text);
        }
    }

    /// Undoes the escapes, with no code shared with the writer.
    fn read_back(json: &str) -> String {
        let inner = json
            .strip_prefix('"')
            .and_then(|s| s.strip_suffix('"'))
            .expect("quoted");
        let mut out = String::new();
        let mut rest = inner.chars();
        while let Some(character) = rest.next() {
            assert!(
                character >= ' ' && character != '"',
                "raw {character:?} inside a string"
            );
            if character != '\\' {
                out.push(character);
                continue;
            }
            match rest.next().expect("an escape is never last") {
                'n' => out.push('\n'),
                'r' => out.push('\r'),
                't' => out.push('\t'),
                'u' => {
                    let digits: String = rest.by_ref().take(4).collect();
                    let code = u32::from_str_radix(&digits, 16).expect("four hex digits");
                    out.push(char::from_u32(code).expect("a control character"));
                }
                plain => out.push(plain),
            }
        }
        out
    }
}
