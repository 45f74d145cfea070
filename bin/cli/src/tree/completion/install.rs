//! Installs the completion script in the folder of a shell, and removes it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    context::Context,
    environment::Environment,
    failure::Failure,
    output::quoted,
    tree::{Shell, completion::scripts::script, parser::Matches},
};

/// Marks the lines of this program in a start-up file.
const MARK: &str = "# Added by 'ziggurat completion install'";

/// The files of a shell: its completion script and its start-up file.
struct ShellFiles {
    shell: Shell,
    script: PathBuf,
    /// The start-up file and the line it needs; `None` if the shell finds the script itself.
    startup: Option<(PathBuf, String)>,
}

/// `ziggurat completion install`.
pub(crate) fn install(context: &mut Context<'_>, matches: &Matches) -> Result<(), Failure> {
    let files = shell_files(context.environment, matches)?;
    if !matches.is_on("rc-only") {
        let script = script(files.shell);
        if let Ok(existing) = fs::read_to_string(&files.script)
            && existing != script
            && !matches.is_on("force")
        {
            return Err(Failure::general(format!(
                "{} already exists and differs; run with --force to overwrite it",
                files.script.display()
            )));
        }
        write(&files.script, script)?;
        context.note(format_args!("Wrote {}.", files.script.display()));
    }
    let Some((file, line)) = &files.startup else {
        return Ok(());
    };
    if !matches.is_on("write-rc") && !matches.is_on("rc-only") {
        context.note(format_args!(
            "Add this line to {}, or run again with --write-rc:\n{line}",
            file.display()
        ));
        return Ok(());
    }
    let lines = read(file)?;
    if lines.contains(MARK) {
        context.note(format_args!("{} already has the line.", file.display()));
        return Ok(());
    }
    let gap = if lines.ends_with('\n') || lines.is_empty() {
        ""
    } else {
        "\n"
    };
    write(file, &format!("{lines}{gap}{line} {MARK}\n"))?;
    context.note(format_args!("Added a line to {}.", file.display()));
    Ok(())
}

/// `ziggurat completion uninstall`.
pub(crate) fn uninstall(context: &mut Context<'_>, matches: &Matches) -> Result<(), Failure> {
    let files = shell_files(context.environment, matches)?;
    match fs::read_to_string(&files.script) {
        Ok(existing) if existing != script(files.shell) && !matches.is_on("force") => {
            return Err(Failure::general(format!(
                "{} was changed since it was installed; run with --force to remove it",
                files.script.display()
            )));
        }
        Ok(_) => {
            fs::remove_file(&files.script).map_err(|error| failed(&files.script, &error))?;
            context.note(format_args!("Removed {}.", files.script.display()));
        }
        Err(_) => context.note(format_args!("{} does not exist.", files.script.display())),
    }
    let Some((file, _)) = &files.startup else {
        return Ok(());
    };
    let lines = read(file)?;
    if lines.contains(MARK) {
        let kept: String = lines
            .split_inclusive('\n')
            .filter(|line| !line.contains(MARK))
            .collect();
        write(file, &kept)?;
        context.note(format_args!("Removed the line from {}.", file.display()));
    }
    Ok(())
}

fn shell_files(environment: &Environment, matches: &Matches) -> Result<ShellFiles, Failure> {
    let shell = shell(environment, matches.value("shell"))?;
    let home = environment.home();
    if home.as_os_str().is_empty() {
        return Err(Failure::general("there is no home folder: HOME is not set"));
    }
    Ok(match shell {
        Shell::Bash => ShellFiles {
            shell,
            script: home.join(".local/share/bash-completion/completions/ziggurat"),
            startup: None,
        },
        Shell::Zsh => ShellFiles {
            shell,
            script: home.join(".zsh/completions/_ziggurat"),
            startup: Some((
                home.join(".zshrc"),
                "fpath=(~/.zsh/completions $fpath); autoload -Uz compinit; compinit".to_owned(),
            )),
        },
        Shell::Fish => {
            let config = environment
                .var("XDG_CONFIG_HOME")
                .map_or_else(|| home.join(".config"), PathBuf::from);
            ShellFiles {
                shell,
                script: config.join("fish/completions/ziggurat.fish"),
                startup: None,
            }
        }
        Shell::Power => {
            let folder = home.join(".config/powershell");
            let script = folder.join("ziggurat.completion.ps1");
            let line = format!(". {}", quoted(&script.to_string_lossy()));
            ShellFiles {
                shell,
                startup: Some((folder.join("Microsoft.PowerShell_profile.ps1"), line)),
                script,
            }
        }
    })
}

fn shell(environment: &Environment, named: Option<&str>) -> Result<Shell, Failure> {
    let name = match named {
        Some(name) => name.to_owned(),
        None => environment
            .var("SHELL")
            .and_then(|path| Path::new(path).file_name()?.to_str())
            .unwrap_or_default()
            .to_owned(),
    };
    Shell::ALL
        .into_iter()
        .find(|shell| shell.name() == name || (name == "pwsh" && *shell == Shell::Power))
        .ok_or_else(|| {
            Failure::usage(match named {
                Some(name) => format!(
                    "unsupported shell {} (want bash, zsh, fish, powershell)",
                    quoted(name)
                ),
                None => "the current shell is unknown: name one with --shell".to_owned(),
            })
        })
}

fn read(path: &Path) -> Result<String, Failure> {
    match fs::read_to_string(path) {
        Ok(content) => Ok(content),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(failed(path, &error)),
    }
}

fn write(path: &Path, content: &str) -> Result<(), Failure> {
    path.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(path, content))
        .map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::general(format!("{}: {error}", path.display()))
}
