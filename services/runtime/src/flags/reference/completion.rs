//! Scripts that complete command lines.

use std::{fmt::Write as _, str::FromStr};

use crate::flags::{Described, Flag, Reference, Refusal, Takes};

/// A shell that completes command lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shell {
    /// The shell bash.
    Bash,
    /// The shell zsh.
    Zsh,
    /// The shell fish.
    Fish,
}

// === impl Shell ===

impl FromStr for Shell {
    type Err = Refusal;

    fn from_str(name: &str) -> Result<Self, Refusal> {
        match name {
            "bash" => Ok(Self::Bash),
            "zsh" => Ok(Self::Zsh),
            "fish" => Ok(Self::Fish),
            _ => Err(Refusal::NoShell(name.to_owned())),
        }
    }
}

/// Returns the script of a shell.
pub(super) fn script(reference: &Reference, shell: Shell) -> String {
    match shell {
        Shell::Bash => bash(reference),
        Shell::Zsh => zsh(reference),
        Shell::Fish => fish(reference),
    }
}

/// Flags of a command, by what follows them.
struct Kinds {
    all: String,
    texts: String,
    paths: String,
}

fn kinds(command: &Described) -> Kinds {
    let join = |fits: fn(&Flag) -> bool| {
        let flags = command.flags().filter(|flag| fits(flag));
        let words: Vec<_> = flags.map(|flag| format!("-{}", flag.name)).collect();
        words.join(" ")
    };
    Kinds {
        all: join(|_| true),
        texts: join(|flag| matches!(flag.takes, Takes::Text(_))),
        paths: join(|flag| matches!(flag.takes, Takes::Path(_))),
    }
}

/// Returns the commands, those with more words first: their first words may be a command, too.
fn longest_first(reference: &Reference) -> Vec<&Described> {
    let mut commands: Vec<_> = reference.commands.iter().collect();
    commands.sort_by_key(|command| std::cmp::Reverse(command.words.split_whitespace().count()));
    commands
}

/// Returns the words that may follow the words of a command.
fn next_words(reference: &Reference, before: &str) -> String {
    let commands = reference
        .commands
        .iter()
        .map(|command| command.words.as_str());
    let mut words: Vec<_> = commands
        .filter_map(|words| {
            let rest = words.strip_prefix(before)?;
            (before.is_empty() || rest.starts_with(' ')).then_some(())?;
            rest.split_whitespace().next()
        })
        .collect();
    words.sort_unstable();
    words.dedup();
    words.join(" ")
}

/// Returns the name of the function in a script.
fn function(reference: &Reference) -> String {
    format!("_{}", reference.program.replace('-', "_"))
}

fn bash(reference: &Reference) -> String {
    let (program, function) = (reference.program, function(reference));
    let mut text = format!(
        "# Completion of {program} for bash.
{function}() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} dash=
    local line=\"${{COMP_WORDS[*]:1:COMP_CWORD - 1}} \" flags texts paths commands
    case $line in
"
    );
    for command in longest_first(reference) {
        let Kinds { all, texts, paths } = kinds(command);
        let line = match command.words.as_str() {
            "" => "*".to_owned(),
            words => format!("'{words} '*"),
        };
        let commands = next_words(reference, &command.words);
        let _ = writeln!(
            text,
            "        {line})\n            flags='{all}'\n            texts='{texts}'\n            \
             paths='{paths}'\n            commands='{commands}'\n            ;;"
        );
    }
    let _ = write!(
        text,
        "    esac
    COMPREPLY=()
    before=${{before#-}}
    before=\" -${{before#-}} \"
    if [[ \" $texts \" == *\"$before\"* ]]; then
        return
    elif [[ \" $paths \" == *\"$before\"* ]]; then
        compopt -o default
    elif [[ $word == -* ]]; then
        [[ $word == --* ]] && dash=-
        COMPREPLY=($(compgen -P \"$dash\" -W \"$flags\" -- \"${{word#\"$dash\"}}\"))
    else
        COMPREPLY=($(compgen -W \"$commands\" -- \"$word\"))
        compopt -o default
    fi
}}
complete -F {function} {program}
"
    );
    text
}

fn zsh(reference: &Reference) -> String {
    let (program, function) = (reference.program, function(reference));
    let mut text = format!(
        "#compdef {program}
# Completion of {program} for zsh.
{function}() {{
    case \"${{(j: :)words[2,CURRENT - 1]}} \" in
"
    );
    for command in longest_first(reference) {
        let line = match command.words.as_str() {
            "" => "*".to_owned(),
            words => format!("'{words} '*"),
        };
        let _ = writeln!(text, "        ({line})\n            _arguments \\");
        for flag in command.flags() {
            let mut help = flag.help.replace('\'', "'\\''");
            for special in ['[', ']', ':'] {
                help = help.replace(special, &format!("\\{special}"));
            }
            let value = match flag.takes {
                Takes::Switch | Takes::SwitchOr(_) => String::new(),
                Takes::Text(value) => format!(":{value}: "),
                Takes::Path(value) => format!(":{value}:_files"),
            };
            let _ = writeln!(text, "                '*-{}[{help}]{value}' \\", flag.name);
        }
        let commands = next_words(reference, &command.words);
        if !commands.is_empty() {
            let place = command.words.split_whitespace().count() + 1;
            let _ = writeln!(text, "                '{place}:command:({commands})' \\");
        }
        text.push_str("                '*:file:_files'\n            ;;\n");
    }
    let _ = write!(
        text,
        "    esac
}}
if [[ $funcstack[1] == {function} ]]; then
    {function} \"$@\"
elif (( $+functions[compdef] )); then
    compdef {function} {program}
fi
"
    );
    text
}

fn fish(reference: &Reference) -> String {
    let program = reference.program;
    let function = format!("_{}", function(reference));
    let mut text = format!(
        "# Completion of {program} for fish.
function {function}
    set -l line (string join ' ' (commandline -opc)[2..-1])' '
    set -l found ''
    for command in $argv[2..-1]
        string match -q -- \"$command *\" $line; and test (string length $command) -gt \
         (string length \"$found\"); and set found $command
    end
    test \"$found\" = \"$argv[1]\"
end
"
    );
    let commands = reference
        .commands
        .iter()
        .map(|command| command.words.as_str());
    let commands = commands.filter(|words| !words.is_empty());
    let all: Vec<_> = commands.map(|words| format!("'{words}'")).collect();
    let all = all.join(" ");
    for command in &reference.commands {
        let words = command.words.as_str();
        let here = format!("-n \"{function} '{words}' {all}\"");
        for flag in command.flags() {
            let value = match flag.takes {
                Takes::Switch | Takes::SwitchOr(_) => "",
                Takes::Text(_) => " -x",
                Takes::Path(_) => " -r -F",
            };
            let help = flag.help.replace('\\', "\\\\").replace('\'', "\\'");
            let _ = writeln!(
                text,
                "complete -c {program} {here} -o {}{value} -d '{help}'",
                flag.name
            );
        }
        let next = next_words(reference, words);
        if !next.is_empty() {
            let _ = writeln!(text, "complete -c {program} {here} -a '{next}'");
        }
    }
    text
}
