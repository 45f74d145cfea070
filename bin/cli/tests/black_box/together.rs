//! Tests of concurrent commands, and of commands that are interrupted.

use std::{fs, io::Read as _, sync::mpsc, thread};

use rustix::process::{Pid, Signal, kill_process};
use ziggurat_black_box::{Ran, ended, output_of, received};

use crate::{
    server::{Reply, Server},
    support::{ID, SECRET, User, json},
};

#[test]
fn fifty_commands_at_once_leave_one_good_token_and_exchange_about_once() {
    let server = Server::platform(|_| Reply::json(200, "[]"));
    let user = User::of(&server);
    let ran: Vec<Ran> = thread::scope(|scope| {
        let running: Vec<_> = (0..50)
            .map(|_| scope.spawn(|| user.platform(&["tenant", "list", "-o", "json"])))
            .collect();
        let ended = running
            .into_iter()
            .map(|thread| thread.join().expect("ran"));
        ended.collect()
    });
    for ran in ran {
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), "[]\n"),
            "{ran:?}"
        );
    }
    assert_eq!(
        server.exchanges().len(),
        1,
        "the others waited for the token of the first"
    );
    let kept = json(&fs::read_to_string(user.cache("default")).expect("a cache"));
    assert_eq!(kept["access_token"], "live-token-1");
    assert_eq!(leftovers(&user), Vec::<String>::new());
}

#[test]
fn logins_at_once_all_survive_and_leave_a_configuration_that_reads() {
    let server = Server::platform(|_| Reply::json(200, "[]"));
    let user = User::new();
    user.configure("# mine\noutput:\n  format: text # stays\n");
    let url = server.url();
    let login = &|at: usize| {
        let profile = format!("profile-{at}");
        let mut line = vec!["auth", "login", "--profile", &profile, "--api-url", &url];
        line.extend(["--client-id", ID, "--client-secret", SECRET]);
        let ran = user.platform(&line);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    };
    // Five at a time, because each waits at most ten seconds for the lock, also on a busy machine.
    for first in (0..50).step_by(5) {
        thread::scope(|scope| {
            for at in first..first + 5 {
                scope.spawn(move || login(at));
            }
        });
    }
    let text = user.config_text();
    assert!(
        text.starts_with("# mine\noutput:\n  format: text # stays\n"),
        "{text}"
    );
    let listed = json(&user.run(&["profile", "list", "-o", "json"]).stdout);
    let profiles = listed.as_array().expect("a list");
    let resolved = profiles
        .iter()
        .filter(|profile| profile["resolved"] == true);
    assert_eq!(resolved.count(), 50);
    for at in 0..50 {
        assert!(user.cache(&format!("profile-{at}")).exists());
    }
    assert_eq!(leftovers(&user), Vec::<String>::new());
}

/// Returns temporary files that commands have left in the folders of the program.
fn leftovers(user: &User) -> Vec<String> {
    let own = user.home().join(".ziggurat");
    let folders = [own.clone(), own.join("cache")];
    let entries = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.contains(".tmp"))
        .collect()
}

#[test]
fn a_command_that_waits_ends_at_once_when_it_is_told_to() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let server = Server::platform(|_| Reply::Hang);
        let user = User::of(&server);
        let child = user.start(&["platform", "tenant", "list", "--timeout", "0"]);
        ziggurat_black_box::until("the request has arrived", || !server.calls().is_empty());
        kill_process(Pid::from_child(&child), signal).expect("running");
        let ran = Ran::from(output_of(child));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(code), ""));
    }
}

#[test]
fn a_prompt_without_an_answer_ends_at_an_interrupt() {
    let user = User::new();
    let mut child = user.start(&["platform", "auth", "login"]);
    // Taken, because waiting for the end would close it, which would also end the program.
    let stdin = child.stdin.take();
    let mut stderr = child.stderr.take().expect("piped");
    let (asked, prompt) = mpsc::channel();
    thread::spawn(move || {
        let mut prompt = [0; 11];
        asked
            .send(stderr.read_exact(&mut prompt).map(|()| prompt))
            .ok();
    });
    let prompt = received(&prompt).expect("a prompt");
    assert_eq!(&prompt, b"Client ID: ");
    kill_process(Pid::from_child(&child), Signal::INT).expect("running");
    assert_eq!(ended(&mut child).code(), Some(130));
    assert!(!user.config().exists());
    drop(stdin);
}
