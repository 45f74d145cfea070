//! Character references of HTML.

/// The names that documents use; other names stay unchanged.
const NAMES: [(&str, &str); 62] = [
    ("amp", "&"),
    ("apos", "'"),
    ("bull", "•"),
    ("cent", "¢"),
    ("copy", "©"),
    ("deg", "°"),
    ("divide", "÷"),
    ("euro", "€"),
    ("frac12", "½"),
    ("ge", "≥"),
    ("gt", ">"),
    ("harr", "↔"),
    ("hellip", "…"),
    ("infin", "∞"),
    ("laquo", "«"),
    ("larr", "←"),
    ("ldquo", "“"),
    ("le", "≤"),
    ("lsquo", "‘"),
    ("lt", "<"),
    ("mdash", "—"),
    ("micro", "µ"),
    ("middot", "·"),
    ("minus", "−"),
    ("nbsp", " "),
    ("ndash", "–"),
    ("ne", "≠"),
    ("para", "¶"),
    ("plusmn", "±"),
    ("pound", "£"),
    ("quot", "\""),
    ("raquo", "»"),
    ("rarr", "→"),
    ("rdquo", "”"),
    ("reg", "®"),
    ("rsquo", "’"),
    ("sect", "§"),
    ("shy", ""),
    ("times", "×"),
    ("trade", "™"),
    ("uarr", "↑"),
    ("darr", "↓"),
    ("ensp", " "),
    ("emsp", " "),
    ("thinsp", " "),
    ("zwnj", ""),
    ("zwj", ""),
    ("Auml", "Ä"),
    ("auml", "ä"),
    ("Ouml", "Ö"),
    ("ouml", "ö"),
    ("Uuml", "Ü"),
    ("uuml", "ü"),
    ("szlig", "ß"),
    ("agrave", "à"),
    ("aacute", "á"),
    ("ccedil", "ç"),
    ("egrave", "è"),
    ("eacute", "é"),
    ("ntilde", "ñ"),
    ("oacute", "ó"),
    ("oslash", "ø"),
];

/// Maximum length of a name or a number.
const LONGEST: usize = 10;

/// Meaning of the numbers 128 to 159 (Windows-1252), which are control characters in Unicode.
const WINDOWS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Appends a text with its character references decoded.
pub(super) fn decode(text: &str, into: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        into.push_str(&rest[..at]);
        let name = &rest[at + 1..];
        let window = &name.as_bytes()[..name.len().min(LONGEST + 1)];
        let end = window.iter().position(|byte| *byte == b';');
        match end.and_then(|end| Some((end, character(&name[..end])?))) {
            Some((end, Named::Text(text))) => {
                into.push_str(text);
                rest = &name[end + 1..];
            }
            Some((end, Named::Number(c))) => {
                into.push(c);
                rest = &name[end + 1..];
            }
            None => {
                into.push('&');
                rest = name;
            }
        }
    }
    into.push_str(rest);
}

enum Named {
    Text(&'static str),
    Number(char),
}

fn character(name: &str) -> Option<Named> {
    let Some(number) = name.strip_prefix('#') else {
        let known = NAMES.iter().find(|(known, _)| *known == name);
        return known.map(|(_, text)| Named::Text(text));
    };
    let number = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
        None => number.parse().ok()?,
    };
    let windows = number
        .checked_sub(128)
        .and_then(|at| usize::try_from(at).ok());
    if let Some(c) = windows.and_then(|at| WINDOWS.get(at)) {
        return Some(Named::Number(*c));
    }
    let c = char::from_u32(number).filter(|c| *c != '\0');
    Some(Named::Number(c.unwrap_or(char::REPLACEMENT_CHARACTER)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_decoded_by_name_and_number() {
        for (text, expected) in [
            ("a &lt; b &amp;&amp; c &gt; d", "a < b && c > d"),
            ("&#8212;&#x2014;&#X2014;&#151;", "————"),
            ("&amp;lt;", "&lt;"),
            (
                "AT&T &unknown; &amp &#; &#x; &",
                "AT&T &unknown; &amp &#; &#x; &",
            ),
            ("&#0;&#xD800;&#x110000;", "\u{fffd}\u{fffd}\u{fffd}"),
            ("&é;&\u{1f600}aaaaaaaaaaaa;", "&é;&\u{1f600}aaaaaaaaaaaa;"),
            ("&#99999999999999;", "&#99999999999999;"),
        ] {
            let mut decoded = String::new();
            decode(text, &mut decoded);
            assert_eq!(decoded, expected, "{text}");
        }
    }
}
