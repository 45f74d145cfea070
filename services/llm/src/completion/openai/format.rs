//! Request formats: models of `OpenAI` and compatible servers accept different members.

use http::StatusCode;

const RESPONSES: u8 = 1;
const COMPLETION_TOKENS: u8 = 2;
const NO_TEMPERATURE: u8 = 4;
const NO_STREAM_OPTIONS: u8 = 8;

/// Request format that a model accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format(u8);

// === impl Format ===

impl Format {
    /// Returns the format that models of this name are known to accept.
    pub(crate) fn of(model: &str) -> Self {
        if is_reasoning(model) {
            Self(COMPLETION_TOKENS | NO_TEMPERATURE)
        } else {
            Self(0)
        }
    }

    /// Returns whether it uses `/responses`.
    pub(super) fn has_responses(self) -> bool {
        self.0 & RESPONSES != 0
    }

    /// Returns whether the limit is named `max_completion_tokens`.
    pub(super) fn has_completion_tokens(self) -> bool {
        self.0 & COMPLETION_TOKENS != 0
    }

    /// Returns whether it has a temperature.
    pub(super) fn has_temperature(self) -> bool {
        self.0 & NO_TEMPERATURE == 0
    }

    /// Returns whether it asks for the token counts of a stream.
    pub(super) fn has_stream_options(self) -> bool {
        self.0 & NO_STREAM_OPTIONS == 0
    }

    /// Returns another format, if the error response to this one asks for it.
    pub(crate) fn adapted(self, status: StatusCode, body: &str) -> Option<Self> {
        let names = |what: &str| body.contains(what);
        let more = match status {
            // A model without chat support is not found at the chat path.
            StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND
                if names("v1/responses") || names("Responses API") =>
            {
                RESPONSES
            }
            StatusCode::BAD_REQUEST if names("max_tokens") => COMPLETION_TOKENS,
            StatusCode::BAD_REQUEST if names("temperature") => NO_TEMPERATURE,
            StatusCode::BAD_REQUEST if names("stream_options") => NO_STREAM_OPTIONS,
            _ => return None,
        };
        let adapted = Self(self.0 | more);
        (adapted != self).then_some(adapted)
    }

    pub(crate) fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    pub(crate) fn bits(self) -> u8 {
        self.0
    }
}

/// Returns whether a model reasons before it answers: `o1`, `o3-mini`, `o4-mini`, `gpt-5` and
/// similar.
fn is_reasoning(model: &str) -> bool {
    if model.starts_with("gpt-5") {
        return true;
    }
    let Some(rest) = model.strip_prefix('o') else {
        return false;
    };
    let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    behind.len() < rest.len() && (behind.is_empty() || behind.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reasoning_models_are_recognised_by_their_names() {
        for (model, expected) in [
            ("gpt-5", true),
            ("gpt-5-mini", true),
            ("gpt-5.1", true),
            ("o1", true),
            ("o1-preview", true),
            ("o3-mini-2025-01-31", true),
            ("o4-mini", true),
            ("gpt-4o", false),
            ("gpt-4o-mini", false),
            ("omni", false),
            ("o", false),
            ("o1x", false),
            ("llama3", false),
        ] {
            assert_eq!(is_reasoning(model), expected, "{model}");
        }
    }

    #[test]
    fn an_error_response_selects_another_format() {
        let plain = Format::of("gpt-4o");
        let use_other = "Use 'max_completion_tokens' instead of 'max_tokens'.";
        let responses = "This model is only supported in v1/responses";
        for (status, message, param, expected) in [
            (400, use_other, "", Some(COMPLETION_TOKENS)),
            (400, "Not supported.", "max_tokens", Some(COMPLETION_TOKENS)),
            (
                400,
                "'temperature' may not be 0.2",
                "",
                Some(NO_TEMPERATURE),
            ),
            (400, "What is stream_options?", "", Some(NO_STREAM_OPTIONS)),
            (400, responses, "model", Some(RESPONSES)),
            (404, responses, "model", Some(RESPONSES)),
            (
                400,
                "The Responses API takes max_tokens",
                "",
                Some(RESPONSES),
            ),
            (400, "messages must not be empty", "", None),
            (404, "no such model: max_tokens", "", None),
            (401, "temperature", "", None),
            (500, "temperature", "", None),
        ] {
            let body = json!({"error": {"message": message, "param": param}}).to_string();
            let status = StatusCode::from_u16(status).expect("a status");
            let adapted = plain.adapted(status, &body);
            assert_eq!(adapted.map(Format::bits), expected, "{status} {message}");
        }
    }

    #[test]
    fn a_format_that_was_tried_is_not_tried_again() {
        let body = "max_tokens is too large";
        let once = Format::of("gpt-4o").adapted(StatusCode::BAD_REQUEST, body);
        let once = once.expect("a format");
        assert!(once.has_completion_tokens());
        assert_eq!(once.adapted(StatusCode::BAD_REQUEST, body), None);
    }
}
