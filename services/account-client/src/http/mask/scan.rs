//! Finds the positions of secret members in JSON text, so that only they are replaced.

use std::ops::Range;

/// Maximum nesting; below it the positions count as unknown.
const DEEPEST: usize = 128;

/// Result of the scan of a text.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The positions of the secret values, in order, not overlapping.
    pub(super) spans: Vec<Range<usize>>,
    /// The names in the outermost object, as far as parsed; `None` if it is not an object.
    pub(super) keys: Option<Vec<String>>,
    /// Set if the text is valid JSON, so that all positions were found.
    pub(super) is_complete: bool,
}

struct Walk<'a> {
    text: &'a [u8],
    at: usize,
    is_secret: fn(&str) -> bool,
    found: Scan,
}

/// Error: the rest of the text is not JSON.
struct Broken;

/// Scans one JSON value, or several in a row, for the values of secret members.
pub(super) fn scan(text: &[u8], is_secret: fn(&str) -> bool) -> Scan {
    let mut walk = Walk {
        text,
        at: 0,
        is_secret,
        found: Scan::default(),
    };
    walk.blank();
    let mut broken = walk.at == text.len();
    while walk.at < text.len() && !broken {
        broken = walk.value(0, true).is_err();
        walk.blank();
    }
    walk.found.is_complete = !broken;
    walk.found
}

/// Decodes a name between two quotes.
pub(super) fn unescaped(raw: &[u8]) -> String {
    if raw.contains(&b'\\') {
        let quoted = [b"\"", raw, b"\""].concat();
        if let Ok(name) = serde_json::from_slice(&quoted) {
            return name;
        }
    }
    String::from_utf8_lossy(raw).into_owned()
}

// === impl Walk ===

impl Walk<'_> {
    fn value(&mut self, depth: usize, is_watched: bool) -> Result<(), Broken> {
        if depth > DEEPEST {
            return Err(Broken);
        }
        match self.text.get(self.at) {
            Some(b'{') => self.object(depth, is_watched),
            Some(b'[') => self.array(depth, is_watched),
            Some(b'"') => self.string().map(drop),
            Some(_) => self.scalar(),
            None => Err(Broken),
        }
    }

    fn object(&mut self, depth: usize, is_watched: bool) -> Result<(), Broken> {
        if depth == 0 {
            self.found.keys.get_or_insert_default();
        }
        self.at += 1;
        self.blank();
        if self.takes(b'}') {
            return Ok(());
        }
        loop {
            let name = unescaped(&self.text[self.string()?]);
            self.blank();
            self.must(b':')?;
            self.blank();
            let is_secret = is_watched && (self.is_secret)(&name);
            if depth == 0
                && let Some(keys) = &mut self.found.keys
            {
                keys.push(name);
            }
            let start = self.at;
            self.value(depth + 1, is_watched && !is_secret)?;
            if is_secret {
                self.found.spans.push(start..self.at);
            }
            self.blank();
            if self.takes(b'}') {
                return Ok(());
            }
            self.must(b',')?;
            self.blank();
        }
    }

    fn array(&mut self, depth: usize, is_watched: bool) -> Result<(), Broken> {
        self.at += 1;
        self.blank();
        if self.takes(b']') {
            return Ok(());
        }
        loop {
            self.value(depth + 1, is_watched)?;
            self.blank();
            if self.takes(b']') {
                return Ok(());
            }
            self.must(b',')?;
            self.blank();
        }
    }

    /// Skips a string; returns the range between its quotes.
    fn string(&mut self) -> Result<Range<usize>, Broken> {
        self.must(b'"')?;
        let start = self.at;
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'"' => {
                    self.at += 1;
                    return Ok(start..self.at - 1);
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        Err(Broken)
    }

    fn scalar(&mut self) -> Result<(), Broken> {
        let rest = &self.text[self.at..];
        let length = rest
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
            .count();
        serde_json::from_slice::<serde::de::IgnoredAny>(&rest[..length]).map_err(|_| Broken)?;
        self.at += length;
        Ok(())
    }

    fn blank(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn takes(&mut self, expected: u8) -> bool {
        let is_there = self.text.get(self.at) == Some(&expected);
        self.at += usize::from(is_there);
        is_there
    }

    fn must(&mut self, expected: u8) -> Result<(), Broken> {
        if self.takes(expected) {
            Ok(())
        } else {
            Err(Broken)
        }
    }
}
