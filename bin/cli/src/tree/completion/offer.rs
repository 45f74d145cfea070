//! Finds the completions at the cursor.
//!
//! It never prompts and never obtains a token. Every failure means no completion.

use crate::{
    config::Config,
    context::Context,
    failure::Failure,
    output::escape,
    tree::{self, Command, Flag, ROOT, completion::records, parser},
};

/// A completion and its meaning.
pub(super) struct Offer {
    word: String,
    note: String,
}

/// Prints the completions for a command line without the program name; the incomplete word is last.
pub(crate) fn words(context: &mut Context<'_>, line: &[String]) -> Result<(), Failure> {
    let (unfinished, before) = match line.split_last() {
        Some((last, before)) => (last.as_str(), before),
        None => ("", line),
    };
    let mut text = String::new();
    for offer in offers(context, before, unfinished) {
        if offer.word.starts_with(unfinished) {
            text.push_str(&offer.word);
            if !offer.note.is_empty() {
                text.push('\t');
                text.push_str(&escape(&offer.note));
            }
            text.push('\n');
        }
    }
    context.streams.print(text.as_bytes())
}

/// Position of the cursor: the command so far, the number of its arguments, and the flag that
/// expects a value.
struct Cursor {
    path: Vec<&'static str>,
    command: &'static Command,
    arguments: usize,
    waiting: Option<&'static Flag>,
    only_arguments: bool,
    /// Set if a word before the cursor is not a command.
    is_lost: bool,
}

fn offers(context: &Context<'_>, before: &[String], unfinished: &str) -> Vec<Offer> {
    let cursor = cursor(before);
    if cursor.is_lost {
        return Vec::new();
    }
    if let Some(flag) = cursor.waiting {
        return values(context, flag, "");
    }
    if !cursor.only_arguments && unfinished.starts_with('-') {
        if let Some((name, _)) = unfinished.split_once('=') {
            return match flag_of(&cursor, name) {
                Some(flag) => values(context, flag, &format!("{name}=")),
                None => Vec::new(),
            };
        }
        return flags(&cursor);
    }
    if cursor.command.is_group() {
        return cursor
            .command
            .listed()
            .map(|child| Offer::new(child.name, child.summary))
            .collect();
    }
    let words = arguments(context, &cursor);
    if words.is_empty() && cursor.arguments == 0 {
        return records::offers(context.environment, cursor.command, before);
    }
    words
}

// === impl Offer ===

impl Offer {
    pub(super) fn new(word: impl Into<String>, note: impl Into<String>) -> Self {
        Self {
            word: word.into(),
            note: note.into(),
        }
    }
}

fn cursor(before: &[String]) -> Cursor {
    let mut cursor = Cursor {
        path: Vec::new(),
        command: &ROOT,
        arguments: 0,
        waiting: None,
        only_arguments: false,
        is_lost: false,
    };
    for word in before {
        if cursor.waiting.take().is_some() {
            continue;
        }
        if !cursor.only_arguments && word == "--" {
            cursor.only_arguments = true;
        } else if !cursor.only_arguments && parser::is_flag(word) {
            let is_whole = !word.contains('=');
            cursor.waiting = flag_of(&cursor, word).filter(|flag| is_whole && flag.takes_next());
        } else if let Some(child) = cursor
            .command
            .child(word)
            .filter(|_| !cursor.only_arguments)
        {
            cursor.command = child;
            cursor.path.push(child.name);
        } else {
            cursor.is_lost |= cursor.command.is_group();
            cursor.arguments += 1;
        }
    }
    cursor
}

fn flag_of(cursor: &Cursor, word: &str) -> Option<&'static Flag> {
    parser::known(&cursor.path, cursor.command).find(|flag| match word.strip_prefix("--") {
        Some(name) => flag.name == name,
        None => word
            .strip_prefix('-')
            .and_then(|letters| letters.chars().last())
            .is_some_and(|letter| flag.short == Some(letter)),
    })
}

fn flags(cursor: &Cursor) -> Vec<Offer> {
    parser::known(&cursor.path, cursor.command)
        .map(|flag| Offer::new(format!("--{}", flag.name), flag.meaning))
        .collect()
}

fn values(context: &Context<'_>, flag: &Flag, prefix: &str) -> Vec<Offer> {
    let words: Vec<String> = match flag.name {
        "output" => ["text", "json", "yaml"].map(str::to_owned).to_vec(),
        "shell" => tree::Shell::ALL
            .map(|shell| shell.name().to_owned())
            .to_vec(),
        "dry-run" => vec!["checks".to_owned()],
        "profile" => profiles(context),
        _ => Vec::new(),
    };
    words
        .into_iter()
        .map(|word| Offer::new(format!("{prefix}{word}"), ""))
        .collect()
}

fn arguments(context: &Context<'_>, cursor: &Cursor) -> Vec<Offer> {
    match (cursor.path.as_slice(), cursor.arguments) {
        (["platform", "api"], 0) => ["GET", "POST", "PUT", "PATCH", "DELETE"]
            .map(|method| Offer::new(method, ""))
            .into(),
        (["profile", _], 0) if !cursor.command.arguments.is_empty() => profiles(context)
            .into_iter()
            .map(|name| Offer::new(name, ""))
            .collect(),
        (["help" | "llms" | "man"], 0) => ROOT
            .listed()
            .map(|child| Offer::new(child.name, child.summary))
            .collect(),
        _ => Vec::new(),
    }
}

fn profiles(context: &Context<'_>) -> Vec<String> {
    let named = context.globals.config.as_deref();
    let Ok(config) = Config::load(context.environment, named, true) else {
        return Vec::new();
    };
    config.profile_names().map(str::to_owned).collect()
}
