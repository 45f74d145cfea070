//! The failure of a command, and its text for users and scripts.

use std::fmt;

use serde::Serialize;
use serde_json::Value;
use ziggurat_account_client::{Details, Error, Kind};

use crate::output::{self, Format};

/// The failure of a command: one message, and details for scripts.
///
/// Boxed, because every command returns a `Result` with it, and failures are rare.
#[derive(Clone, Debug)]
pub(crate) struct Failure(Box<Parts>);

#[derive(Clone, Debug)]
struct Parts {
    message: String,
    /// Another line for users, with advice.
    hint: Option<String>,
    code: Code,
    exit: u8,
    details: Details,
}

/// The kind of a failure, for scripts under `-o json`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Code {
    /// The command line is wrong.
    Usage,
    /// The configuration file cannot be used.
    Config,
    /// The user did not confirm.
    Aborted,
    /// A request failed, or the command for a similar reason.
    #[serde(untagged)]
    Request(Kind),
}

/// The object that `-o json` prints on standard error.
#[derive(Serialize)]
struct Envelope<'a> {
    error: FailureReport<'a>,
}

#[derive(Serialize)]
struct FailureReport<'a> {
    code: Code,
    exit_code: u8,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<FailedRequest<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<&'a Value>,
}

#[derive(Serialize)]
struct FailedRequest<'a> {
    method: &'a str,
    url: &'a str,
}

// === impl Failure ===

impl Failure {
    /// Creates a failure of this kind, with its exit code.
    pub(crate) fn new(code: impl Into<Code>, message: impl Into<String>) -> Self {
        let code = code.into();
        Self(Box::new(Parts {
            message: message.into(),
            hint: None,
            code,
            exit: code.exit(),
            details: Details::default(),
        }))
    }

    /// The command line is wrong: exit 2.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Code::Usage, message)
    }

    /// There is no credential, or it was rejected: exit 5.
    pub(crate) fn auth(message: impl Into<String>) -> Self {
        Self::new(Kind::Auth, message)
    }

    /// The credential is valid, but it does not allow the request: exit 5.
    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(Kind::Forbidden, message)
    }

    /// The API has no such record: exit 4.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(Kind::NotFound, message)
    }

    /// The server failed: exit 1.
    pub(crate) fn server(message: impl Into<String>) -> Self {
        Self::new(Kind::Server, message)
    }

    /// The configuration file cannot be used: exit 1.
    pub(crate) fn config(message: impl Into<String>) -> Self {
        Self::new(Code::Config, message)
    }

    /// Adds a line with advice. Only the text format has it, because scripts read the message.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// The user did not confirm: exit 2.
    pub(crate) fn aborted(message: impl Into<String>) -> Self {
        Self::new(Code::Aborted, message)
    }

    /// Anything else: exit 1.
    pub(crate) fn general(message: impl Into<String>) -> Self {
        Self::new(Kind::General, message)
    }

    /// The reader closed the pipe, so it gets no message: exit 141.
    pub(crate) fn closed_pipe() -> Self {
        Self::new(Kind::General, "").with_exit(CLOSED_PIPE)
    }

    /// Replaces the exit code of the kind.
    pub(crate) fn with_exit(mut self, exit: u8) -> Self {
        self.0.exit = exit;
        self
    }

    /// Returns the exit code of the process.
    pub(crate) fn exit(&self) -> u8 {
        self.0.exit
    }

    /// Returns the text for standard error, with a newline at the end; empty if there is no
    /// message.
    ///
    /// On a terminal the control characters of a response are escaped, so that it cannot move the
    /// cursor or overwrite other text.
    pub(crate) fn render(&self, format: Format, to_terminal: bool) -> String {
        if self.0.message.is_empty() {
            return String::new();
        }
        match format {
            Format::Text => {
                let mut text = format!("Error: {}\n", self.0.message);
                if let Some(hint) = &self.0.hint {
                    text.push_str(hint);
                    text.push('\n');
                }
                if to_terminal {
                    output::escape_lines(&text)
                } else {
                    text
                }
            }
            Format::Json if to_terminal => {
                output::visible(output::json(&self.envelope()).as_bytes()) + "\n"
            }
            Format::Json => output::json(&self.envelope()) + "\n",
            // YAML escapes invisible characters anyway.
            Format::Yaml => output::yaml(&self.envelope()),
        }
    }

    fn envelope(&self) -> Envelope<'_> {
        let parts = &*self.0;
        let details = &parts.details;
        Envelope {
            error: FailureReport {
                code: parts.code,
                exit_code: parts.exit,
                message: &parts.message,
                status: details.status,
                reason: details.reason.as_deref(),
                request: details
                    .request
                    .as_ref()
                    .map(|(method, url)| FailedRequest { method, url }),
                server: details.server.as_ref(),
            },
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.message)
    }
}

impl std::error::Error for Failure {}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let (kind, message, details) = error.into_parts();
        let mut failure = Self::new(kind, message);
        failure.0.details = details;
        failure
    }
}

// === impl Code ===

impl Code {
    /// Returns the exit code of the kind.
    pub(crate) fn exit(self) -> u8 {
        match self {
            Self::Usage | Self::Aborted => 2,
            Self::Config => 1,
            Self::Request(kind) => match kind {
                Kind::Timeout => 3,
                Kind::NotFound => 4,
                Kind::Auth | Kind::Forbidden => 5,
                Kind::Conflict
                | Kind::Unreachable
                | Kind::RateLimited
                | Kind::Server
                | Kind::General => 1,
            },
        }
    }
}

impl From<Kind> for Code {
    fn from(kind: Kind) -> Self {
        Self::Request(kind)
    }
}

/// Exit code that a shell reports for a program that SIGPIPE has ended.
const CLOSED_PIPE: u8 = 141;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_failure_reads_as_one_line_of_text() {
        let failure = Failure::usage("unknown flag: --x");
        assert_eq!(
            failure.render(Format::Text, false),
            "Error: unknown flag: --x\n"
        );
        assert_eq!(failure.exit(), 2);
    }

    #[test]
    fn under_json_a_failure_is_one_object_for_a_script() {
        let url = "https://api.example.com/account/v1/clients/1".to_owned();
        let mut failure = Failure::not_found("resource not found (404): client not found");
        failure.0.details = Details {
            status: Some(404),
            reason: None,
            request: Some(("GET".to_owned(), url)),
            server: Some(json!({"code": 404, "message": "client not found"})),
        };
        assert_eq!(
            failure.render(Format::Json, true),
            "{\"error\":{\"code\":\"not_found\",\"exit_code\":4,\
             \"message\":\"resource not found (404): client not found\",\"status\":404,\
             \"request\":{\"method\":\"GET\",\"url\":\"https://api.example.com/account/v1/clients/1\"},\
             \"server\":{\"code\":404,\"message\":\"client not found\"}}}\n"
        );
    }

    #[test]
    fn a_failure_has_the_message_of_the_error_and_the_exit_code_of_its_kind() {
        let failure = Failure::from(Error::new(Kind::Timeout, "request timed out (408):"));
        assert_eq!(failure.to_string(), "request timed out (408):");
        assert_eq!(failure.exit(), 3);
    }

    #[test]
    fn a_message_of_a_server_cannot_control_the_terminal() {
        let failure = Failure::general("API error (500): \u{1b}[2Jgone\n(server said (500): x)");
        assert_eq!(
            failure.render(Format::Text, true),
            "Error: API error (500): \\x1b[2Jgone\n(server said (500): x)\n"
        );
    }

    #[test]
    fn every_kind_has_the_exit_code_of_the_contract() {
        for (code, exit) in [
            (Code::Usage, 2),
            (Kind::Auth.into(), 5),
            (Kind::Forbidden.into(), 5),
            (Kind::NotFound.into(), 4),
            (Kind::Conflict.into(), 1),
            (Kind::Timeout.into(), 3),
            (Kind::Unreachable.into(), 1),
            (Kind::RateLimited.into(), 1),
            (Kind::Server.into(), 1),
            (Code::Config, 1),
            (Code::Aborted, 2),
            (Kind::General.into(), 1),
        ] {
            assert_eq!(code.exit(), exit, "{code:?}");
        }
    }
}
