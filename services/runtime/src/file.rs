//! Reads a configuration file of untrusted size.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! #[derive(Debug, Default, serde::Deserialize)]
//! struct Raw {
//!     colour: Option<String>,
//! }
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("paint.yaml");
//! std::fs::write(&path, "colour: red\ncolor: blue\n")?;
//! let read = ziggurat_runtime::file::read::<Raw>(&path, &[])?;
//! assert_eq!(read.raw.colour.as_deref(), Some("red"));
//! assert!(read.unknown[0].starts_with("unknown key 'color'"));
//! # Ok(())
//! # }
//! ```
//!
//! A file is parsed twice. The first pass keeps no values: it counts the content with its aliases
//! expanded, up to a fixed limit, and collects unknown keys and values of a wrong kind. So the
//! second pass, into structs, is known to be small, although the alias limit of the library grows
//! with the file.

use std::{
    fmt,
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use serde::{
    Deserializer,
    de::{DeserializeOwned, DeserializeSeed, MapAccess, SeqAccess, Visitor},
};
use thiserror::Error;

use super::keys::{self, Keys, Kind};

/// Maximum size of a file.
const MAX_BYTES: u64 = 1 << 20;

/// Limit on the content with aliases expanded: bytes of text, plus one per value.
const MAX_SAID: usize = 4 << 20;

/// Limit on the unknown keys, and on the values of a wrong kind, that are reported.
const MAX_NAMED: usize = 20;

/// Reason why a file cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file does not exist.
    #[error("there is no such file")]
    NotFound,
    /// The file cannot be read.
    #[error("it cannot be read")]
    Unreadable(#[source] io::Error),
    /// The file is too large to be a configuration.
    #[error("it is larger than 1 MiB")]
    TooLarge,
    /// Values of another kind than their keys accept; one sentence each.
    #[error("{}", .0.join("; "))]
    WrongKind(Vec<String>),
    /// The file is not YAML of the expected shape.
    #[error(transparent)]
    NotUnderstood(serde_yaml::Error),
}

/// Content of a file.
#[derive(Debug)]
pub struct Read<T> {
    /// The values, as written in the file.
    pub raw: T,
    /// Unknown keys, one sentence each: mistakes of the operator.
    pub unknown: Vec<String>,
    /// Keys that only the reference implementation knows, one sentence each.
    pub foreign: Vec<String>,
}

/// Reads a file. An empty file gives the default.
///
/// `foreign` lists the keys that only the reference implementation has, written as in [`Keys`].
///
/// # Errors
/// Fails if the file does not exist, is too large, or is not YAML of this shape.
pub fn read<T: DeserializeOwned + Default>(
    path: &Path,
    foreign: &[&str],
) -> Result<Read<T>, FileError> {
    let text = text(path, MAX_BYTES)?;
    parse(&text, path, foreign)
}

/// Reads a small file as text.
///
/// # Errors
/// Fails if the file does not exist, is larger than `max_bytes`, or is not UTF-8.
pub fn text(path: &Path, max_bytes: u64) -> Result<String, FileError> {
    let file = File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => FileError::NotFound,
        _ => FileError::Unreadable(error),
    })?;
    let mut text = String::new();
    file.take(max_bytes + 1)
        .read_to_string(&mut text)
        .map_err(FileError::Unreadable)?;
    if text.len() as u64 > max_bytes {
        return Err(FileError::TooLarge);
    }
    Ok(text)
}

fn parse<T: DeserializeOwned + Default>(
    text: &str,
    path: &Path,
    foreign: &[&str],
) -> Result<Read<T>, FileError> {
    let keys = Keys::of::<T>();
    let mut survey = Survey {
        keys: &keys,
        foreign,
        said: 0,
        unknown: Vec::new(),
        more: 0,
        ignored: Vec::new(),
        wrong: Vec::new(),
    };
    let everything = Look {
        survey: &mut survey,
        place: Some(Place::default()),
    };
    if is_empty(text) {
        return Ok(Read {
            raw: T::default(),
            unknown: Vec::new(),
            foreign: Vec::new(),
        });
    }
    everything
        .deserialize(serde_yaml::Deserializer::from_str(text))
        .map_err(FileError::NotUnderstood)?;
    if !survey.wrong.is_empty() {
        return Err(FileError::WrongKind(survey.wrong));
    }
    let raw: Option<T> = serde_yaml::from_str(text).map_err(FileError::NotUnderstood)?;
    let foreign = survey.ignored.iter().map(|key| {
        let key = key.escape_debug();
        format!("the key '{key}' in {} has no meaning here", path.display())
    });
    Ok(Read {
        raw: raw.unwrap_or_default(),
        foreign: foreign.collect(),
        unknown: survey.into_unknown(path),
    })
}

/// Returns whether a file has only comments, for which the library reports a missing document.
fn is_empty(text: &str) -> bool {
    text.lines()
        .map(str::trim)
        .all(|line| line.is_empty() || line.starts_with('#'))
}

/// Findings of the first pass.
struct Survey<'a> {
    keys: &'a Keys,
    foreign: &'a [&'a str],
    said: usize,
    unknown: Vec<Unknown>,
    more: usize,
    ignored: Vec<String>,
    wrong: Vec<String>,
}

struct Unknown {
    written: String,
    meant: Option<String>,
}

/// Path of a value: with the indexes of lists for messages, and without them for lookups.
#[derive(Clone, Default)]
struct Place {
    written: String,
    pattern: String,
}

/// Visits one value.
struct Look<'a, 'k> {
    survey: &'a mut Survey<'k>,
    /// `None` below an unknown key, because that key is reported already.
    place: Option<Place>,
}

// === impl Survey ===

impl Survey<'_> {
    fn count<E: serde::de::Error>(&mut self, text: &str) -> Result<(), E> {
        self.said += 1 + text.len();
        if self.said > MAX_SAID {
            return Err(E::custom(
                "its aliases stand for more than a configuration can be",
            ));
        }
        Ok(())
    }

    /// Records a value that its key does not accept.
    fn check(&mut self, place: Option<&Place>, is_good: impl Fn(Kind) -> bool) {
        let Some((place, kind)) =
            place.and_then(|place| Some((place, self.keys.kind(&place.pattern)?)))
        else {
            return;
        };
        if is_good(kind) || self.wrong.len() == MAX_NAMED {
            return;
        }
        let key = if place.written.is_empty() {
            "the file"
        } else {
            &place.written
        };
        self.wrong.push(format!("{key}: must be {kind}"));
    }

    fn note(&mut self, place: &Place) {
        if self.foreign.contains(&place.pattern.as_str()) {
            if self.ignored.len() < MAX_NAMED {
                self.ignored.push(place.written.clone());
            }
            return;
        }
        if self.unknown.len() == MAX_NAMED {
            self.more += 1;
            return;
        }
        let meant = self.keys.nearest(&place.pattern).map(|meant| {
            // A key of the same section is suggested with the index of the unknown key.
            let section = place.pattern.rsplit_once('.').map(|(section, _)| section);
            let same = meant
                .rsplit_once('.')
                .filter(|(of, _)| Some(*of) == section);
            match (same, place.written.rsplit_once('.')) {
                (Some((_, key)), Some((section, _))) => keys::join(section, key),
                _ => meant.to_owned(),
            }
        });
        self.unknown.push(Unknown {
            written: place.written.clone(),
            meant,
        });
    }

    fn into_unknown(self, path: &Path) -> Vec<String> {
        let path = path.display();
        let named = self.unknown.into_iter().map(|unknown| {
            let written = unknown.written.escape_debug();
            match unknown.meant {
                Some(meant) => {
                    format!("unknown key '{written}' in {path} (did you mean '{meant}'?)")
                }
                None => format!("unknown key '{written}' in {path}"),
            }
        });
        let rest = (self.more > 0).then(|| format!("{} more unknown keys in {path}", self.more));
        named.chain(rest).collect()
    }
}

// === impl Place ===

impl Place {
    fn key(&self, key: &str) -> Self {
        Self {
            written: keys::join(&self.written, key),
            pattern: keys::join(&self.pattern, key),
        }
    }

    fn element(&self, index: usize) -> Self {
        Self {
            written: format!("{}[{index}]", self.written),
            pattern: format!("{}[]", self.pattern),
        }
    }
}

// === impl Look ===

impl Look<'_, '_> {
    fn scalar<E: serde::de::Error>(self, is_good: impl Fn(Kind) -> bool) -> Result<(), E> {
        self.survey.check(self.place.as_ref(), is_good);
        self.survey.count("")
    }

    /// YAML parses some texts as numbers, so a text key accepts a number.
    fn whole<E: serde::de::Error>(self, number: i128) -> Result<(), E> {
        self.scalar(|kind| match kind {
            Kind::Whole(least, most) => (least..=most).contains(&number),
            kind => matches!(kind, Kind::Number | Kind::Text),
        })
    }
}

impl<'de> DeserializeSeed<'de> for Look<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Look<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value without a tag")
    }

    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<(), E> {
        self.scalar(|kind| matches!(kind, Kind::Boolean | Kind::Text))
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<(), E> {
        self.whole(number.into())
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<(), E> {
        self.whole(number.into())
    }

    fn visit_i128<E: serde::de::Error>(self, number: i128) -> Result<(), E> {
        self.whole(number)
    }

    fn visit_u128<E: serde::de::Error>(self, number: u128) -> Result<(), E> {
        self.whole(i128::try_from(number).unwrap_or(i128::MAX))
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<(), E> {
        self.scalar(|kind| matches!(kind, Kind::Number | Kind::Text))
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.scalar(|_| true)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        let is_text = |kind: Kind| kind == Kind::Text;
        self.survey.check(self.place.as_ref(), is_text);
        self.survey.count(text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let is_list = |kind: Kind| kind == Kind::List;
        self.survey.check(self.place.as_ref(), is_list);
        self.survey.count("")?;
        for index in 0.. {
            let look = Look {
                place: self.place.as_ref().map(|place| place.element(index)),
                survey: &mut *self.survey,
            };
            if list.next_element_seed(look)?.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let is_section = |kind: Kind| kind == Kind::Section;
        self.survey.check(self.place.as_ref(), is_section);
        self.survey.count("")?;
        while let Some(key) = map.next_key::<String>()? {
            self.survey.count::<A::Error>(&key)?;
            let place = self.place.as_ref().map(|place| place.key(&key));
            let is_known = |place: &Place| self.survey.keys.contains(&place.pattern);
            let place = match place {
                Some(place) if !is_known(&place) => {
                    self.survey.note(&place);
                    None
                }
                place => place,
            };
            map.next_value_seed(Look {
                survey: &mut *self.survey,
                place,
            })?;
        }
        Ok(())
    }
}
