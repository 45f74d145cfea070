//! Lines of a file from its end to its start.

use std::{
    fs::File,
    io,
    os::unix::fs::{FileExt as _, MetadataExt as _},
};

/// Bytes that are read at once.
const BLOCK: usize = 64 << 10;

/// Longest line. A longer line is not a record, and the file is not read further.
const MAX_LINE: usize = 4 << 20;

/// Reads the lines of a file from its end to its start, a block at a time.
pub(crate) struct BackwardLines {
    file: File,
    /// Position of the first byte of the buffer in the file.
    start: u64,
    /// Bytes before the line that was returned last.
    buffer: Vec<u8>,
}

// === impl BackwardLines ===

impl BackwardLines {
    /// Begins at the end of the last complete line.
    pub(crate) fn new(file: File) -> io::Result<Self> {
        let end = file.metadata()?.size();
        let mut lines = Self::before(file, end);
        // An incomplete line is still being written.
        lines.take_line()?;
        Ok(lines)
    }

    /// Begins at a position, which is the start of a line.
    pub(crate) fn before(file: File, position: u64) -> Self {
        Self {
            file,
            start: position,
            buffer: Vec::new(),
        }
    }

    /// Returns the end of the lines that are left.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.buffer.len() as u64
    }

    /// Returns the line before, with its position and without its line break.
    pub(crate) fn previous(&mut self) -> io::Result<Option<(u64, Vec<u8>)>> {
        if self.buffer.is_empty() && !self.read_block()? {
            return Ok(None);
        }
        self.buffer.pop_if(|byte| *byte == b'\n');
        let line = self.take_line()?;
        Ok(Some((self.end(), line)))
    }

    /// Takes the bytes behind the last line break.
    fn take_line(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(at) = self.buffer.iter().rposition(|byte| *byte == b'\n') {
                return Ok(self.buffer.split_off(at + 1));
            }
            if self.buffer.len() > MAX_LINE {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "a line of the audit file is too long",
                ));
            }
            if !self.read_block()? {
                return Ok(std::mem::take(&mut self.buffer));
            }
        }
    }

    /// Puts the block before the buffer in front of it. Returns false at the start of the file.
    fn read_block(&mut self) -> io::Result<bool> {
        let length = BLOCK.min(usize::try_from(self.start).unwrap_or(usize::MAX));
        let mut block = vec![0; length];
        let start = self.start - length as u64;
        self.file.read_exact_at(&mut block, start)?;
        block.append(&mut self.buffer);
        self.buffer = block;
        self.start = start;
        Ok(length > 0)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn lines(text: &str, before: Option<u64>) -> Vec<(u64, String)> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lines");
        fs::write(&path, text).expect("written");
        let file = File::open(path).expect("a file");
        let mut lines = match before {
            Some(before) => BackwardLines::before(file, before),
            None => BackwardLines::new(file).expect("read"),
        };
        let mut found = Vec::new();
        while let Some((at, line)) = lines.previous().expect("read") {
            found.push((at, String::from_utf8(line).expect("text")));
        }
        found
    }

    #[test]
    fn lines_come_from_the_last_complete_one_to_the_first() {
        let owned = |list: &[(u64, &str)]| {
            let owned = list.iter().map(|(at, line)| (*at, (*line).to_owned()));
            owned.collect::<Vec<_>>()
        };
        for (text, expected) in [
            ("", &[][..]),
            ("torn", &[]),
            ("a\n", &[(0, "a")]),
            ("a\nbc\ntorn", &[(2, "bc"), (0, "a")]),
            ("a\n\nb\n", &[(3, "b"), (2, ""), (0, "a")]),
        ] {
            assert_eq!(lines(text, None), owned(expected), "{text:?}");
        }
        assert_eq!(lines("a\nbc\nd\n", Some(5)), owned(&[(2, "bc"), (0, "a")]));
    }

    #[test]
    fn blocks_are_joined_whatever_the_length_of_lines() {
        for length in [1, BLOCK - 2, BLOCK - 1, BLOCK, 3 * BLOCK + 7] {
            let text = format!("{}\n", "x".repeat(length)).repeat(3) + "last\n";
            let found = lines(&text, None);
            assert_eq!(found.len(), 4, "{length}");
            assert_eq!(found[0].1, "last");
            assert!(found[1..].iter().all(|(_, line)| line.len() == length));
            assert_eq!(found[3].0, 0);
        }
    }

    #[test]
    fn a_line_without_end_is_not_held() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lines");
        fs::write(&path, vec![b'x'; 2 * MAX_LINE]).expect("written");
        let failed = BackwardLines::new(File::open(path).expect("a file"));
        assert!(failed.is_err());
    }
}
