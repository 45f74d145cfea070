//! The commands of the program itself.

use crate::tree::{
    Action, Argument, BLANK, Command, Flag, Output, PROGRAM, Shell, Takes,
    flags::{FORCE, GLOBAL},
    platform::PLATFORM,
};

/// The program.
pub(crate) static ROOT: Command = Command {
    name: PROGRAM,
    summary: "Manage a Ziggurat account from the command line",
    about: "The commands for an account are in the group \"platform\": API clients, invites, \
            memberships and tenants. Sign in once with \"ziggurat platform auth login\". Results \
            go to standard output, messages to standard error.",
    examples: &[
        ("Sign in", "ziggurat platform auth login"),
        (
            "List the API clients of the account as JSON",
            "ziggurat platform client list -o json",
        ),
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
    summary: "Manage profiles of several accounts",
    about: "A profile is a platform and a credential for it, kept in the configuration file. \
            \"auth login --profile NAME\" creates one.",
    examples: &[("List the profiles", "ziggurat profile list")],
    children: &[
        Command {
            name: "list",
            summary: "List the profiles",
            about: "Lists the profiles and marks the active one. An active profile that is missing \
                    in the file is listed as unresolved.",
            examples: &[(
                "Print the name of the active profile",
                "ziggurat profile list --jq '.[] | select(.active) | .name'",
            )],
            action: Some(Action::ProfileList),
            output: Output::List("name active resolved platform_url"),
            ..BLANK
        },
        Command {
            name: "show",
            summary: "Show a profile",
            about: "Shows a profile, and if its secret is stored in the file or the keychain. The \
                    secret itself is never shown.",
            examples: &[("Show the active profile", "ziggurat profile show")],
            arguments: &[Argument {
                name: "name",
                meaning: "name of the profile; default: the active one",
                takes: Takes::AtMostOne,
            }],
            action: Some(Action::ProfileShow),
            output: Output::Record(
                "name active platform_url platform_client_id platform_has_secret",
            ),
            ..BLANK
        },
        Command {
            name: "use",
            summary: "Make a profile the active one",
            about: "Writes the name into the configuration file. Later commands use this profile \
                    unless --profile names another.",
            examples: &[(
                "Make staging the active profile",
                "ziggurat profile use staging",
            )],
            arguments: &[PROFILE_NAME],
            action: Some(Action::ProfileUse),
            output: Output::Record("name active"),
            ..BLANK
        },
        Command {
            name: "delete",
            summary: "Delete a profile from this machine",
            about: "Deletes the profile from the configuration file, its cached token, and its \
                    secret in the keychain. Nothing changes on the platform.",
            examples: &[(
                "Delete without confirmation",
                "ziggurat profile delete staging --force",
            )],
            arguments: &[PROFILE_NAME],
            flags: &[FORCE],
            action: Some(Action::ProfileDelete),
            output: Output::Record("name deleted"),
            ..BLANK
        },
    ],
    ..BLANK
};

const PROFILE_NAME: Argument = Argument::one("name", "name of the profile");

const DOCTOR: Command = Command {
    name: "doctor",
    summary: "Check the installation",
    about: "Checks the version, the configuration file, the shell, the installation, and if the \
            platform of each profile is reachable. It changes nothing. The exit code is 0 even if \
            a check fails, unless --strict is given.",
    examples: &[("Check the installation", "ziggurat doctor")],
    flags: &[
        Flag::switch("no-version-check", "skip the check for a newer version"),
        Flag::switch("strict", "exit 1 when a check finds an error"),
    ],
    action: Some(Action::Doctor),
    output: Output::Record("version latest_version config shell install_method connections"),
    ..BLANK
};

const COMPLETION: Command = Command {
    name: "completion",
    summary: "Complete commands, flags and ids in a shell",
    about: "Prints the completion script of a shell, or installs it. Ids of records are completed \
            too while a cached token is valid; completion never prompts and never requests a \
            token.",
    examples: &[(
        "Install for the current shell",
        "ziggurat completion install",
    )],
    children: &[
        script(
            "Print the script for bash",
            Shell::Bash,
            &[(
                "Load in the current shell only",
                "source <(ziggurat completion bash)",
            )],
        ),
        script(
            "Print the script for zsh",
            Shell::Zsh,
            &[(
                "Load in the current shell only",
                "source <(ziggurat completion zsh)",
            )],
        ),
        script(
            "Print the script for fish",
            Shell::Fish,
            &[(
                "Load in the current shell only",
                "ziggurat completion fish | source",
            )],
        ),
        script(
            "Print the script for PowerShell",
            Shell::Power,
            &[(
                "Load in the current shell only",
                "ziggurat completion powershell | Out-String | Invoke-Expression",
            )],
        ),
        Command {
            name: "install",
            summary: "Install the completion script",
            about: "Writes the script into the completion folder of the shell, and prints the line \
                    to add to the start-up file. An existing, different script is not overwritten \
                    without --force.",
            examples: &[(
                "Install for zsh and update ~/.zshrc",
                "ziggurat completion install --shell zsh --write-rc",
            )],
            flags: &[
                SHELL,
                Flag::switch("force", "overwrite a different script"),
                Flag::switch(
                    "rc-only",
                    "add the line to the start-up file, without writing the script",
                ),
                Flag::switch("write-rc", "add the line to the start-up file"),
            ],
            action: Some(Action::CompletionInstall),
            ..BLANK
        },
        Command {
            name: "uninstall",
            summary: "Remove the installed script",
            about: "Removes the script, and the line that \"install\" added to the start-up file. \
                    A script that was changed is not removed without --force.",
            examples: &[(
                "Uninstall for the current shell",
                "ziggurat completion uninstall",
            )],
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
    summary: &'static str,
    shell: Shell,
    examples: &'static [(&'static str, &'static str)],
) -> Command {
    Command {
        name: shell.name(),
        summary,
        about: "Prints the script to standard output. It calls this program for the completions, \
                so it does not change when the program is updated.",
        examples,
        action: Some(Action::CompletionScript(shell)),
        output: Output::Text,
        ..BLANK
    }
}

const COMMANDS: Command = Command {
    name: "commands",
    summary: "List every command as data",
    about: "Lists all commands with their arguments, flags, output members and exit codes. Use -o \
            json for programs that build calls.",
    examples: &[(
        "List the commands that change data",
        "ziggurat commands --jq '.[] | select(.writes) | .path'",
    )],
    action: Some(Action::Commands),
    output: Output::List("name path summary args flags writes output output_fields exit_codes"),
    ..BLANK
};

const LLMS: Command = Command {
    name: "llms",
    summary: "Print a reference for language models",
    about: "Prints the index, or the page of a command with its flags, output members, exit codes \
            and examples. Needs no network and no configuration.",
    examples: &[(
        "Print the page of one command",
        "ziggurat llms platform client create",
    )],
    arguments: &[Argument::any("page", "the words of a command")],
    action: Some(Action::Llms),
    output: Output::Text,
    ..BLANK
};

const MAN: Command = Command {
    name: "man",
    summary: "Print a manual page",
    about: "Prints the manual page of the program or of one command, for man(1). With --dir it \
            writes all pages into a folder, for packages.",
    examples: &[
        (
            "Read a page",
            "ziggurat man platform client create | man -l -",
        ),
        (
            "Write all pages",
            "ziggurat man --dir /usr/local/share/man/man1",
        ),
    ],
    arguments: &[Argument::any("command", "the words of a command")],
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
    about: "Prints the version and the build. Needs no network and no configuration.",
    examples: &[("Print only the version", "ziggurat version --jq .version")],
    action: Some(Action::Version),
    output: Output::Record("version commit build_date modules"),
    ..BLANK
};

const HELP: Command = Command {
    name: "help",
    summary: "Print the help of a command",
    about: "Prints the same text as the command with --help.",
    examples: &[(
        "Print the help of one command",
        "ziggurat help platform client create",
    )],
    arguments: &[Argument::any("command", "the words of a command")],
    action: Some(Action::Help),
    output: Output::Text,
    ..BLANK
};

/// The command that the completion scripts of the shells call.
const COMPLETE: Command = Command {
    name: "__complete",
    summary: "Print completions for a shell",
    about: "Takes the words of a command line, with the incomplete word last, and prints the \
            completions of that word, one per line: the completion, a tab, and a description.",
    arguments: &[Argument::any("word", "a word of the command line")],
    action: Some(Action::CompleteWords),
    output: Output::Text,
    is_hidden: true,
    ..BLANK
};
