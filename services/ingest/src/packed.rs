//! Reads PDF and DOCX in a process with limits on its memory and its time.
//!
//! The program starts itself: the child sets its own limits before it reads anything, reads the file
//! from standard input, and writes the document as JSON to standard output. Whatever a hostile file
//! does there, it ends with the child.

use std::{
    ffi::OsString,
    io::{self, Read as _, Write as _},
    os::unix::process::ExitStatusExt as _,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::{Resource, Rlimit, setrlimit};
use tokio::{
    io::AsyncReadExt as _,
    process::{Child, Command},
    time,
};
use ziggurat_documents::{Checksum, Kind, MAX_PACKED, Source, Unpacked, unpack};
use ziggurat_runtime::Problem;

/// Maximum size of what a child writes.
const MAX_OUTPUT: u64 = 64 << 20;

/// Maximum length of the reason that a child gives.
const MAX_REASON: u64 = 1000;

/// The program that reads PDF and DOCX, and its limits.
#[derive(Clone, Debug)]
pub struct PackedReader {
    /// The program.
    pub program: PathBuf,
    /// Its first arguments; the name of the format and the limits follow.
    pub arguments: Vec<OsString>,
    /// Limits of the process.
    pub limits: ReaderLimits,
}

/// Limits of a process that reads a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderLimits {
    /// Address space in MiB.
    pub memory_mib: u64,
    /// Time in seconds, of the processor and in all.
    pub seconds: u64,
}

// === impl ReaderLimits ===

impl Default for ReaderLimits {
    fn default() -> Self {
        Self {
            memory_mib: 1024,
            seconds: 60,
        }
    }
}

impl ReaderLimits {
    /// Sets the limits of this process.
    fn apply(self) -> io::Result<()> {
        let bytes = self.memory_mib.saturating_mul(1 << 20);
        for (resource, limit) in [
            (Resource::Core, 0),
            (Resource::As, bytes),
            (Resource::Cpu, self.seconds),
        ] {
            let limit = Some(limit);
            setrlimit(
                resource,
                Rlimit {
                    current: limit,
                    maximum: limit,
                },
            )?;
        }
        Ok(())
    }
}

// === impl PackedReader ===

impl PackedReader {
    /// Reads a file.
    pub(crate) async fn read(&self, source: &Source) -> Result<Unpacked, Problem> {
        let file = source.open()?;
        let ReaderLimits {
            memory_mib,
            seconds,
        } = self.limits;
        let child = Command::new(&self.program)
            .args(&self.arguments)
            .args([
                source.kind.name(),
                &memory_mib.to_string(),
                &seconds.to_string(),
            ])
            .env_clear()
            .stdin(file)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| Problem::from(error).within("its reader cannot be started"))?;
        // A child that takes longer is killed when it is dropped.
        let read = time::timeout(Duration::from_secs(seconds), self.wait(child)).await;
        read.map_err(|_| format!("it takes longer than {seconds} s"))?
    }

    async fn wait(&self, mut child: Child) -> Result<Unpacked, Problem> {
        let (Some(output), Some(problem)) = (child.stdout.take(), child.stderr.take()) else {
            return Err("its reader has no output".into());
        };
        let (mut document, mut reason) = (Vec::new(), Vec::new());
        let mut output = output.take(MAX_OUTPUT + 1);
        let mut problem = problem.take(MAX_REASON);
        let read = tokio::try_join!(
            output.read_to_end(&mut document),
            problem.read_to_end(&mut reason)
        );
        read.map_err(broken)?;
        if document.len() as u64 > MAX_OUTPUT {
            return Err(format!("its text has more than {MAX_OUTPUT} bytes").into());
        }
        // A child that writes more than is read ends, too.
        drop((output, problem));
        let status = child.wait().await.map_err(broken)?;
        if !status.success() {
            return Err(self.reason(status, &reason).into());
        }
        serde_json::from_slice(&document).map_err(|error| broken(error.into()))
    }

    /// Returns the reason why a child failed.
    fn reason(&self, status: ExitStatus, said: &[u8]) -> String {
        let limits = self.limits;
        let said = String::from_utf8_lossy(said);
        match (status.code(), status.signal()) {
            // The only exit code with a reason that is for operators.
            (Some(1), _) => said.trim().to_owned(),
            (_, Some(signal)) => format!(
                "its reader was ended by signal {signal}: it needs more than {} MiB or {} s, or \
                 breaks the reader",
                limits.memory_mib, limits.seconds
            ),
            _ => "it breaks the reader".to_owned(),
        }
    }
}

fn broken(error: io::Error) -> Problem {
    Problem::from(error).within("its reader broke")
}

/// Reads a file from standard input in a child process, and writes the document to standard output.
/// `words` are the name of the format and the limits.
///
/// # Errors
/// Fails if the limits cannot be set, if the file is no document, and if standard output is closed.
pub fn read_in_child(words: &[String]) -> Result<(), Problem> {
    let [kind, memory_mib, seconds] = words else {
        return Err("expected a format and two limits".into());
    };
    let kind = [Kind::Pdf, Kind::Docx]
        .into_iter()
        .find(|one| one.name() == kind);
    let kind = kind.ok_or("its format is not read")?;
    let number = |text: &String| text.parse().map_err(|_| "expected a number");
    let limits = ReaderLimits {
        memory_mib: number(memory_mib)?,
        seconds: number(seconds)?,
    };
    limits.apply()?;
    let mut bytes = Vec::new();
    let mut input = io::stdin().lock().take(MAX_PACKED + 1);
    input.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_PACKED {
        return Err(format!("larger than {MAX_PACKED} bytes").into());
    }
    let unpacked = unpack(kind, bytes).map_err(|error| error.to_string())?;
    let json = serde_json::to_vec(&unpacked).map_err(io::Error::from)?;
    Ok(io::stdout().lock().write_all(&json)?)
}

/// Returns a checksum of the contents of a file.
pub(crate) fn checksum_of(source: &Source) -> Result<String, Problem> {
    let mut file = source.open()?.take(MAX_PACKED + 1);
    let mut checksum = Checksum::default();
    let mut buffer = vec![0; 64 << 10];
    let mut all = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(checksum.finish());
        }
        all += read as u64;
        if all > MAX_PACKED {
            return Err(format!("larger than {MAX_PACKED} bytes").into());
        }
        checksum.add(&buffer[..read]);
    }
}
