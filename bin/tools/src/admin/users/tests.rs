use std::path::PathBuf;

use tempfile::TempDir;

use super::*;
use crate::{
    admin::run,
    arguments::{Command, Overrides},
    configuration::{ConfigSources, Configuration},
};

/// A terminal with a typing administrator, and the folder of the account files.
struct Terminal(TempDir);

// === impl Terminal ===

impl Terminal {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn user_file(&self) -> PathBuf {
        self.0.path().join("users.yaml")
    }

    fn users(&self) -> Vec<UserRecord> {
        UserFile::new(self.user_file()).list().expect("read")
    }

    /// Runs a command with these answers; returns its output and result.
    fn run(&self, command: Command, answers: &str) -> (String, anyhow::Result<()>) {
        let loaded = Configuration::load(&Overrides::default(), &ConfigSources::default());
        let mut configuration = loaded.expect("the defaults").value;
        configuration.auth.user_file = self.user_file();
        configuration.data_folder = self.0.path().to_owned();
        let admin_context = AdminContext {
            configuration: &configuration,
            refuses_short_passwords: false,
        };
        let (mut output, mut remarks) = (Vec::new(), Vec::new());
        let mut console = Console {
            input: &mut answers.as_bytes(),
            output: &mut output,
            remarks: &mut remarks,
            is_terminal: true,
            has_screen: false,
        };
        let result = run(command, &admin_context, &mut console);
        let text = String::from_utf8(output).expect("text");
        // Where the tests have a terminal, a newline follows each secret.
        (text.replace(": \n", ": "), result)
    }
}

#[test]
fn on_a_terminal_missing_values_are_asked_for() {
    let terminal = Terminal::new();
    let add = || Command::AddUser {
        username: None,
        given: Given {
            password: None,
            note: None,
        },
        claims: Claims::default(),
        is_admin: false,
    };
    let answers = "alice\n pass word of mine \n pass word of mine \n\n";
    let (text, result) = terminal.run(add(), answers);
    result.expect("made");
    let asked = "Enter username: Enter password: Confirm password: Enter annotation/note for \
                 this user (optional): ";
    assert!(text.starts_with(asked), "{text}");
    assert!(
        !text.contains("Note:") && !text.contains("pass word"),
        "{text}"
    );
    for (answers, message) in [
        ("\n", "username is required"),
        ("bob\n\n", "password is required"),
        ("bob\none\ntwo\n", "passwords do not match"),
        (
            "bob\none\n",
            "standard input ended before the answer to \"Confirm password\"; use a flag \
             instead (see -help)",
        ),
    ] {
        let (_, result) = terminal.run(add(), answers);
        assert_eq!(result.expect_err(answers).to_string(), message);
    }
    assert_eq!(terminal.users().len(), 1);
}

#[test]
fn on_a_terminal_a_user_is_changed_by_answers() {
    let terminal = Terminal::new();
    let password = "correct horse".into();
    let file = UserFile::new(terminal.user_file()).with_cost(4);
    file.add(NewUser::new("alice", &password), Timestamp::now())
        .expect("made");
    let update = || Command::UpdateUser {
        username: Some("alice".to_owned()),
        given: Given {
            password: None,
            note: None,
        },
        claims: NewClaims::default(),
        is_admin: None,
    };
    let answers = "y\nanother horse\nanother horse\nYES\nafter\n";
    let (text, result) = terminal.run(update(), answers);
    result.expect("changed");
    let expected = "Update password? (y/N): Enter password: Confirm password: Update \
                    annotation? (y/N): Enter annotation/note for this user (optional): User \
                    'alice' updated successfully\n";
    assert_eq!(text, expected);
    let before = terminal.users();
    assert_eq!(before[0].note, "after");
    for (answers, message) in [
        ("n\nno\n", "no updates specified"),
        ("\n\n", "no updates specified"),
        ("y\none\ntwo\n", "passwords do not match"),
    ] {
        let (_, result) = terminal.run(update(), answers);
        assert_eq!(result.expect_err(answers).to_string(), message);
    }
    assert_eq!(terminal.users(), before);
}

#[test]
fn a_long_note_is_cut_at_the_end_of_its_column() {
    for (note, shown) in [
        ("Developer", "Developer"),
        ("exactly twenty chars", "exactly twenty chars"),
        ("one more than twenty!", "one more than twe..."),
        ("äöüäöüäöüäöüäöüäöüäöü", "äöüäöüäöüäöüäöüäö..."),
    ] {
        assert_eq!(shortened(note), shown);
    }
}
