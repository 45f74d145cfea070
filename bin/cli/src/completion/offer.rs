//! Which words could stand where the cursor is.
//!
//! Nothing is asked of a person, no token is minted, and whatever goes wrong means no offer.

use crate::{
    completion::records,
    config::Config,
    context::Context,
    failure::Failure,
    output::escape,
    tree::{self, Command, Flag, ROOT},
};

/// A word and what it stands for.
pub(super) struct Offer {
    word: String,
    note: String,
}

/// Prints the offers for a command line without its first word, the unfinished word last.
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

/// Where the cursor is: the command so far, how many arguments it has, and the flag that waits for
/// a value.
struct Place {
    path: Vec<&'static str>,
    command: &'static Command,
    arguments: usize,
    waiting: Option<&'static Flag>,
    only_arguments: bool,
    /// A word before the cursor is no command.
    is_lost: bool,
}

fn offers(context: &Context<'_>, before: &[String], unfinished: &str) -> Vec<Offer> {
    let place = place(before);
    if place.is_lost {
        return Vec::new();
    }
    if let Some(flag) = place.waiting {
        return values(context, flag, "");
    }
    if !place.only_arguments && unfinished.starts_with('-') {
        if let Some((name, _)) = unfinished.split_once('=') {
            return match flag_of(&place, name) {
                Some(flag) => values(context, flag, &format!("{name}=")),
                None => Vec::new(),
            };
        }
        return flags(&place);
    }
    if place.command.is_group() {
        return place
            .command
            .listed()
            .map(|child| Offer::new(child.name, child.summary))
            .collect();
    }
    let words = arguments(context, &place);
    if words.is_empty() && place.arguments == 0 {
        return records::offers(context.environment, place.command, before);
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

fn place(before: &[String]) -> Place {
    let mut place = Place {
        path: Vec::new(),
        command: &ROOT,
        arguments: 0,
        waiting: None,
        only_arguments: false,
        is_lost: false,
    };
    for word in before {
        if place.waiting.take().is_some() {
            continue;
        }
        if !place.only_arguments && word == "--" {
            place.only_arguments = true;
        } else if !place.only_arguments && word.len() > 1 && word.starts_with('-') {
            let is_whole = !word.contains('=');
            place.waiting = flag_of(&place, word).filter(|flag| is_whole && flag.takes_next());
        } else if let Some(child) = place.command.child(word).filter(|_| !place.only_arguments) {
            place.command = child;
            place.path.push(child.name);
        } else {
            place.is_lost |= place.command.is_group();
            place.arguments += 1;
        }
    }
    place
}

fn known(place: &Place) -> impl Iterator<Item = &'static Flag> + use<'_> {
    place
        .command
        .flags
        .iter()
        .chain(tree::inherited(&place.path))
}

fn flag_of(place: &Place, word: &str) -> Option<&'static Flag> {
    known(place).find(|flag| match word.strip_prefix("--") {
        Some(name) => flag.name == name,
        None => word
            .strip_prefix('-')
            .and_then(|letters| letters.chars().last())
            .is_some_and(|letter| flag.short == Some(letter)),
    })
}

fn flags(place: &Place) -> Vec<Offer> {
    known(place)
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

fn arguments(context: &Context<'_>, place: &Place) -> Vec<Offer> {
    match (place.path.as_slice(), place.arguments) {
        (["platform", "api"], 0) => ["GET", "POST", "PUT", "PATCH", "DELETE"]
            .map(|method| Offer::new(method, ""))
            .into(),
        (["profile", _], 0) if !place.command.arguments.is_empty() => profiles(context)
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
