//! Finds commands similar to an unknown word.

use crate::tree::{self, Command, parser};

/// Returns the question for the end of the message; empty if no command is similar.
pub(super) fn candidates(typed: &str, command: &Command) -> String {
    let original = typed;
    let typed = typed.to_lowercase();
    let mut near: Vec<String> = command
        .listed()
        .map(|child| child.name)
        .filter(|name| {
            *name != original
                && (strsim::levenshtein(&typed, name) <= MOST
                    || (!typed.is_empty() && name.starts_with(&typed)))
        })
        .map(str::to_owned)
        .collect();
    // After `--` a word is not a command, even if there is one of that name.
    if near.is_empty() && command.child(original).is_none() {
        near = in_other_groups(&typed);
    }
    if near.is_empty() {
        return String::new();
    }
    let mut text = "\n\nDid you mean this?\n".to_owned();
    for name in near {
        text.push('\t');
        text.push_str(&name);
        text.push('\n');
    }
    text
}

/// Returns the commands of this name in other groups, with their full names.
fn in_other_groups(typed: &str) -> Vec<String> {
    tree::commands()
        .into_iter()
        .filter(|(path, command)| {
            !path.is_empty() && (command.name == typed || command.aliases.contains(&typed))
        })
        .map(|(path, _)| parser::full_name(&path))
        .collect()
}

/// Maximum number of wrong letters.
const MOST: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::ROOT;

    #[test]
    fn hidden_commands_are_never_offered() {
        assert_eq!(candidates("__complet", &ROOT), "");
        assert_eq!(candidates("__complete", &ROOT), "");
    }

    #[test]
    fn a_command_of_another_group_is_offered_with_the_words_that_lead_to_it() {
        for (typed, offered) in [
            ("login", "\tziggurat platform auth login\n"),
            ("whoami", "\tziggurat platform auth whoami\n"),
            ("clients", "\tziggurat platform client\n"),
        ] {
            let text = candidates(typed, &ROOT);
            assert_eq!(text, format!("\n\nDid you mean this?\n{offered}"));
        }
        let platform = ROOT.child("platform").expect("a group");
        let text = candidates("login", platform);
        assert!(text.ends_with("\tziggurat platform auth login\n"), "{text}");
    }
}
