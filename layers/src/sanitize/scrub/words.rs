//! The names, schemes and key prefixes of credentials.

/// Of a longer name only the last part is checked.
pub(super) const LONGEST_NAME: usize = 64;

/// Names of secrets, without case, `_`, `-` and `.`; a longer name that contains one counts too.
const NAMES: &[&[u8]] = &[
    b"password",
    b"passwd",
    b"passphrase",
    b"pwd",
    b"secret",
    b"token",
    b"apikey",
    b"accesskey",
    b"accountkey",
    b"encryptionkey",
    b"privatekey",
    b"sharedkey",
    b"signingkey",
    b"authorization",
    b"bearer",
    b"cookie",
    b"credential",
];

/// Names that mean a secret in a query string only.
const QUERY_NAMES: &[&[u8]] = &[
    b"auth",
    b"code",
    b"key",
    b"pw",
    b"sig",
    b"signature",
    b"xamzsignature",
];

/// The [`NAMES`] with values that contain blanks.
const HEADERS: &[&[u8]] = &[b"authorization", b"cookie"];

/// Words that make the following word `key` the name of a secret.
const KINDS_OF_KEY: &[&[u8]] = &[
    b"access", b"api", b"private", b"secret", b"shared", b"signing",
];

/// Authentication schemes with credentials behind them.
pub(super) const SCHEMES: [&[u8]; 2] = [b"bearer", b"basic"];

/// Prefixes of the keys of well-known services.
const KEYS: &[KeyForm] = &[
    KeyForm::anywhere("sk-ant-", 6),
    KeyForm::at_start("sk-", 6),
    KeyForm::at_start("sk_live_", 6),
    KeyForm::at_start("sk_test_", 6),
    KeyForm::at_start("rk_live_", 6),
    KeyForm::at_start("pa-", 10),
    KeyForm::at_start("hf_", 10),
    KeyForm::at_start("gsk_", 10),
    KeyForm::at_start("xai-", 10),
    KeyForm::at_start("npm_", 10),
    KeyForm::anywhere("AIza", 10),
    KeyForm::at_start("ya29.", 10),
    KeyForm::anywhere("ghp_", 10),
    KeyForm::anywhere("gho_", 10),
    KeyForm::anywhere("ghu_", 10),
    KeyForm::anywhere("ghs_", 10),
    KeyForm::anywhere("ghr_", 10),
    KeyForm::anywhere("github_pat_", 10),
    KeyForm::anywhere("glpat-", 10),
    KeyForm::anywhere("xoxa-", 6),
    KeyForm::anywhere("xoxb-", 6),
    KeyForm::anywhere("xoxp-", 6),
    KeyForm::anywhere("xoxr-", 6),
    KeyForm::anywhere("xoxs-", 6),
    KeyForm::at_start("AKIA", 12),
    KeyForm::at_start("ASIA", 12),
    KeyForm::anywhere("eyJ", 10),
];

/// The form of the keys of one service.
struct KeyForm {
    prefix: &'static str,
    /// Minimum number of characters after the prefix.
    tail: usize,
    /// True if a key may begin in the middle of a word.
    anywhere: bool,
}

/// The meaning of a name for the value behind it.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    /// It is a secret.
    Secret,
    /// It is a header that may hold several secrets.
    Header,
    /// It is a secret in a query string.
    Parameter,
}

/// Returns the meaning of `name`, which has `before` in front of it, if the value behind it must be
/// hidden.
pub(super) fn meaning(name: &[u8], before: &[u8], in_query: bool) -> Option<Meaning> {
    let mut folded = [0; LONGEST_NAME];
    let letters = name.iter().filter(|byte| byte.is_ascii_alphanumeric());
    let length = folded
        .iter_mut()
        .zip(letters)
        .map(|(to, from)| *to = from.to_ascii_lowercase())
        .count();
    let folded = &folded[..length];

    let is_secret = NAMES.iter().any(|word| contains_word(folded, word))
        || last_word(name).eq_ignore_ascii_case(b"pass")
        || in_query && QUERY_NAMES.contains(&folded)
        || folded == b"key" && follows_kind_of_key(before);
    if !is_secret {
        None
    } else if in_query {
        Some(Meaning::Parameter)
    } else if HEADERS.iter().any(|header| folded.ends_with(header)) {
        Some(Meaning::Header)
    } else {
        Some(Meaning::Secret)
    }
}

/// Returns the length of the key at the beginning of `text`, if there is one.
pub(super) fn key_length(text: &[u8], starts_word: bool) -> Option<usize> {
    KEYS.iter()
        .filter(|key| key.anywhere || starts_word)
        .find_map(|key| {
            let tail = text.strip_prefix(key.prefix.as_bytes())?;
            let length = tail.iter().take_while(|&&byte| is_key(byte)).count();
            (length >= key.tail).then_some(key.prefix.len() + length)
        })
}

/// Returns whether a name may contain the byte.
pub(super) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Returns whether a key may contain the byte; providers mask keys with stars.
fn is_key(byte: u8) -> bool {
    is_name(byte) || byte == b'*'
}

/// Returns whether a token68 may contain the byte (RFC 9110, section 11.2, without the padding).
pub(super) fn is_token68(byte: u8) -> bool {
    is_key(byte) || matches!(byte, b'~' | b'+' | b'/')
}

/// Returns whether the name contains the word, except in `tokens` and `tokenizer`.
fn contains_word(name: &[u8], word: &[u8]) -> bool {
    name.windows(word.len())
        .enumerate()
        .filter(|(_, window)| *window == word)
        .any(|(at, _)| word != b"token" || !matches!(name.get(at + word.len()), Some(b's' | b'i')))
}

fn last_word(name: &[u8]) -> &[u8] {
    let start = name.iter().rposition(|byte| !byte.is_ascii_alphanumeric());
    &name[start.map_or(0, |separator| separator + 1)..]
}

/// Returns whether the text ends in `api ` or similar, so that `key` belongs to it.
fn follows_kind_of_key(text: &[u8]) -> bool {
    text.split_last().is_some_and(|(&blank, text)| {
        blank == b' ' && KINDS_OF_KEY.iter().any(|kind| ends_with_word(text, kind))
    })
}

pub(super) fn starts_with_word(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(word))
}

pub(super) fn ends_with_word(text: &[u8], word: &[u8]) -> bool {
    let start = text.len().checked_sub(word.len());
    start.is_some_and(|start| text[start..].eq_ignore_ascii_case(word))
}

// === impl KeyForm ===

impl KeyForm {
    const fn anywhere(prefix: &'static str, tail: usize) -> Self {
        Self {
            prefix,
            tail,
            anywhere: true,
        }
    }

    const fn at_start(prefix: &'static str, tail: usize) -> Self {
        Self {
            prefix,
            tail,
            anywhere: false,
        }
    }
}
