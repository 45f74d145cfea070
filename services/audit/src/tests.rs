//! An audit trail from the first line to the last.

mod admin;
mod calls;
mod chain;
mod failures;
mod files;
mod removed;
mod restart;
mod search;

use std::{
    fs, io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    Audit, CallStart, Destination, Expected, Fsync, Record, Report, Settings, Verdict, Writer,
    journal::log_file::FileHandle, verify,
};

/// A folder with an audit file.
struct Trail {
    folder: TempDir,
    path: PathBuf,
}

/// Faults of a disk.
#[derive(Debug, Default)]
struct Disk {
    is_full: AtomicBool,
    /// Size of a write that still fits on a full disk.
    room: AtomicUsize,
    cannot_sync: AtomicBool,
    cannot_cut: AtomicBool,
    writes: AtomicUsize,
    syncs: AtomicUsize,
}

#[derive(Debug)]
struct FaultyFile(Box<dyn FileHandle>, Arc<Disk>);

// === impl Trail ===

impl Trail {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("audit.jsonl");
        Self { folder, path }
    }

    /// Returns the trail as a crash at this moment would leave it.
    fn after_a_crash(&self) -> Self {
        let copy = Self::new();
        let entries = fs::read_dir(&self.folder).expect("a folder");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("a file").file_name())
            .collect();
        // First the position of the last record, which is never ahead of the trail.
        names.sort_by_key(|name| !name.to_string_lossy().ends_with(".last"));
        for name in names {
            fs::copy(
                self.folder.path().join(&name),
                copy.folder.path().join(&name),
            )
            .expect("copied");
        }
        copy
    }

    fn settings(&self) -> Settings {
        Settings::new(Destination::File(self.path.clone()))
    }

    fn required(&self) -> Settings {
        Settings {
            required: true,
            ..self.settings()
        }
    }

    /// Returns settings with which the writer writes each `open` line, and all before it.
    fn synced(&self) -> Settings {
        Settings {
            fsync: Fsync::Always,
            ..self.required()
        }
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.path).expect("an audit file")
    }

    fn lines(&self) -> Vec<Value> {
        let text = self.text();
        let read = |line| serde_json::from_str(line).expect("JSON");
        text.lines().map(read).collect()
    }

    fn kinds(&self) -> Vec<String> {
        let kind = |line: &Value| line["kind"].as_str().expect("a kind").to_owned();
        self.lines().iter().map(kind).collect()
    }

    fn of_kind(&self, kind: &str) -> Vec<Value> {
        let mut lines = self.lines();
        lines.retain(|line| line["kind"] == kind);
        lines
    }

    fn append(&self, bytes: &[u8]) {
        let file = fs::OpenOptions::new().append(true).open(&self.path);
        io::Write::write_all(&mut file.expect("a file"), bytes).expect("written");
    }

    fn assert_good(&self) {
        let report = self.verify();
        assert!(report.is_good, "{:?}", report.lines);
    }

    fn verify(&self) -> Report {
        verify(std::slice::from_ref(&self.path), None, Expected::default())
    }
}

// === impl FaultyFile ===

impl FileHandle for FaultyFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.1.is_full.load(SeqCst) && bytes.len() > self.1.room.load(SeqCst) {
            // A full disk takes what still fits.
            self.0.append(&bytes[..bytes.len() / 2])?;
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.1.writes.fetch_add(1, SeqCst);
        self.0.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.1.cannot_sync.load(SeqCst) {
            return Err(io::ErrorKind::Other.into());
        }
        self.1.syncs.fetch_add(1, SeqCst);
        self.0.sync()
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        if self.1.cannot_cut.load(SeqCst) {
            return Err(io::ErrorKind::Other.into());
        }
        self.0.cut(length)
    }

    fn links(&self) -> io::Result<u64> {
        self.0.links()
    }
}

/// Waits until something is so.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "not in time: {what}"
        );
        thread::sleep(Duration::from_millis(5));
    }
}

/// Puts a disk with faults under a writer.
fn with_faults(writer: &Writer) -> Arc<Disk> {
    let disk = Arc::<Disk>::default();
    writer.change(|journal| {
        let file = journal.file().expect("a file");
        file.wrap(|file| Box::new(FaultyFile(file, Arc::clone(&disk))));
    });
    disk
}

fn started(settings: Settings) -> (Audit, JoinHandle<()>) {
    let (audit, writer) = Audit::open(settings).expect("opened");
    (audit, thread::spawn(move || writer.run()))
}

/// Waits until everything is written.
fn finish((audit, thread): (Audit, JoinHandle<()>)) {
    drop(audit);
    thread.join().expect("the writer ends");
}

fn tool_call(audit: &Audit, tool: &str) -> Record {
    audit.begin(&CallStart {
        method: "tools/call",
        tool,
        ..CallStart::default()
    })
}

/// Makes a call with an `open` line.
async fn whole_call(audit: &Audit, tool: &str) {
    let call = tool_call(audit, tool);
    call.open().await.expect("written");
    call.end(Verdict::Ok);
}
