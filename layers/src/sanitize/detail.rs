//! The cause of a fault, for the log.

use std::{
    any::Any,
    borrow::Cow,
    error::Error,
    fmt::{self, Write as _},
    iter,
    sync::Arc,
};

use crate::sanitize::scrub;

/// Number of bytes of a text that are read for the log.
const LONGEST: usize = 4096;

/// The cause of a fault, for the log.
///
/// A handler that answers with a fault puts one into the extensions of its response; the layer logs
/// it and, in development, shows it to the client.
///
/// Both `Display` and `Debug` write the error and its sources, joined by colons, scrubbed of
/// credentials by [`scrub`](fn@scrub) and cut at 4096 bytes. A source that the error before it
/// already quotes is not written again.
///
/// ```
/// use http::{Response, StatusCode};
/// use ziggurat_layers::sanitize::ErrorDetail;
///
/// fn failed(error: std::io::Error) -> Response<String> {
///     let mut response = Response::new(String::new());
///     *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
///     response.extensions_mut().insert(ErrorDetail::new(error));
///     response
/// }
/// # let response = failed(std::io::Error::other("no disk, token=abc"));
/// # let detail = response.extensions().get::<ErrorDetail>().unwrap();
/// # assert_eq!(detail.to_string(), "no disk, token=[redacted]");
/// ```
#[derive(Clone)]
pub struct ErrorDetail {
    error: Arc<dyn Error + Send + Sync>,
}

/// Text that takes no more than [`LONGEST`] bytes.
struct Capped {
    text: String,
    is_cut: bool,
}

// === impl ErrorDetail ===

impl ErrorDetail {
    /// Wraps an error, or a text.
    ///
    /// ```
    /// use ziggurat_layers::sanitize::ErrorDetail;
    ///
    /// let from_text = ErrorDetail::new("login as app:hunter2 failed, password=hunter2");
    /// assert_eq!(from_text.to_string(), "login as app:hunter2 failed, password=[redacted]");
    /// let from_error = ErrorDetail::new(std::io::Error::other("no disk"));
    /// assert_eq!(from_error.to_string(), "no disk");
    /// ```
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            error: error.into().into(),
        }
    }

    pub(super) fn of_panic(payload: &(dyn Any + Send)) -> Self {
        let text = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("with a value that is not a text");
        Self::new(format!("panicked: {text}"))
    }
}

impl fmt::Display for ErrorDetail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&with_sources(&*self.error))
    }
}

impl fmt::Debug for ErrorDetail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ErrorDetail")
            .field(&with_sources(&*self.error))
            .finish()
    }
}

/// Has no [`source`](Error::source), because the text names all of them.
impl Error for ErrorDetail {}

/// The error and its sources, scrubbed and cut.
pub(super) fn with_sources(error: &dyn Error) -> String {
    let mut capped = Capped::new();
    capped.push(error);
    for source in iter::successors(error.source(), |&error| error.source()) {
        let end = capped.text.len();
        capped.push(&format_args!(": {source}"));
        if capped.is_cut {
            break;
        }
        if capped.text[..end].ends_with(&capped.text[end + ": ".len()..]) {
            capped.text.truncate(end);
        }
    }
    capped.scrubbed()
}

/// The text, scrubbed and cut.
pub(super) fn legible(text: &str) -> String {
    let mut capped = Capped::new();
    capped.push(&text);
    capped.scrubbed()
}

// === impl Capped ===

impl Capped {
    fn new() -> Self {
        Self {
            text: String::new(),
            is_cut: false,
        }
    }

    fn push(&mut self, value: &dyn fmt::Display) {
        // The only error means that the text is full.
        _ = write!(self, "{value}");
    }

    fn scrubbed(mut self) -> String {
        if self.is_cut {
            // Half a credential may not look like one, so the last word is removed, too.
            let end = self.text.rfind(char::is_whitespace).unwrap_or(0);
            self.text.truncate(end);
        }
        let mut text = match scrub(&self.text) {
            Cow::Borrowed(_) => self.text,
            Cow::Owned(scrubbed) => scrubbed,
        };
        if self.is_cut {
            text.push('…');
        }
        text
    }
}

impl fmt::Write for Capped {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.is_cut {
            return Err(fmt::Error);
        }
        let left = LONGEST - self.text.len();
        if text.len() <= left {
            self.text.push_str(text);
            return Ok(());
        }
        self.is_cut = true;
        let kept = text.char_indices().map(|(start, _)| start);
        let end = kept.take_while(|&end| end <= left).last().unwrap_or(0);
        self.text.push_str(&text[..end]);
        Err(fmt::Error)
    }
}
