//! Notices that PostgreSQL sends while a statement runs.

use std::{
    mem,
    sync::{Arc, Mutex, Weak},
};

use serde::Serialize;
use ziggurat_runtime::lock;

/// Maximum number of notices that are kept of one statement.
const MAX_NOTICES: usize = 100;

/// Maximum number of bytes of their texts.
const MAX_BYTES: usize = 256 << 10;

/// Notice of PostgreSQL, such as a warning, or the text of `RAISE NOTICE`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// `WARNING`, `NOTICE`, `INFO`, `LOG` or `DEBUG`.
    pub severity: String,
    /// The message.
    pub message: String,
    /// The five-character SQLSTATE code.
    pub sqlstate: String,
    /// The detail.
    pub detail: Option<String>,
    /// The hint.
    pub hint: Option<String>,
}

/// Notices of one statement, the first 100 of them. Clones share the list.
#[derive(Clone, Debug, Default)]
pub struct Notices(Arc<Mutex<List>>);

/// End of a connection into a list; it adds nothing once the list is dropped.
#[derive(Clone, Debug)]
pub(crate) struct NoticeSink(Weak<Mutex<List>>);

#[derive(Debug, Default)]
struct List {
    notices: Vec<Notice>,
    bytes: usize,
}

// === impl Notices ===

impl Notices {
    /// Takes the notices so far.
    #[must_use]
    pub fn take(&self) -> Vec<Notice> {
        mem::take(&mut lock(&self.0).notices)
    }

    /// Returns an end for a connection.
    pub(crate) fn sink(&self) -> NoticeSink {
        NoticeSink(Arc::downgrade(&self.0))
    }
}

// === impl NoticeSink ===

impl NoticeSink {
    /// Adds a notice, unless the list is full or dropped.
    pub(crate) fn add(&self, make: impl FnOnce() -> Notice) {
        let Some(list) = self.0.upgrade() else {
            return;
        };
        let mut list = lock(&list);
        if list.notices.len() == MAX_NOTICES || list.bytes >= MAX_BYTES {
            return;
        }
        let mut notice = make();
        let left = MAX_BYTES - list.bytes;
        notice
            .message
            .truncate(notice.message.floor_char_boundary(left));
        list.bytes += notice.size();
        list.notices.push(notice);
    }
}

// === impl Notice ===

impl Notice {
    fn size(&self) -> usize {
        let more = [&self.detail, &self.hint].into_iter().flatten();
        self.message.len() + more.map(String::len).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(length: usize) -> Notice {
        Notice {
            message: "x".repeat(length),
            ..Notice::default()
        }
    }

    #[test]
    fn a_list_keeps_a_limited_number_and_a_limited_size() {
        let notices = Notices::default();
        let sink = notices.sink();
        for _ in 0..=MAX_NOTICES {
            sink.add(|| notice(1));
        }
        assert_eq!(notices.take().len(), MAX_NOTICES);

        let notices = Notices::default();
        let sink = notices.sink();
        for length in [10, MAX_BYTES, 1] {
            sink.add(|| notice(length));
        }
        let lengths = notices.take().into_iter().map(|it| it.message.len());
        assert_eq!(lengths.collect::<Vec<_>>(), [10, MAX_BYTES - 10]);
        drop(notices);
        sink.add(|| unreachable!("the list is dropped"));
    }
}
