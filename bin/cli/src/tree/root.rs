//! The commands of the program itself.

use super::{
    Action, Argument, BLANK, Command, Example, Flag, Output, PROGRAM, Shell, Takes,
    flags::{FORCE, GLOBAL},
    platform::PLATFORM,
};

/// The program.
pub(crate) static ROOT: Command = Command {
    name: PROGRAM,
    summary: "Manage a Ziggurat account from the command line",
    about: "Everything about an account is under \"platform\": API clients, invites, memberships \
            and tenants. Sign in once with \"ziggurat platform auth login\"; what is found out or \
            done goes to standard output, everything else to standard error.",
    examples: &[
        Example {
            says: "Sign in",
            line: "ziggurat platform auth login",
        },
        Example {
            says: "List the API clients of the account as JSON",
            line: "ziggurat platform client list -o json",
        },
    ],
    shared: GLOBAL,
    flags: &[Flag::switch("version", "print the version").short('V')],
    children: &[
        PLATFORM, PROFILE, DOCTOR, COMPLETION, COMMANDS, LLMS, MAN, VERSION, HELP, COMPLETE,
    ],
    ..BLANK
};

const PROFILE: Command = Command {
    name: "profile",
    aliases: &["profiles"],
    summary: "Choose between several accounts",
    about: "A profile is a platform and a credential for it, kept in the configuration file. \
            \"auth login --profile NAME\" creates one.",
    examples: &[Example {
        says: "See what there is",
        line: "ziggurat profile list",
    }],
    children: &[
        Command {
            name: "list",
            summary: "List the profiles",
            about: "Lists the profiles by name, and which of them is active. An active profile \
                    that the file does not have is listed as unresolved.",
            examples: &[Example {
                says: "The name of the active profile",
                line: "ziggurat profile list --jq '.[] | select(.active) | .name'",
            }],
            action: Some(Action::ProfileList),
            output: Output::List(&["name", "active", "resolved", "platform_url"]),
            ..BLANK
        },
        Command {
            name: "show",
            summary: "Show a profile",
            about: "Shows what a profile holds, and whether a secret is kept for it in the file \
                    or the keychain. The secret itself is never shown.",
            examples: &[Example {
                says: "The active profile",
                line: "ziggurat profile show",
            }],
            arguments: &[Argument {
                name: "name",
                meaning: "the profile; without it the active one",
                takes: Takes::AtMostOne,
            }],
            action: Some(Action::ProfileShow),
            output: Output::Record(&[
                "name",
                "active",
                "platform_url",
                "platform_client_id",
                "platform_has_secret",
            ]),
            ..BLANK
        },
        Command {
            name: "use",
            summary: "Make a profile the active one",
            about: "Writes the name into the configuration file; every later command without \
                    --profile uses it.",
            examples: &[Example {
                says: "Work on staging from now on",
                line: "ziggurat profile use staging",
            }],
            arguments: &[PROFILE_NAME],
            action: Some(Action::ProfileUse),
            output: Output::Record(&["name", "active"]),
            ..BLANK
        },
        Command {
            name: "delete",
            summary: "Remove a profile from this machine",
            about: "Removes the profile from the configuration file, its cached token, and its \
                    secret from the keychain. Nothing changes on the platform.",
            examples: &[Example {
                says: "Without being asked",
                line: "ziggurat profile delete staging --force",
            }],
            arguments: &[PROFILE_NAME],
            flags: &[FORCE],
            action: Some(Action::ProfileDelete),
            output: Output::Record(&["name", "deleted"]),
            ..BLANK
        },
    ],
    ..BLANK
};

const PROFILE_NAME: Argument = Argument {
    name: "name",
    meaning: "the profile",
    takes: Takes::One,
};

const DOCTOR: Command = Command {
    name: "doctor",
    summary: "Check the installation",
    about: "Looks at this program and its configuration: version, file, shell, how it was \
            installed, and whether each profile's platform answers. It changes nothing and exits \
            0 whatever it finds, unless --strict is given.",
    examples: &[Example {
        says: "Everything at a glance",
        line: "ziggurat doctor",
    }],
    flags: &[
        Flag::switch("no-version-check", "do not look for a newer version"),
        Flag::switch("strict", "exit 1 when a check finds an error"),
    ],
    action: Some(Action::Doctor),
    output: Output::Record(&[
        "version",
        "latest_version",
        "config",
        "shell",
        "install_method",
        "connections",
    ]),
    ..BLANK
};

const COMPLETION: Command = Command {
    name: "completion",
    summary: "Complete commands, flags and ids in a shell",
    about: "Prints the script for a shell, or puts it where the shell finds it. Ids of records \
            are completed too while a token is cached; nothing is asked and no token is minted \
            for that.",
    examples: &[Example {
        says: "Install it for the shell in use",
        line: "ziggurat completion install",
    }],
    children: &[
        script(
            "bash",
            "Print the script for bash",
            Shell::Bash,
            &[Example {
                says: "Try it in this shell",
                line: "source <(ziggurat completion bash)",
            }],
        ),
        script(
            "zsh",
            "Print the script for zsh",
            Shell::Zsh,
            &[Example {
                says: "Try it in this shell",
                line: "source <(ziggurat completion zsh)",
            }],
        ),
        script(
            "fish",
            "Print the script for fish",
            Shell::Fish,
            &[Example {
                says: "Try it in this shell",
                line: "ziggurat completion fish | source",
            }],
        ),
        script(
            "powershell",
            "Print the script for PowerShell",
            Shell::Power,
            &[Example {
                says: "Try it in this shell",
                line: "ziggurat completion powershell | Out-String | Invoke-Expression",
            }],
        ),
        Command {
            name: "install",
            summary: "Put the script where the shell finds it",
            about: "Writes the script into the folder from which the shell reads completions, and \
                    says what to add to its start-up file. A different script that is there \
                    already stays, unless --force is given.",
            examples: &[Example {
                says: "For zsh, and add the line to ~/.zshrc too",
                line: "ziggurat completion install --shell zsh --write-rc",
            }],
            flags: &[
                SHELL,
                Flag::switch("force", "overwrite a different script"),
                Flag::switch(
                    "rc-only",
                    "write the line of the start-up file and no script",
                ),
                Flag::switch("write-rc", "add the line to the start-up file"),
            ],
            action: Some(Action::CompletionInstall),
            ..BLANK
        },
        Command {
            name: "uninstall",
            summary: "Remove what install wrote",
            about: "Removes the script and the line of the start-up file that carries our mark. A \
                    script that was changed stays, unless --force is given.",
            examples: &[Example {
                says: "For the shell in use",
                line: "ziggurat completion uninstall",
            }],
            flags: &[SHELL, Flag::switch("force", "remove a changed script too")],
            action: Some(Action::CompletionUninstall),
            ..BLANK
        },
    ],
    ..BLANK
};

const SHELL: Flag = Flag::text("shell", "name", "bash, zsh, fish or powershell")
    .default("the one that SHELL names");

const fn script(
    name: &'static str,
    summary: &'static str,
    shell: Shell,
    examples: &'static [Example],
) -> Command {
    Command {
        name,
        summary,
        about: "Prints the script to standard output. It asks this program for the words to offer, \
                so it stays right when the program is updated.",
        examples,
        action: Some(Action::CompletionScript(shell)),
        output: Output::Text,
        ..BLANK
    }
}

const COMMANDS: Command = Command {
    name: "commands",
    summary: "List every command as data",
    about: "Lists every command with its arguments, flags, members of its output and exit codes. \
            With -o json, programs can build a call from it without reading help.",
    examples: &[Example {
        says: "Every command that writes",
        line: "ziggurat commands --jq '.[] | select(.writes) | .path'",
    }],
    action: Some(Action::Commands),
    output: Output::List(&[
        "name",
        "path",
        "summary",
        "args",
        "flags",
        "writes",
        "output",
        "output_fields",
        "exit_codes",
    ]),
    ..BLANK
};

const LLMS: Command = Command {
    name: "llms",
    summary: "Print a reference for language models",
    about: "Without a page it prints the index; with the words of a command, the page of that \
            command: flags, output members, exit codes, examples. Plain text, without network or \
            configuration.",
    examples: &[Example {
        says: "The page of one command",
        line: "ziggurat llms platform client create",
    }],
    arguments: &[Argument {
        name: "page",
        meaning: "the words of a command",
        takes: Takes::Any,
    }],
    action: Some(Action::Llms),
    output: Output::Text,
    ..BLANK
};

const MAN: Command = Command {
    name: "man",
    summary: "Print a manual page",
    about: "Prints the manual page of the program or of one command, for man(1). With --dir it \
            writes every page into a folder, which is how packages are made.",
    examples: &[
        Example {
            says: "Read a page",
            line: "ziggurat man platform client create | man -l -",
        },
        Example {
            says: "Write all of them",
            line: "ziggurat man --dir /usr/local/share/man/man1",
        },
    ],
    arguments: &[Argument {
        name: "command",
        meaning: "the words of a command",
        takes: Takes::Any,
    }],
    flags: &[Flag::text(
        "dir",
        "folder",
        "write every page into this folder",
    )],
    action: Some(Action::Man),
    output: Output::Text,
    ..BLANK
};

const VERSION: Command = Command {
    name: "version",
    summary: "Print the version",
    about: "Prints the version, and what it was built from. No network and no configuration is \
            needed.",
    examples: &[Example {
        says: "The version alone",
        line: "ziggurat version --jq .version",
    }],
    action: Some(Action::Version),
    output: Output::Record(&["version", "commit", "build_date", "modules"]),
    ..BLANK
};

const HELP: Command = Command {
    name: "help",
    summary: "Print the help of a command",
    about: "Prints what \"--help\" prints behind the same words.",
    examples: &[Example {
        says: "The help of one command",
        line: "ziggurat help platform client create",
    }],
    arguments: &[Argument {
        name: "command",
        meaning: "the words of a command",
        takes: Takes::Any,
    }],
    action: Some(Action::Help),
    output: Output::Text,
    ..BLANK
};

/// The command that the completion scripts of the shells call.
const COMPLETE: Command = Command {
    name: "__complete",
    summary: "Offer words to a shell",
    about: "Takes the words of a command line, the unfinished one last, and prints what could \
            stand there: one line each, a tab, and a word on it.",
    arguments: &[Argument {
        name: "word",
        meaning: "a word of the command line",
        takes: Takes::Any,
    }],
    action: Some(Action::CompleteWords),
    output: Output::Text,
    is_hidden: true,
    ..BLANK
};
