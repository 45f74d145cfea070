//! The events of a response (server-sent events, WHATWG HTML).

use crate::mcp::lists::Edited;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Maps the data of each event of a stream; `None` if one cannot be mapped.
///
/// All other lines stay as they are. An event that the stream breaks off is mapped too, although a
/// client should drop it.
pub(super) fn map(stream: &str, mut map: impl FnMut(&str) -> Option<Edited>) -> Option<String> {
    let mut out = String::with_capacity(stream.len());
    let mut rest = stream.strip_prefix(BYTE_ORDER_MARK).unwrap_or(stream);
    while !rest.is_empty() {
        let (event, after) = split_event(rest);
        let data = data(event);
        match data.filter(|data| !data.is_empty()).map(|data| map(&data)) {
            Some(Some(Edited::To(edited))) => push_event(&mut out, event, &edited),
            Some(None) => return None,
            None | Some(Some(Edited::Same)) => out.push_str(event),
        }
        rest = after;
    }
    Some(out)
}

/// Splits after the first blank line.
fn split_event(stream: &str) -> (&str, &str) {
    let mut end = 0;
    for (line, whole) in lines(stream) {
        end += whole.len();
        if line.is_empty() {
            break;
        }
    }
    stream.split_at(end)
}

/// Joins the data of an event; `None` if it has none.
fn data(event: &str) -> Option<String> {
    let values: Vec<_> = lines(event).filter_map(|(line, _)| value(line)).collect();
    (!values.is_empty()).then(|| values.join("\n"))
}

/// Writes an event with other data at the place of the first line of data.
fn push_event(out: &mut String, event: &str, data: &str) {
    let mut data = Some(data);
    for (line, whole) in lines(event) {
        if value(line).is_none() {
            out.push_str(whole);
            continue;
        }
        for piece in data.take().into_iter().flat_map(|data| data.split('\n')) {
            out.push_str("data: ");
            out.push_str(piece);
            out.push('\n');
        }
    }
}

/// Returns the value of a line of data.
fn value(line: &str) -> Option<&str> {
    let value = if line == "data" {
        ""
    } else {
        line.strip_prefix("data:")?
    };
    Some(value.strip_prefix(' ').unwrap_or(value))
}

/// Returns the lines, each without and with its end: a line feed, a carriage return, or both.
fn lines(mut text: &str) -> impl Iterator<Item = (&str, &str)> {
    std::iter::from_fn(move || {
        if text.is_empty() {
            return None;
        }
        let length = text.find(['\r', '\n']).unwrap_or(text.len());
        let (line, end) = text.split_at(length);
        let end = if end.starts_with("\r\n") {
            2
        } else {
            end.len().min(1)
        };
        let (whole, rest) = text.split_at(length + end);
        text = rest;
        Some((line, whole))
    })
}
