//! The segments of a path that lead elsewhere.

/// Returns whether a segment is `.` or `..`, literally or percent-encoded.
///
/// An encoded slash or backslash counts as the end of a segment, because some routers
/// decode before they split.
pub(crate) fn has_dot_segment(path: &str) -> bool {
    let bytes = path.as_bytes();
    let mut dots = Some(0);
    let mut at = 0;
    while at < bytes.len() {
        let (byte, width) = percent_decoded(&bytes[at..]);
        at += width;
        dots = match (byte, dots) {
            (b'/' | b'\\', Some(1 | 2)) => return true,
            (b'/' | b'\\', _) => Some(0),
            (b'.', Some(count)) => Some(count + 1),
            _ => None,
        };
    }
    matches!(dots, Some(1 | 2))
}

/// Returns the first byte of a path, decoded once, and its encoded length.
fn percent_decoded(bytes: &[u8]) -> (u8, usize) {
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|d| u8::try_from(d).ok())
    };
    match *bytes {
        [b'%', high, low, ..] => match (digit(high), digit(low)) {
            (Some(high), Some(low)) => (high << 4 | low, 3),
            _ => (b'%', 1),
        },
        _ => (bytes[0], 1),
    }
}
