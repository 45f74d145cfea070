//! Tests of the completion scripts, in the shells that are installed.

use std::{
    env,
    path::Path,
    process::{Command, Stdio},
};

use ziggurat_black_box::{output, output_of};

/// Returns the completions of bash for these words, the incomplete one last.
fn offered(words: &[&str]) -> Option<String> {
    let program = Path::new(env!("CARGO_BIN_EXE_ziggurat"));
    let folder = program.parent().expect("a folder").display();
    let path = env::var("PATH").unwrap_or_default();
    let home = tempfile::tempdir().expect("a folder");
    let script = "source <(ziggurat completion bash); COMP_WORDS=(ziggurat \"$@\"); COMP_CWORD=$#; \
         _ziggurat; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let bash = Command::new("bash")
        .args(["--norc", "-c", script, "bash"])
        .args(words)
        .env_clear()
        .env("PATH", format!("{folder}:{path}"))
        .env("HOME", home.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let output = output_of(bash);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    Some(String::from_utf8(output.stdout).expect("UTF-8"))
}

#[test]
fn bash_completes_commands_flags_and_values() {
    for (words, offers) in [
        (&["platform", "cl"][..], "client\n"),
        (&["platform", "client", "u"], "update\n"),
        (&["platform", "client", "list", "-o", "y"], "yaml\n"),
        // Bash splits words at the equals sign, before the script gets them.
        (
            &["platform", "client", "list", "--output", "=", "j"],
            "json\n",
        ),
        (
            &["platform", "client", "list", "--output", "="],
            "text\njson\nyaml\n",
        ),
        (&["platform", "client", "delete", "--forc"], "--force\n"),
        (&["platform", "api", "DE"], "DELETE\n"),
    ] {
        let Some(offered) = offered(words) else {
            return;
        };
        assert_eq!(offered, offers, "{words:?}");
    }
}

#[test]
fn every_shell_that_is_here_can_read_its_script() {
    for (shell, check) in [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_ziggurat"));
        let script = output(program.args(["completion", shell]));
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), &script.stdout).expect("written");
        let mut reader = Command::new(shell);
        let reader = reader.arg(check).arg(file.path()).stdin(Stdio::null());
        let Ok(reader) = reader.stderr(Stdio::piped()).spawn() else {
            continue;
        };
        let read = output_of(reader);
        let said = String::from_utf8_lossy(&read.stderr);
        assert!(read.status.success(), "{shell}: {said}");
    }
}
