//! Waits with a time limit: each fails its test after [`PATIENCE`].

use std::{
    io::Read,
    net::{TcpStream, ToSocketAddrs},
    panic::{self, AssertUnwindSafe},
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use crate::PATIENCE;

/// Polls until `is_so` is true, and returns how long that took.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "never: {what}");
        thread::sleep(Duration::from_millis(2));
    }
    start.elapsed()
}

/// Runs a test of something that begins anew each day in UTC, and once more if a day ended meanwhile.
pub fn within_a_day(test: impl Fn()) {
    let day = || {
        let time = SystemTime::now().duration_since(UNIX_EPOCH);
        time.expect("after 1970").as_secs() / (24 * 60 * 60)
    };
    let begun = day();
    let result = panic::catch_unwind(AssertUnwindSafe(&test));
    match result {
        Ok(()) => {}
        Err(_) if day() != begun => test(),
        Err(failure) => panic::resume_unwind(failure),
    }
}

/// Receives a value from another thread.
pub fn received<T>(receiver: &Receiver<T>) -> T {
    let sent = receiver.recv_timeout(PATIENCE);
    sent.expect("sent in time")
}

/// Waits for the end of a process, and returns its status. Kills it after the time limit.
pub fn ended(child: &mut Child) -> ExitStatus {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().expect("a child of ours") {
            return status;
        }
        if Instant::now() >= deadline {
            child.kill().ok();
            panic!("still running: {}", child.id());
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Runs a command to its end, with empty standard input.
pub fn output(command: &mut Command) -> Output {
    let command = command.stdin(Stdio::null());
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    output_of(command.spawn().expect("built"))
}

/// Waits for the end of a process, and returns its output.
pub fn output_of(mut child: Child) -> Output {
    drop(child.stdin.take());
    let (stdout, stderr) = (
        child.stdout.take().map(reading),
        child.stderr.take().map(reading),
    );
    let status = ended(&mut child);
    let whole = |pipe: Option<_>| pipe.as_ref().map(received).unwrap_or_default();
    Output {
        status,
        stdout: whole(stdout),
        stderr: whole(stderr),
    }
}

/// Reads a pipe to its end, in a thread.
fn reading(mut pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (whole, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).ok();
        whole.send(bytes).ok();
    });
    receiver
}

/// Connects to a server. Reads and writes fail after [`PATIENCE`].
pub fn connect(address: impl ToSocketAddrs) -> TcpStream {
    patient(TcpStream::connect(address).expect("listening"))
}

/// Sets the time limits of a stream.
pub(crate) fn patient(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(PATIENCE)).expect("set");
    stream.set_write_timeout(Some(PATIENCE)).expect("set");
    stream
}
