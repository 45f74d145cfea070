//! Lines of an audit trail as they are read.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader},
    path::Path,
};

use crate::line::{CHAIN, chain::Hex};

/// A line, taken apart as far as the chain and the next start need it.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) seq: u64,
    pub(crate) kind: &'a str,
    /// Sequence number of the `open` line of a call.
    pub(crate) open: Option<u64>,
    /// Members after these, up to the link.
    pub(crate) rest: &'a str,
    /// All that the link covers.
    pub(crate) covered: &'a str,
    pub(crate) link: Hex,
}

/// Start of a file that continues another.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Continued {
    /// Name of the file before.
    pub(crate) file: String,
    /// Link of its last line.
    pub(crate) link: Option<Hex>,
    /// Sequence number of the first `open` line in the files before that had no `call` line yet.
    pub(crate) oldest_open: Option<u64>,
}

// === impl Entry ===

impl<'a> Entry<'a> {
    /// Reads a line without its line break.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let text = str::from_utf8(bytes).ok()?;
        let (covered, link) = text.rsplit_once(CHAIN)?;
        let link = link.strip_prefix('"')?.strip_suffix("\"}")?;
        let rest = covered.strip_prefix("{\"v\":1,\"seq\":")?;
        let (seq, rest) = rest.split_once(",\"at\":\"")?;
        let (_, rest) = rest.split_once("\",\"kind\":\"")?;
        let (kind, rest) = rest.split_once('"')?;
        let (open, rest) = match rest.strip_prefix(",\"open\":") {
            Some(rest) => {
                let (open, _) = rest.split_once(',').unwrap_or((rest, ""));
                (Some(number(open)?), rest.get(open.len()..)?)
            }
            None => (None, rest),
        };
        Some(Self {
            seq: number(seq)?,
            kind,
            open,
            rest,
            covered,
            link: Hex::parse(link.as_bytes())?,
        })
    }

    /// Returns the first record that the server has kept, if this line ends a file for which it deleted
    /// old ones.
    pub(crate) fn kept_from(&self) -> Option<u64> {
        self.whole("rotate")?.get("kept_from")?.as_u64()
    }

    /// Returns the file that this line continues, if it is the start of one.
    pub(crate) fn continued(&self) -> Option<Continued> {
        let whole = self.whole("start")?;
        let before = whole.get("previous")?;
        let chain = before.get("chain").and_then(|chain| chain.as_str());
        Some(Continued {
            file: before.get("file")?.as_str()?.to_owned(),
            link: chain.and_then(|chain| Hex::parse(chain.as_bytes())),
            oldest_open: whole.get("oldest_open").and_then(serde_json::Value::as_u64),
        })
    }

    /// Reads all members of a line of this kind.
    fn whole(&self, kind: &str) -> Option<serde_json::Value> {
        let text = (self.kind == kind).then(|| format!("{}}}", self.covered))?;
        serde_json::from_str(&text).ok()
    }
}

/// Reads the first line of a file, without its line break.
pub(crate) fn first_line(path: &Path) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    BufReader::new(File::open(path)?).read_until(b'\n', &mut line)?;
    line.pop_if(|byte| *byte == b'\n');
    Ok(line)
}

/// Reads a number as it is written, without a sign or zeros before it.
fn number(digits: &str) -> Option<u64> {
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    digits.parse().ok().filter(|_| is_number)
}
