//! Documents that are lines of one file, each an object of JSON.

use std::io::{self, BufRead, Read as _};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    document::Document,
    file::{MAX_FILE, ReadError},
    kind::Kind,
};

/// A document of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its name.
    pub id: String,
    /// Its address, if it has one.
    pub url: Option<String>,
    /// Its title, text and metadata.
    pub document: Document,
    /// The line itself.
    pub line: String,
}

/// Line of a file.
#[derive(Debug)]
pub struct Line {
    /// Its number, from one on.
    pub number: u64,
    /// The document, or the reason why the line is not a document.
    pub record: Result<Record, ReadError>,
}

/// Reads the documents of a file, one line at a time.
#[derive(Debug)]
pub struct JsonLines<R> {
    input: R,
    number: u64,
}

#[derive(Deserialize)]
struct RawRecord {
    id: Id,
    title: Option<String>,
    text: String,
    url: Option<String>,
    metadata: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Id {
    Text(String),
    Number(i64),
}

// === impl JsonLines ===

impl<R: BufRead> JsonLines<R> {
    /// Reads from this input.
    pub fn new(input: R) -> Self {
        Self { input, number: 0 }
    }

    /// Reads the next line that is not blank.
    fn read(&mut self) -> io::Result<Option<Line>> {
        loop {
            let mut bytes = Vec::new();
            let mut limited = (&mut self.input).take(MAX_FILE + 1);
            if limited.read_until(b'\n', &mut bytes)? == 0 {
                return Ok(None);
            }
            self.number += 1;
            let number = self.number;
            let record = if bytes.len() as u64 > MAX_FILE {
                self.skip_line(&bytes)?;
                Err(ReadError::TooLarge)
            } else if bytes.trim_ascii().is_empty() {
                continue;
            } else {
                let line = String::from_utf8(bytes).map_err(|_| ReadError::NotText);
                line.and_then(|line| Record::parse(&line))
            };
            return Ok(Some(Line { number, record }));
        }
    }

    /// Reads to the end of a line, and keeps nothing.
    fn skip_line(&mut self, begun: &[u8]) -> io::Result<()> {
        if begun.ends_with(b"\n") {
            return Ok(());
        }
        self.input.skip_until(b'\n').map(drop)
    }
}

impl<R: BufRead> Iterator for JsonLines<R> {
    type Item = io::Result<Line>;

    fn next(&mut self) -> Option<io::Result<Line>> {
        self.read().transpose()
    }
}

// === impl Record ===

impl Record {
    fn parse(line: &str) -> Result<Self, ReadError> {
        let line = line.trim();
        let raw: RawRecord = serde_json::from_str(line)?;
        let id = match raw.id {
            Id::Text(id) => id,
            Id::Number(id) => id.to_string(),
        };
        if id.is_empty() {
            return Err(ReadError::NoId);
        }
        let mut document = Document::read(Kind::Text, &raw.text);
        document.title = raw.title.filter(|title| !title.trim().is_empty());
        document.metadata = raw.metadata.unwrap_or_default();
        Ok(Self {
            id,
            url: raw.url,
            document,
            line: line.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Vec<Line> {
        let lines: io::Result<Vec<_>> = JsonLines::new(text).collect();
        lines.expect("read")
    }

    #[test]
    fn each_line_is_a_document_and_a_bad_one_is_named() {
        let text = b"{\"id\": \"a\", \"text\": \"loam\", \"title\": \"Beds\", \"url\": \"https://e.x/a\", \
                     \"metadata\": {\"lang\": \"en\"}}\n\n{\"id\": 7, \"text\": \"\"}\n{\"id\": \"b\"}\n\
                     \xff\n{\"id\": \"\", \"text\": \"x\"}\n";
        let lines = read(text);
        let numbers: Vec<_> = lines.iter().map(|line| line.number).collect();
        assert_eq!(numbers, [1, 3, 4, 5, 6]);
        let first = lines[0].record.as_ref().expect("good");
        assert_eq!(
            (&*first.id, first.url.as_deref()),
            ("a", Some("https://e.x/a"))
        );
        assert_eq!(first.document.title.as_deref(), Some("Beds"));
        assert_eq!(first.document.metadata["lang"], "en");
        assert_eq!(lines[1].record.as_ref().expect("good").id, "7");
        for (line, reason) in [
            (2, "missing field `text`"),
            (3, "UTF-8"),
            (4, "id is empty"),
        ] {
            let problem = lines[line].record.as_ref().expect_err("bad").to_string();
            assert!(problem.contains(reason), "{problem}");
        }
    }

    #[test]
    fn a_line_without_an_end_is_skipped_and_not_held() {
        let size = usize::try_from(MAX_FILE).expect("it fits");
        for length in [size, size + 1, 3 * size] {
            let mut text = vec![b'x'; length];
            text.extend_from_slice(b"\n{\"id\": 1, \"text\": \"after\"}\n");
            let lines = read(&text);
            assert!(lines[0].record.is_err());
            assert_eq!(lines[1].record.as_ref().expect("good").id, "1", "{length}");
        }
        let deep = format!(
            "{{\"id\": 1, \"text\": \"\", \"metadata\": {}",
            "[".repeat(100_000)
        );
        assert!(read(deep.as_bytes())[0].record.is_err());
    }
}
