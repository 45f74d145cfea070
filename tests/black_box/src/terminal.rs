//! Programs on a terminal, which `script` creates.

use std::{
    io::{Read as _, Write as _},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
};

use crate::{PATIENCE, ended};

/// Runs a shell line in a terminal with these variables, and answers each question when it
/// appears; returns the output, or `None` where there is no `script`.
pub fn in_a_terminal<'a>(
    line: &str,
    environment: impl IntoIterator<Item = (&'a str, &'a str)>,
    answers: &[(&str, &[u8])],
) -> Option<String> {
    let mut child = Command::new("script")
        .args(["-qefc", line, "/dev/null"])
        .envs(environment)
        .env("SHELL", "/bin/sh")
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take().expect("piped");
    let mut stdout = child.stdout.take().expect("piped");
    let (said, heard) = mpsc::channel();
    thread::spawn(move || {
        let mut part = [0; 4096];
        while let Ok(read @ 1..) = stdout.read(&mut part) {
            if said.send(part[..read].to_vec()).is_err() {
                return;
            }
        }
    });
    let (mut seen, mut answers) = (Vec::new(), answers.iter());
    let mut next = answers.next();
    while let Ok(part) = heard.recv_timeout(PATIENCE) {
        seen.extend(part);
        let text = String::from_utf8_lossy(&seen);
        while let Some((question, typed)) = next
            && text.contains(question)
        {
            stdin.write_all(typed).expect("typed");
            next = answers.next();
        }
    }
    ended(&mut child);
    Some(String::from_utf8(seen).expect("text"))
}
