//! Lines that wait for the writer.

use std::mem;

use jiff::Timestamp;

/// Size to which the buffer of written lines is reduced.
const MAX_KEPT_BYTES: usize = 1024 * 1024;

/// Lines in the order in which they came.
///
/// The members of all of them are one block of memory, so that the queue hands it to the writer at
/// once, and no record outlives its call.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    heads: Vec<Head>,
    members: Vec<u8>,
}

/// A line without its members.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) kind: &'static str,
    pub(crate) at: Timestamp,
    /// Sequence number of the `open` line of the same call.
    pub(crate) open: Option<u64>,
    /// Length of the members.
    length: usize,
}

// === impl Lines ===

impl Lines {
    pub(crate) fn len(&self) -> usize {
        self.heads.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    pub(crate) fn push(
        &mut self,
        kind: &'static str,
        at: Timestamp,
        open: Option<u64>,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let start = self.members.len();
        write(&mut self.members);
        let length = self.members.len() - start;
        self.heads.push(Head {
            kind,
            at,
            open,
            length,
        });
    }

    /// Moves the lines of `others` behind these.
    pub(crate) fn append(&mut self, others: &mut Self) {
        self.heads.append(&mut others.heads);
        self.members.append(&mut others.members);
    }

    /// Moves the first lines into `to`, which is empty.
    pub(crate) fn move_first(&mut self, count: usize, to: &mut Self) {
        if self.len() <= count {
            mem::swap(self, to);
            return;
        }
        to.heads.extend(self.heads.drain(..count));
        let length: usize = to.heads.iter().map(|head| head.length).sum();
        to.members.extend(self.members.drain(..length));
    }

    /// Removes the lines after the first ones. Returns their number.
    pub(crate) fn truncate(&mut self, count: usize) -> usize {
        let removed = self.heads.drain(self.len().min(count)..);
        let (lines, bytes) = removed.fold((0, 0), |(lines, bytes), head| {
            (lines + 1, bytes + head.length)
        });
        self.members.truncate(self.members.len() - bytes);
        lines
    }

    pub(crate) fn clear(&mut self) {
        self.heads.clear();
        self.members.clear();
        self.members.shrink_to(MAX_KEPT_BYTES);
    }

    /// Returns the lines with their members.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Head, &[u8])> {
        let mut rest = &*self.members;
        self.heads.iter().map(move |head| {
            let (members, after) = rest.split_at_checked(head.length).unwrap_or((rest, &[]));
            rest = after;
            (head, members)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(texts: &[&str]) -> Lines {
        let mut lines = Lines::default();
        for text in texts {
            lines.push("call", Timestamp::UNIX_EPOCH, None, |out| {
                out.extend_from_slice(text.as_bytes());
            });
        }
        lines
    }

    fn texts(lines: &Lines) -> Vec<&str> {
        let text = |(_, members)| str::from_utf8(members).expect("text");
        lines.iter().map(text).collect()
    }

    #[test]
    fn each_line_keeps_its_members_wherever_it_is_moved() {
        let mut rest = lines(&["a", "", "bcd", "ef"]);
        let mut first = Lines::default();
        rest.move_first(2, &mut first);
        assert_eq!(texts(&first), ["a", ""]);
        assert_eq!(texts(&rest), ["bcd", "ef"]);
        first.append(&mut rest);
        assert_eq!(texts(&first), ["a", "", "bcd", "ef"]);
        assert!(rest.is_empty() && texts(&rest).is_empty());
        assert_eq!(first.truncate(3), 1);
        assert_eq!(first.truncate(9), 0);
        first.append(&mut lines(&["g"]));
        assert_eq!(texts(&first), ["a", "", "bcd", "g"]);
        first.move_first(9, &mut rest);
        assert_eq!((first.len(), rest.len()), (0, 4));
        rest.clear();
        assert!(texts(&rest).is_empty());
    }
}
