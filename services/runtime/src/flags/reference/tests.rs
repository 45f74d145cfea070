use std::process::{Command, Stdio};

use super::*;

fn reference() -> Reference {
    let described = |words: &str, about: &str, flags: &[Flag]| Described {
        words: words.to_owned(),
        about: about.to_owned(),
        groups: vec![("Flags", flags.to_vec())],
    };
    let config = Flag::path("config", "PATH", "file to read, 'quoted' [here]: that one");
    let reads = described(
        "",
        "Usage: reads [flags] [command]\n\nReads a file.\n\n    reads -config a\n",
        &[config, Flag::text("name", "NAME", "a name")],
    );
    let list = described("list", "Lists.\n", &[Flag::switch("all", "each of them")]);
    let deep = described("list deep", "", &[Flag::switch("level", ".how deep")]);
    Reference {
        program: "reads-it",
        version: "1.2.3",
        summary: "a program that reads",
        commands: vec![reads, list, deep],
        more: "\nMore.\n\nExamples:\n\n  One:\n    reads -name x\n",
    }
}

/// Returns the words that bash offers for the last word of a line.
fn offered(line: &[&str]) -> Vec<String> {
    let script = reference().completion(Shell::Bash);
    let words: Vec<_> = line.iter().map(|word| format!("'{word}'")).collect();
    let run = format!(
        "compopt() {{ COMPREPLY+=(FILES); }}\n{script}\nCOMP_WORDS=(reads-it {})\nCOMP_CWORD={}\n\
         _reads_it\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"",
        words.join(" "),
        line.len()
    );
    let bash = Command::new("bash")
        .args(["--norc", "-c", &run])
        .stdin(Stdio::null())
        .output()
        .expect("bash runs");
    let errors = String::from_utf8_lossy(&bash.stderr);
    assert!(bash.status.success() && errors.is_empty(), "{errors}");
    let text = String::from_utf8(bash.stdout).expect("text");
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn bash_offers_the_flags_of_the_command_on_the_line() {
    for (line, offers) in [
        (&["-"][..], &["-config", "-name"][..]),
        (&["--co"], &["--config"]),
        (&["-name", "x", "-c"], &["-config"]),
        (&["-name", ""], &[]),
        (&["-config", ""], &["FILES"]),
        (&["--config", ""], &["FILES"]),
        (&["l"], &["list", "FILES"]),
        (&["list", "-"], &["-all"]),
        (&["list", "d"], &["deep", "FILES"]),
        (&["list", "deep", "-"], &["-level"]),
    ] {
        assert_eq!(offered(line), offers, "{line:?}");
    }
}

#[test]
fn the_scripts_of_other_shells_name_each_flag_with_its_help() {
    let zsh = reference().completion(Shell::Zsh);
    let config = r"'*-config[file to read, '\''quoted'\'' \[here\]\: that one]:PATH:_files'";
    assert!(
        zsh.starts_with("#compdef reads-it\n") && zsh.contains(config),
        "{zsh}"
    );
    let fish = reference().completion(Shell::Fish);
    let config = r"-o config -r -F -d 'file to read, \'quoted\' [here]: that one'";
    assert!(
        fish.contains(config) && fish.contains("-o all -d"),
        "{fish}"
    );
}

#[test]
fn the_manual_page_has_each_flag_and_keeps_the_lines_of_examples() {
    let page = reference().manual();
    for part in [
        ".TH \"READS\\-IT\" 8 \"\" \"reads\\-it 1.2.3\" \"Ziggurat\"\n",
        "reads\\-it \\- a program that reads\n",
        ".SH SYNOPSIS\n.B reads [flags] [command]\n",
        ".nf\n.RS 4\nreads \\-config a\n.RE\n.fi\n",
        ".TP\n.BI \\-config \" PATH\"\nfile to read",
        ".SH \"LIST DEEP\"\n",
        // A line that begins with a dot would be a request.
        ".TP\n.B \\-level\n\\&.how deep\n",
        ".SH NOTES\nMore.\n",
        ".SH EXAMPLES\n",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
}

#[test]
fn a_shell_without_completions_is_refused() {
    let refusal = "tcsh".parse::<Shell>().expect_err("unknown");
    assert_eq!(
        refusal.to_string(),
        "invalid value \"tcsh\" for -completion: expected bash, zsh or fish"
    );
}
