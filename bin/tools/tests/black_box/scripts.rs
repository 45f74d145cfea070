//! Tests of the commands, and of the flags that start a server, as a script gives them: by flags
//! only, with standard input closed, and in a fresh folder with the program and nothing else.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;

use crate::support::{Program, Ran, output};

/// A fresh folder with the program.
struct Installed(TempDir);

impl Installed {
    fn new() -> Self {
        // In the file system of the program, so that it need not be copied.
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let installed = Self(folder);
        let program = env!("CARGO_BIN_EXE_ziggurat-tools");
        fs::hard_link(program, installed.file("ziggurat-tools")).expect("linked");
        installed
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", "exec \"$0\" \"$@\" <&-"])
            .arg(self.file("ziggurat-tools"))
            .args(words)
            .current_dir(self.0.path())
            .env_clear()
            .env("HOME", self.0.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, words: &[&str]) -> Ran {
        Ran::from(output(&mut self.command(words)))
    }

    /// Runs a command that must succeed, and returns its standard output.
    fn done(&self, words: &[&str]) -> String {
        let ran = self.run(words);
        assert_eq!(ran.code, Some(0), "{words:?}: {ran:?}");
        ran.stdout
    }

    fn add_user(&self) {
        self.done(&["-add-user", "-username", "al", "-password", "swordfish 12"]);
    }

    fn add_token(&self) -> String {
        self.done(&["-add-token", "-token-note", "x", "-token-expiry", "never"])
    }
}

/// Returns the value after a label, on its own line.
fn value<'a>(text: &'a str, label: &str) -> &'a str {
    let mut lines = text.lines();
    let found = lines.find_map(|line| line.strip_prefix(label));
    found.unwrap_or_else(|| panic!("{label} in {text}"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("written")
}

#[test]
fn add_token_needs_only_flags() {
    let installed = Installed::new();
    let text = installed.add_token();
    assert_eq!(value(&text, "Note: "), "x");
    assert_eq!(value(&text, "Expiry: "), "Never");
    let file = read(&installed.file("ziggurat-tools-tokens.yaml"));
    assert!(file.contains(value(&text, "ID: ")), "{file}");

    let ran = installed.run(&["-add-token"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let warning = ran.stderr.lines().find(|line| line.contains("WARN"));
    assert!(
        warning.is_some_and(|line| line.contains("-token-expiry")),
        "{ran:?}"
    );

    let config = installed.file("ziggurat-tools.yaml");
    fs::write(
        config,
        "databases: [{name: a, user: u}, {name: b, user: u}]",
    )
    .expect("written");
    let words = ["-add-token", "-token-note", "y", "-token-expiry", "30d"];
    assert_eq!(
        value(&installed.done(&words), "Database: "),
        "(first configured)"
    );
    let text = installed.done(&[&words[..], &["-token-database", "b"]].concat());
    assert_eq!(value(&text, "Database: "), "b");
    assert!(
        value(&text, "Expiry: ").ends_with("(30 days from now)"),
        "{text}"
    );
}

#[test]
fn list_tokens_needs_only_flags() {
    let installed = Installed::new();
    assert_eq!(installed.done(&["-list-tokens"]), "No tokens found.\n");
    installed.add_token();
    let text = installed.done(&["-list-tokens"]);
    assert_eq!(value(&text, "Status: "), "Valid");
    assert_eq!(value(&text, "Total tokens: "), "1");
}

#[test]
fn remove_token_needs_only_flags() {
    let installed = Installed::new();
    let hash = |text: &str| value(text, "Hash (first 12 chars): ").to_owned();
    for identifier in [
        value(&installed.add_token(), "ID: ").to_owned(),
        hash(&installed.add_token()),
    ] {
        let text = installed.done(&["-remove-token", &identifier]);
        assert_eq!(text, format!("Token removed successfully: {identifier}\n"));
    }
}

#[test]
fn add_user_needs_only_flags() {
    let installed = Installed::new();
    let words = ["-add-user", "-username", "al", "-password", "short"];
    let ran = installed.run(&words);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.contains("User created successfully!\n"),
        "{ran:?}"
    );
    assert!(
        ran.stderr.contains("WARN"),
        "the password is short: {ran:?}"
    );
    assert!(read(&installed.file("ziggurat-tools-users.yaml")).contains("al:"));
    let words = ["-add-user", "-username", "bo", "-password", "swordfish 12"];
    let text = installed.done(&[&words[..], &["-user-note", "Developer"]].concat());
    assert_eq!(value(&text, "Note:     "), "Developer");
    for (words, flag) in [
        (&["-add-user", "-password", "swordfish 12"], "-username"),
        (&["-add-user", "-username", "cy"], "-password"),
    ] {
        let ran = installed.run(words);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains(&format!("give {flag}")), "{ran:?}");
    }
}

#[test]
fn list_users_needs_only_flags() {
    let installed = Installed::new();
    assert_eq!(installed.done(&["-list-users"]), "No users found.\n");
    installed.add_user();
    let text = installed.done(&["-list-users"]);
    let columns = "Username Created Last Login Status Annotation";
    let has_columns = |line: &str| line.split_whitespace().eq(columns.split(' '));
    assert!(text.lines().any(has_columns), "{text}");
    assert!(text.contains("\nal "), "{text}");
}

#[test]
fn update_user_needs_only_flags() {
    let installed = Installed::new();
    installed.add_user();
    for more in [
        &["-password", "another fish"][..],
        &["-user-note", "x"],
        &["-password", "swordfish 12", "-user-note", "y"],
    ] {
        let words = [&["-update-user", "-username", "al"], more].concat();
        assert_eq!(installed.done(&words), "User 'al' updated successfully\n");
    }
}

#[test]
fn disable_user_needs_only_flags() {
    let installed = Installed::new();
    installed.add_user();
    let text = installed.done(&["-disable-user", "-username", "al"]);
    assert_eq!(text, "User 'al' disabled successfully\n");
}

#[test]
fn enable_user_needs_only_flags() {
    let installed = Installed::new();
    installed.add_user();
    let text = installed.done(&["-enable-user", "-username", "al"]);
    assert_eq!(text, "User 'al' enabled successfully\n");
}

#[test]
fn delete_user_needs_only_flags() {
    let installed = Installed::new();
    installed.add_user();
    let ran = installed.run(&["-delete-user", "-username", "al"]);
    assert_eq!(ran.code, Some(1), "nothing confirms it: {ran:?}");
    assert!(ran.stderr.contains("-yes"), "{ran:?}");
    let text = installed.done(&["-delete-user", "-username", "al", "-yes"]);
    assert_eq!(text, "User 'al' deleted successfully\n");
}

#[test]
fn every_flag_of_the_transport_starts_the_server_as_it_stands() {
    let installed = Installed::new();
    // Standard input and output: its end ends the server.
    assert_eq!(installed.run(&[]).code, Some(0));
    let serves = |words: &[&str]| {
        let (_program, client) = Program::listening(&mut installed.command(words));
        if !words.contains(&"-tls") {
            assert_eq!(client.get("/health").status, 200, "{words:?}");
        }
    };
    serves(&["-http", "-addr", ":0", "-no-auth"]);

    let ran = installed.run(&["-http", "-addr", ":0"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let tokens = installed.file("ziggurat-tools-tokens.yaml");
    let expected = format!("ERROR: Token file not found: {}\n", tokens.display());
    assert!(ran.stderr.contains(&expected), "{ran:?}");
    installed.add_token();
    serves(&["-http", "-addr", ":0"]);
    serves(&["-http", "-addr", "127.0.0.1:0"]);
    fs::rename(&tokens, installed.file("t.yaml")).expect("moved");
    let flags = ["-http", "-addr", ":0", "-token-file", "t.yaml"];
    serves(&[&flags[..], &["-user-file", "u.yaml"]].concat());

    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("made");
    fs::write(installed.file("c.pem"), made.cert.pem()).expect("written");
    fs::write(installed.file("k.pem"), made.signing_key.serialize_pem()).expect("written");
    let tls = ["-tls", "-cert", "c.pem", "-key", "k.pem"];
    serves(&[&flags[..], &tls].concat());
}
