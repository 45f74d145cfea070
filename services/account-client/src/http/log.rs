//! Logs each exchange on standard error, for `--verbose` and `--debug`.

use std::{io::Write, pin::pin, time::Duration};

use http::{HeaderMap, HeaderName};
use ziggurat_runtime::escape::{escape, escape_lines};

use crate::http::{
    mask::{Mask, is_json},
    message::{Incoming, Outgoing, Purpose},
};

/// Amount of detail about each exchange.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Level {
    /// No log.
    Quiet,
    /// The request line and the status line.
    Verbose,
    /// Also the headers and the bodies.
    Debug,
}

/// Logs exchanges.
#[derive(Clone, Copy, Debug)]
pub struct Log {
    /// The amount of detail.
    pub level: Level,
    /// Set if control characters of a server must be escaped.
    pub to_terminal: bool,
    /// Set if the terminal can erase a line, so that a waiting notice can be shown.
    pub shows_waiting: bool,
}

/// Time after which the waiting notice is shown.
const NOTICE_DELAY: Duration = Duration::from_millis(500);

// === impl Log ===

impl Log {
    /// Logs a request before it is sent.
    pub(super) fn request(
        self,
        to: &mut dyn Write,
        mask: &Mask,
        url: &str,
        request: &Outgoing,
        headers: &HeaderMap,
    ) {
        if self.level == Level::Quiet {
            return;
        }
        self.line(to, &format!("> {} {}", request.method, mask.url(url)));
        if self.level == Level::Verbose {
            if headers.contains_key(http::header::AUTHORIZATION) {
                self.line(to, &format!("> Authorization: {}", super::mask::MASK));
            }
            return;
        }
        self.headers(to, mask, '>', headers);
        if let Some(body) = &request.body {
            self.body(to, mask, '>', request.purpose, body);
        }
    }

    /// Logs a response.
    pub(super) fn answer(
        self,
        to: &mut dyn Write,
        mask: &Mask,
        purpose: Purpose,
        answer: &Incoming,
        took: Duration,
    ) {
        if self.level == Level::Quiet {
            return;
        }
        self.line(
            to,
            &format!("< {} ({})", answer.status_line(), milliseconds(took)),
        );
        if self.level == Level::Debug {
            self.headers(to, mask, '<', &answer.headers);
            self.body(to, mask, '<', purpose, &answer.body);
        }
    }

    /// Logs a request without a response.
    pub(super) fn failure(self, to: &mut dyn Write, mask: &Mask, cause: &str, took: Duration) {
        if self.level > Level::Quiet {
            let cause = mask.text(cause);
            self.line(to, &format!("< error: {cause} ({})", milliseconds(took)));
        }
    }

    /// Awaits the work, and shows the host if it takes longer than a moment.
    pub(super) async fn waiting<T>(
        self,
        to: &mut (dyn Write + Send),
        host: &str,
        work: impl Future<Output = T>,
    ) -> T {
        if !self.shows_waiting {
            return work.await;
        }
        let mut work = pin!(work);
        tokio::select! {
            done = &mut work => done,
            () = tokio::time::sleep(NOTICE_DELAY) => {
                let _ = write!(to, "waiting for {} …", escape(host)).and_then(|()| to.flush());
                work.await
            }
        }
    }

    /// Erases the waiting notice if the work took long enough for it.
    pub(super) fn waited(self, to: &mut dyn Write, took: Duration) {
        if self.shows_waiting && took >= NOTICE_DELAY {
            let _ = write!(to, "\r\x1b[K").and_then(|()| to.flush());
        }
    }

    /// Logs a remark if `--verbose` or `--debug` is set.
    pub(crate) fn remark(self, to: &mut dyn Write, text: &str) {
        if self.level > Level::Quiet {
            self.line(to, text);
        }
    }

    fn headers(self, to: &mut dyn Write, mask: &Mask, arrow: char, headers: &HeaderMap) {
        for (name, value) in shown_headers(headers, mask) {
            self.line(to, &format!("{arrow} {name}: {value}"));
        }
    }

    fn body(self, to: &mut dyn Write, mask: &Mask, arrow: char, purpose: Purpose, body: &[u8]) {
        if body.is_empty() {
            return;
        }
        // A body of the token endpoint that is not JSON may contain a token that no rule can mask.
        let shown = if purpose == Purpose::Exchange && !is_json(body) {
            format!("<not shown: {} bytes that are not JSON>", body.len())
        } else {
            mask.dump(body)
        };
        self.line(to, &format!("{arrow} {shown}"));
    }

    fn line(self, to: &mut dyn Write, line: &str) {
        // A failure to write to standard error cannot be reported.
        let _ = if self.to_terminal {
            writeln!(to, "{}", escape_lines(line))
        } else {
            writeln!(to, "{line}")
        };
    }
}

/// Returns the masked headers, sorted, one pair per value.
#[must_use]
pub fn shown_headers(headers: &HeaderMap, mask: &Mask) -> Vec<(String, String)> {
    let mut shown: Vec<_> = headers
        .iter()
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes());
            (titled(name), mask.header(name.as_str(), &value))
        })
        .collect();
    shown.sort_by(|one, other| one.0.cmp(&other.0));
    shown
}

/// Returns a header's name in title case.
fn titled(name: &HeaderName) -> String {
    let words = name.as_str().split('-').map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    });
    words.collect::<Vec<_>>().join("-")
}

fn milliseconds(took: Duration) -> String {
    format!("{}ms", (took.as_micros() + 500) / 1000)
}
