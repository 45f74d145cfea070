//! The place of an error in the arguments of a call.

use std::fmt::Write as _;

/// An object or array that is open at a position.
enum Open<'a> {
    /// With the name, as written, of the member at this position.
    Object(Option<&'a str>),
    /// With the index of the element.
    Array(usize),
}

/// Describes the error in the arguments with the path of the wrong one: a model knows names, not
/// lines and columns.
pub(super) fn complaint(arguments: &str, error: &serde_json::Error) -> String {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = message.strip_suffix(&place).unwrap_or(&message);
    let lines = arguments
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1));
    let end = lines.map(str::len).sum::<usize>() + error.column();
    let path = path(arguments, end);
    if path.is_empty() {
        message.to_owned()
    } else {
        format!("`{path}`: {message}")
    }
}

/// Returns the path of the value at this position of valid JSON: `filter.names[1]`.
fn path(json: &str, end: usize) -> String {
    let mut open = Vec::new();
    let mut at = 0;
    let mut last_string = "";
    while at < end.min(json.len()) {
        match json.as_bytes()[at] {
            b'"' => {
                let from = at + 1;
                at = end_of_string(json.as_bytes(), from);
                last_string = &json[from..at];
            }
            b'{' => open.push(Open::Object(None)),
            b'[' => open.push(Open::Array(0)),
            b'}' | b']' => drop(open.pop()),
            mark @ (b':' | b',') => match open.last_mut() {
                Some(Open::Array(index)) => *index += 1,
                Some(Open::Object(member)) => *member = (mark == b':').then_some(last_string),
                None => {}
            },
            _ => {}
        }
        at += 1;
    }
    let mut path = String::new();
    for one in open {
        let done = match one {
            Open::Object(Some(member)) if path.is_empty() => write!(path, "{member}"),
            Open::Object(Some(member)) => write!(path, ".{member}"),
            Open::Object(None) => Ok(()),
            Open::Array(index) => write!(path, "[{index}]"),
        };
        done.expect("a string accepts everything");
    }
    path
}

/// Returns the position of the quotation mark that ends a string.
fn end_of_string(json: &[u8], mut at: usize) -> usize {
    while at < json.len() && json[at] != b'"' {
        at += if json[at] == b'\\' { 2 } else { 1 };
    }
    at.min(json.len())
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::complaint;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only errors are looked at")]
    struct Search {
        text: String,
        #[serde(default)]
        limits: Vec<u32>,
        filter: Option<Filter>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only errors are looked at")]
    struct Filter {
        years: Vec<u32>,
    }

    #[test]
    fn the_wrong_argument_is_named() {
        let cases = [
            ("{}", "missing field `text`"),
            (
                r#"{"text": 7}"#,
                "`text`: invalid type: integer `7`, expected a string",
            ),
            (
                "{\n \"limits\": [1, {}],\n \"text\": \"\"}",
                "`limits[1]`: invalid type: map, expected u32",
            ),
            (
                r#"{"text": "\\\"{[", "limits": [1, 2, -3]}"#,
                "`limits[2]`: invalid value: integer `-3`, expected u32",
            ),
            (
                r#"{"text": "", "filter": {"years": {"from": 1}}}"#,
                "`filter.years`: invalid type: map, expected a sequence",
            ),
            (
                r#"{"filter": {"months": [[], {"a": [1, 2]}]}, "text": ""}"#,
                "`filter`: missing field `years`",
            ),
            (
                r#"{"text": "", "limit": 3}"#,
                "unknown field `limit`, expected one of `text`, `limits`, `filter`",
            ),
        ];
        for (arguments, expected) in cases {
            let error = serde_json::from_str::<Search>(arguments).expect_err(expected);
            assert_eq!(complaint(arguments, &error), expected, "{arguments}");
        }
    }
}
