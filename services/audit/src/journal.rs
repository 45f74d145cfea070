//! Lines of an audit trail: numbered, chained, and written in batches.

pub(crate) mod log_file;
pub(crate) mod mark;
pub(crate) mod recovery;

use std::{
    collections::BTreeSet,
    io::{self, Write as _},
    mem,
    path::Path,
    time::Instant,
};

use jiff::Timestamp;
use tracing::{error, warn};

use crate::{
    Fsync, Settings,
    draft::Draft,
    journal::{
        log_file::LogFile,
        mark::{Mark, MarkFile},
        recovery::{Found, Lost},
    },
    line::{
        self,
        chain::{Hex, Key},
    },
    names,
};

/// Lines of an audit trail.
#[derive(Debug)]
pub(crate) struct Journal {
    output: Output,
    instance: String,
    key: Option<Key>,
    fsync: Fsync,
    /// Formatted lines that are yet to be written.
    buffer: Vec<u8>,
    second: line::Second,
    /// Position after them.
    next: LastRecord,
    written: LastRecord,
    /// Sequence number of the first line of the file.
    first: u64,
    /// Is true if the next line is the first of a process or of a file.
    is_new: bool,
    /// Name of the file that the next file continues.
    before: Option<String>,
    /// Written `open` lines without a written `call` line.
    opens: BTreeSet<u64>,
    /// Time of the first write since the last sync.
    unsynced: Option<Instant>,
    /// Is `None` after a failure: an old mark says less, and nothing wrong.
    pub(crate) mark_file: Option<MarkFile>,
}

#[derive(Debug)]
pub(crate) enum Output {
    File(LogFile),
    Stderr {
        /// Is true if an attempt has failed after some bytes.
        is_torn: bool,
    },
}

#[derive(Clone, Copy, Debug, Default)]
struct LastRecord {
    seq: u64,
    link: Option<Hex>,
}

// === impl Journal ===

impl Journal {
    pub(crate) fn new(
        output: Output,
        settings: &Settings,
        key: Option<Key>,
        instance: &str,
        found: &Found,
    ) -> Self {
        let position = LastRecord {
            seq: found.seq,
            link: found.link,
        };
        Self {
            output,
            instance: instance.to_owned(),
            key,
            fsync: settings.fsync,
            buffer: Vec::new(),
            second: line::Second::default(),
            next: position,
            written: position,
            first: found.first.unwrap_or(found.seq + 1),
            is_new: false,
            before: found.before.clone(),
            opens: BTreeSet::new(),
            unsynced: None,
            mark_file: None,
        }
    }

    /// Takes settings that may change while the trail goes on.
    pub(crate) fn apply(&mut self, settings: &Settings) {
        self.fsync = settings.fsync;
        if let Output::File(file) = &mut self.output {
            file.apply(settings);
        }
    }

    /// Writes the first lines of a process.
    pub(crate) fn start(&mut self, found: &Found) -> io::Result<()> {
        self.is_new = true;
        self.begin()?;
        if let Some(removed) = found.removed {
            self.gap(br#","removed":"#, removed);
        }
        if found.is_unfinished {
            self.gap(br#","unfinished":"#, found.seq);
        }
        self.recovered(found);
        self.commit().map(|_| ())
    }

    /// Formats lines about an incomplete line and about calls without an end.
    pub(crate) fn recovered(&mut self, found: &Found) {
        if let Some(torn) = &found.torn {
            self.event("gap", Timestamp::now(), |out| {
                line::member(out, br#","torn":""#, torn);
            });
        }
        for Lost { open, members } in &found.lost {
            self.line("call", Timestamp::now(), |out| {
                line::number(out, br#","open":"#, *open);
                out.extend_from_slice(members.as_bytes());
                line::member(out, br#","verdict":""#, "lost");
            });
        }
    }

    /// Opens the next file if a rotation has closed the last one. Each batch begins with it.
    pub(crate) fn begin(&mut self) -> io::Result<()> {
        // A thread that panicked may have left a part of a batch.
        self.buffer.clear();
        self.next = self.written;
        if let Output::File(file) = &mut self.output {
            if let Some(name) = file.close_deleted() {
                (self.before, self.is_new, self.unsynced) = (Some(name), true, None);
            }
            file.ensure_open()?;
        }
        if self.is_new {
            let before = self.before.clone();
            let (link, oldest) = (self.next.link, self.opens.first().copied());
            self.event("start", Timestamp::now(), |out| {
                let Some(before) = before else { return };
                line::object(out, br#","previous":"#, |out| {
                    line::member(out, br#","file":""#, &before);
                    line::member(out, br#","chain":""#, link.as_ref().map_or("", Hex::as_str));
                });
                if let Some(oldest) = oldest {
                    line::number(out, br#","oldest_open":"#, oldest);
                }
            });
        }
        Ok(())
    }

    /// Formats a line. Returns its sequence number.
    pub(crate) fn line(
        &mut self,
        kind: &str,
        at: Timestamp,
        members: impl FnOnce(&mut Vec<u8>),
    ) -> u64 {
        let start = self.buffer.len();
        let seq = self.next.seq + 1;
        line::head(&mut self.buffer, &mut self.second, seq, at, kind);
        members(&mut self.buffer);
        let before = self.next.link.as_ref();
        let link = line::end(&mut self.buffer, start, self.key.as_ref(), before);
        self.next = LastRecord {
            seq,
            link: Some(link),
        };
        seq
    }

    /// Formats a line that names this process before its other members.
    pub(crate) fn event(
        &mut self,
        kind: &str,
        at: Timestamp,
        members: impl FnOnce(&mut Vec<u8>),
    ) -> u64 {
        self.opened_line(kind, at, None, members)
    }

    /// Formats a line about records that were missed, if there are any.
    pub(crate) fn missed(&mut self, missed: u64) {
        if missed > 0 {
            self.gap(br#","missed":"#, missed);
        }
    }

    /// Formats a line about missing records.
    fn gap<const N: usize>(&mut self, key: &[u8; N], number: u64) {
        let members = |out: &mut Vec<u8>| line::number(out, key, number);
        self.event("gap", Timestamp::now(), members);
    }

    /// Formats the line of a record. Returns its sequence number.
    pub(crate) fn record(&mut self, record: &Draft) -> u64 {
        let members = |out: &mut Vec<u8>| record.write_all(out);
        self.opened_line(record.kind, record.at(), record.open, members)
    }

    /// Formats the `open` line of a record. Returns its sequence number.
    pub(crate) fn open(&mut self, record: &mut Draft) -> u64 {
        let seq = self.event("open", Timestamp::now(), |out| record.write_open(out));
        if record.keeps_link {
            record.open_link = self.next.link.map(Box::new);
        }
        seq
    }

    /// Formats a line that names its `open` line, if there is one, and this process.
    fn opened_line(
        &mut self,
        kind: &str,
        at: Timestamp,
        open: Option<u64>,
        members: impl FnOnce(&mut Vec<u8>),
    ) -> u64 {
        let instance = mem::take(&mut self.instance);
        let seq = self.line(kind, at, |out| {
            if let Some(open) = open {
                line::number(out, br#","open":"#, open);
            }
            line::plain(out, br#","instance":""#, &instance);
            members(out);
        });
        self.instance = instance;
        seq
    }

    /// Writes all lines, or none of them. Returns their number.
    pub(crate) fn commit(&mut self) -> io::Result<u64> {
        let lines = mem::take(&mut self.buffer);
        let result = if lines.is_empty() {
            Ok(())
        } else {
            self.write(&lines)
        };
        self.buffer = lines;
        self.buffer.clear();
        if let Err(error) = result {
            self.next = self.written;
            return Err(error);
        }
        let count = self.next.seq - self.written.seq;
        if count > 0 && mem::take(&mut self.is_new) && self.before.take().is_some() {
            self.first = self.written.seq + 1;
        }
        self.written = self.next;
        Ok(count)
    }

    /// Notes that an `open` line was written.
    pub(crate) fn opened(&mut self, seq: u64) {
        self.opens.insert(seq);
    }

    /// Notes that the `call` line for an `open` line was written.
    pub(crate) fn ended(&mut self, open: u64) {
        self.opens.remove(&open);
    }

    /// Continues in a new file if this one is large enough. Returns the number of lines for it.
    pub(crate) fn rotate_if_full(&mut self) -> io::Result<u64> {
        let Output::File(file) = &mut self.output else {
            return Ok(0);
        };
        if !file.is_full() || self.is_new {
            return Ok(0);
        }
        let archive = file.archive(self.first, self.next.seq + 1);
        let kept_from = file.kept_from(self.first)?;
        let name = names::of(&archive);
        self.event("rotate", Timestamp::now(), |out| {
            line::member(out, br#","file":""#, &name);
            if let Some(first) = kept_from {
                line::number(out, br#","kept_from":"#, first);
            }
        });
        let mut count = self.commit()?;
        self.rename(&archive, name)?;
        self.begin()?;
        count += self.commit()?;
        Ok(count)
    }

    fn rename(&mut self, archive: &Path, name: String) -> io::Result<()> {
        if let Output::File(file) = &mut self.output {
            file.rotate(archive)?;
            self.before = Some(name);
            self.is_new = true;
            self.unsynced = None;
            if let Err(error) = file.delete_old() {
                error!(%error, "an old audit file cannot be deleted");
            }
        }
        Ok(())
    }

    /// Continues in a new file if another program has renamed this one. Returns the number of lines
    /// for it.
    pub(crate) fn reopen(&mut self) -> io::Result<u64> {
        let Output::File(file) = &mut self.output else {
            return Ok(0);
        };
        if !file.was_renamed() {
            return Ok(0);
        }
        self.event("rotate", Timestamp::now(), |_| {});
        let mut count = self.commit()?;
        self.sync()?;
        if let Output::File(file) = &mut self.output {
            self.before = Some(file.close_renamed());
            self.is_new = true;
        }
        self.begin()?;
        count += self.commit()?;
        Ok(count)
    }

    /// Returns the time at which the file is to be synced.
    pub(crate) fn sync_at(&self) -> Option<Instant> {
        match self.fsync {
            Fsync::Every(every) => self.unsynced?.checked_add(every),
            Fsync::Never | Fsync::Always => None,
        }
    }

    /// Syncs the file if its time has come.
    pub(crate) fn sync_if_due(&mut self) -> io::Result<()> {
        match self.sync_at() {
            Some(at) if at <= Instant::now() => self.sync(),
            _ => Ok(()),
        }
    }

    /// Syncs the written lines, unless the settings leave this to the operating system.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        if let (Output::File(file), Some(_)) = (&mut self.output, self.unsynced)
            && self.fsync != Fsync::Never
        {
            // After an error it is tried again, but not at once.
            self.unsynced = Some(Instant::now());
            file.sync()?;
        }
        self.unsynced = None;
        Ok(())
    }

    /// Returns the position of the last line that was written.
    pub(crate) fn written(&self) -> Option<Mark> {
        let LastRecord { seq, link } = self.written;
        link.map(|link| Mark { seq, link })
    }

    /// Keeps the position of the last line, unless a power failure may still remove that line.
    pub(crate) fn mark(&mut self) {
        if self.unsynced.is_none()
            && let (Some(written), Some(file)) = (self.written(), &mut self.mark_file)
            && let Err(error) = file.write(written)
        {
            warn!(%error, "the position of the last audit record cannot be kept");
            self.mark_file = None;
        }
    }

    /// Replaces the open file, so that a test decides when it fails.
    #[cfg(test)]
    pub(crate) fn file(&mut self) -> Option<&mut LogFile> {
        match &mut self.output {
            Output::File(file) => Some(file),
            Output::Stderr { .. } => None,
        }
    }

    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        match &mut self.output {
            Output::File(file) => {
                file.append(lines)?;
                if self.fsync == Fsync::Always {
                    // Lines that may not be on the disk are taken back, and written again later.
                    file.sync().inspect_err(|_| file.take_back(lines.len()))?;
                } else {
                    self.unsynced.get_or_insert_with(Instant::now);
                }
                Ok(())
            }
            Output::Stderr { is_torn } => {
                let mut stderr = io::stderr().lock();
                if *is_torn {
                    stderr.write_all(b"\n")?;
                }
                *is_torn = true;
                stderr.write_all(lines)?;
                *is_torn = false;
                Ok(())
            }
        }
    }
}
