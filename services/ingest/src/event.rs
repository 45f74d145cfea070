//! Progress and result of a run.

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The number of files is known; zero for standard input.
    Begun {
        /// The number.
        files: usize,
    },
    /// The table was created.
    Created {
        /// Its name.
        table: &'a str,
    },
    /// Another source has ids that begin with the name of a folder.
    Renamed {
        /// The source.
        source: &'a str,
        /// The other source.
        other: &'a str,
        /// Beginning of the ids of the source.
        prefix: &'a str,
    },
    /// A file was read to its end.
    FileRead,
    /// A document is in the table already.
    Kept {
        /// Its id.
        id: &'a str,
    },
    /// The passages of documents got their vectors.
    Embedded {
        /// Number of passages.
        passages: usize,
    },
    /// A document was written.
    Written {
        /// Its id.
        id: &'a str,
        /// Number of its passages.
        passages: usize,
    },
    /// A document, a part of one, or a folder could not be read. What the table has of a document
    /// that could not be read stays there.
    Skipped {
        /// Its name.
        name: &'a str,
        /// The reason.
        reason: &'a str,
    },
    /// A file is no document, or a link was not followed.
    LeftOut {
        /// Its name.
        name: &'a str,
        /// The reason.
        reason: &'a str,
    },
    /// A document no longer exists; its rows were deleted.
    Removed {
        /// Its id.
        id: &'a str,
    },
}

/// Result of a run. A run that only tells what it would do counts that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// Files that were read.
    pub files: usize,
    /// New or changed documents.
    pub written: usize,
    /// Unchanged documents.
    pub kept: usize,
    /// Removed documents.
    pub removed: usize,
    /// Documents, parts of documents and folders that could not be read.
    pub skipped: usize,
    /// Passages of the new and changed documents.
    pub passages: usize,
    /// Passages that got a vector in this run.
    pub embedded: usize,
}

// === impl Outcome ===

impl Outcome {
    /// Counts an event.
    pub(crate) fn count(&mut self, event: &Event<'_>) {
        match event {
            Event::FileRead => self.files += 1,
            Event::Kept { .. } => self.kept += 1,
            Event::Embedded { passages } => self.embedded += passages,
            Event::Written { passages, .. } => {
                self.written += 1;
                self.passages += passages;
            }
            Event::Skipped { .. } => self.skipped += 1,
            Event::Removed { .. } => self.removed += 1,
            Event::Begun { .. }
            | Event::Created { .. }
            | Event::Renamed { .. }
            | Event::LeftOut { .. } => {}
        }
    }
}
