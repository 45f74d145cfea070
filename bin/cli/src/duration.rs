//! Durations in the notation of Go: `1m30s`, `1.5h`, `500ms`.

use ziggurat_runtime::duration::{self, Reason, Signed};

use crate::output::quoted;

/// Parses a duration; the error has the reason.
pub(crate) fn parse(text: &str) -> Result<Signed, String> {
    duration::signed(text).map_err(|reason| {
        let shown = quoted(text);
        match reason {
            Reason::Invalid => format!("time: invalid duration {shown}"),
            Reason::MissingUnit => format!("time: missing unit in duration {shown}"),
            Reason::UnknownUnit(unit) => {
                format!("time: unknown unit {} in duration {shown}", quoted(unit))
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_the_message_of_go() {
        for (text, reason) in [
            ("30", "time: missing unit in duration \"30\""),
            ("1d", "time: unknown unit \"d\" in duration \"1d\""),
            ("x", "time: invalid duration \"x\""),
            ("", "time: invalid duration \"\""),
            ("-", "time: invalid duration \"-\""),
            (".", "time: invalid duration \".\""),
            (".s", "time: invalid duration \".s\""),
            ("1 s", "time: unknown unit \" s\" in duration \"1 s\""),
            ("1s ", "time: unknown unit \"s \" in duration \"1s \""),
            ("1s30", "time: missing unit in duration \"1s30\""),
            ("--1s", "time: invalid duration \"--1s\""),
            (
                "9223372036854775808ns",
                "time: invalid duration \"9223372036854775808ns\"",
            ),
            ("1e3s", "time: unknown unit \"e\" in duration \"1e3s\""),
            (
                "99999999999999999999999999999999999999999h",
                "time: invalid duration \"99999999999999999999999999999999999999999h\"",
            ),
        ] {
            assert_eq!(parse(text), Err(reason.to_owned()), "{text:?}");
        }
    }
}
