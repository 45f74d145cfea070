//! Keys that a configuration file may have.
//!
//! There is no list to maintain: the structs are deserialized once from empty values, by a
//! deserializer that records the fields they request.
//!
//! ```
//! use ziggurat_runtime::keys::Keys;
//!
//! #[derive(serde::Deserialize)]
//! struct Raw {
//!     #[expect(dead_code)]
//!     colour: Option<String>,
//! }
//!
//! let keys = Keys::of::<Raw>();
//! assert!(keys.contains("colour"));
//! assert_eq!(keys.nearest("color"), Some("colour"));
//! ```

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeSeed, MapAccess, SeqAccess, Visitor,
        value::{Error, StrDeserializer},
    },
    forward_to_deserialize_any,
};

/// The known keys, as paths with dots: `http.tls.enabled`, `databases[].name`.
#[derive(Debug, Default)]
pub struct Keys {
    paths: BTreeSet<String>,
    /// Paths below which any key is allowed.
    open: BTreeSet<String>,
    kinds: BTreeMap<String, Kind>,
}

/// Kind of value that a field requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Boolean,
    /// An integer from the first to the second bound.
    Whole(i128, i128),
    Number,
    Text,
    List,
    Section,
}

// === impl Keys ===

impl Keys {
    /// Returns the keys of a struct and of its nested structs.
    ///
    /// Every field must accept an empty text, zero, `false`, `null` or an empty map. Keys below a
    /// map, or below a field that accepts anything, are not checked.
    ///
    /// # Panics
    /// Panics if a field does not accept such a value.
    #[must_use]
    pub fn of<'de, T: Deserialize<'de>>() -> Self {
        let keys = RefCell::default();
        let probe = Probe {
            path: "",
            keys: &keys,
        };
        T::deserialize(probe).expect("a raw struct takes empty values");
        keys.into_inner()
    }

    /// Returns all keys, in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(String::as_str)
    }

    /// Returns whether a key is known, or below a key that allows any content.
    #[must_use]
    pub fn contains(&self, path: &str) -> bool {
        let is_below = |open: &String| {
            let rest = path.strip_prefix(open.as_str());
            rest.is_some_and(|rest| rest.starts_with(['.', '[']))
        };
        self.paths.contains(path) || self.open.iter().any(is_below)
    }

    /// Returns the kind of value of a key, if it accepts only one kind.
    pub(super) fn kind(&self, path: &str) -> Option<Kind> {
        self.kinds.get(path).copied()
    }

    /// Returns the known key that is most similar to an unknown one: one of the same section with a
    /// few typing errors, or else the same key in another section.
    #[must_use]
    pub fn nearest(&self, path: &str) -> Option<&str> {
        let (section, key) = path.rsplit_once('.').unwrap_or(("", path));
        let of_path = |known: &str| -> (String, String) {
            let (section, key) = known.rsplit_once('.').unwrap_or(("", known));
            (section.to_owned(), key.to_owned())
        };
        let sibling = self
            .paths
            .iter()
            .filter(|known| of_path(known).0 == section)
            .map(|known| (distance(key, &of_path(known).1), known))
            .min_by_key(|&(distance, _)| distance)
            .filter(|&(distance, _)| is_near(distance, key));
        let elsewhere = || self.paths.iter().find(|known| of_path(known).1 == key);
        sibling
            .map(|(_, known)| known)
            .or_else(elsewhere)
            .map(String::as_str)
    }
}

/// Returns whether a distance is small enough for a typing error.
#[must_use]
pub fn is_near(distance: usize, word: &str) -> bool {
    distance <= (word.len() / 3).clamp(1, 3)
}

impl fmt::Display for Kind {
    /// Completes `must be …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean => f.write_str("true or false"),
            Self::Whole(least, most) if *most > u32::MAX.into() && *least < 0 => {
                f.write_str("a whole number")
            }
            Self::Whole(least, most) if *most > u32::MAX.into() => {
                write!(f, "a whole number, {least} or more")
            }
            Self::Whole(least, most) => write!(f, "a whole number from {least} to {most}"),
            Self::Number => f.write_str("a number"),
            Self::Text => f.write_str("a text"),
            Self::List => f.write_str("a list"),
            Self::Section => f.write_str("a section with keys of its own"),
        }
    }
}

/// Counts the letters to add, remove, replace or swap with their neighbour.
#[must_use]
pub fn distance(one: &str, two: &str) -> usize {
    // Far beyond a typing error; the exact distance does not matter.
    if one.len().abs_diff(two.len()) > 3 {
        return usize::MAX;
    }
    let (one, two) = (one.as_bytes(), two.as_bytes());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=two.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in two.iter().enumerate() {
            let mut cost = (last[j] + usize::from(a != b))
                .min(last[j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && *a == two[j - 1] && one[i - 1] == *b {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        before = last;
        last = row;
    }
    last[two.len()]
}

/// Deserializer that records the requested fields and returns empty values.
#[derive(Clone, Copy)]
struct Probe<'a> {
    path: &'a str,
    keys: &'a RefCell<Keys>,
}

impl Probe<'_> {
    /// Records that any key is allowed below this path.
    fn is_open(self) {
        self.keys.borrow_mut().open.insert(self.path.to_owned());
    }

    /// Records the requested kind of value.
    fn is_a(self, kind: Kind) {
        let mut keys = self.keys.borrow_mut();
        keys.kinds.insert(self.path.to_owned(), kind);
    }

    fn is_whole(self, least: impl Into<i128>, most: impl Into<i128>) {
        self.is_a(Kind::Whole(least.into(), most.into()));
    }
}

struct Fields<'a> {
    probe: Probe<'a>,
    rest: &'static [&'static str],
    path: String,
}

struct One<'a>(Option<Probe<'a>>);

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.is_open();
        visitor.visit_unit()
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.is_open();
        visitor.visit_map(Fields {
            probe: self,
            rest: &[],
            path: String::new(),
        })
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.is_whole(i64::MIN, i64::MAX);
        visitor.visit_i64(0)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.is_a(Kind::Boolean);
        visitor.visit_bool(false)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.is_whole(0, u64::MAX);
        visitor.visit_u64(0)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.is_whole(0, u32::MAX);
        visitor.visit_u64(0)
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.is_whole(0, u16::MAX);
        visitor.visit_u64(0)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.is_a(Kind::Number);
        visitor.visit_f64(0.0)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.is_a(Kind::Text);
        visitor.visit_str("")
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.is_a(Kind::Text);
        visitor.visit_str("")
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.is_a(Kind::List);
        let path = format!("{}[]", self.path);
        let element = Probe {
            path: &path,
            ..self
        };
        visitor.visit_seq(One(Some(element)))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.is_a(Kind::Section);
        visitor.visit_map(Fields {
            probe: self,
            rest: fields,
            path: String::new(),
        })
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u128 f32 char bytes byte_buf unit unit_struct newtype_struct
        tuple tuple_struct enum identifier ignored_any
    }
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some((first, rest)) = self.rest.split_first() else {
            return Ok(None);
        };
        self.rest = rest;
        self.path = join(self.probe.path, first);
        self.probe.keys.borrow_mut().paths.insert(self.path.clone());
        seed.deserialize(StrDeserializer::new(first)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(Probe {
            path: &self.path,
            ..self.probe
        })
    }
}

impl<'de> SeqAccess<'de> for One<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        self.0
            .take()
            .map(|probe| seed.deserialize(probe))
            .transpose()
    }
}

/// Returns the path of a key in a section.
pub(super) fn join(section: &str, key: &str) -> String {
    if section.is_empty() {
        key.to_owned()
    } else {
        format!("{section}.{key}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Root {
        #[serde(rename = "colour")]
        _colour: Option<String>,
        #[serde(rename = "leaves")]
        _leaves: Option<Vec<Leaf>>,
    }

    #[derive(Deserialize)]
    struct Leaf {
        #[serde(rename = "length")]
        _length: Option<u64>,
        #[serde(rename = "names")]
        _names: Option<Vec<String>>,
        #[serde(rename = "words")]
        _words: Option<BTreeMap<String, String>>,
    }

    #[test]
    fn the_keys_are_those_of_the_structs() {
        let keys = Keys::of::<Root>();
        let paths: Vec<_> = keys.paths.iter().map(String::as_str).collect();
        assert_eq!(
            paths,
            [
                "colour",
                "leaves",
                "leaves[].length",
                "leaves[].names",
                "leaves[].words"
            ]
        );
    }

    #[test]
    fn below_a_map_every_key_is_known() {
        let keys = Keys::of::<Root>();
        for (path, is_known) in [
            ("leaves[].words.any", true),
            ("leaves[].words.any.deeper[]", true),
            ("leaves[].words2", false),
            ("leaves[].names.any", false),
        ] {
            assert_eq!(keys.contains(path), is_known, "{path}");
        }
    }

    #[test]
    fn a_key_with_a_typing_error_finds_the_correct_key() {
        let keys = Keys::of::<Root>();
        for (path, meant) in [
            ("color", Some("colour")),
            ("leave", Some("leaves")),
            ("leaves[].lenght", Some("leaves[].length")),
            ("leaves[].colour", Some("colour")),
            ("length", Some("leaves[].length")),
            ("tree", None),
            ("leaves[].x", None),
        ] {
            assert_eq!(keys.nearest(path), meant, "{path}");
        }
    }

    #[test]
    fn two_swapped_letters_count_as_one_error() {
        assert_eq!(distance("adress", "address"), 1);
        assert_eq!(distance("enbaled", "enabled"), 1);
        assert_eq!(distance("port", "port"), 0);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "xyz"), 3);
    }
}
