//! The tree of a document: its values, and the rules by which a document is read.

use std::{
    cell::Cell,
    collections::HashSet,
    fmt::{self, Display},
};

use serde::{
    Deserializer, Serialize, Serializer,
    de::{self, DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};

use crate::yaml::{Map, reader};

/// A value of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// A value without parts: its kind and its text.
    Scalar(Scalar, String),
    /// A list.
    List(Vec<Node>),
    /// A map with texts for keys.
    Map(Map),
}

/// Kind that YAML gives a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// Nothing.
    Null,
    /// A boolean.
    Boolean(bool),
    /// A whole number.
    Whole(i64),
    /// A whole number that is larger.
    Large(u64),
    /// Another number.
    Decimal(f64),
    /// A text.
    Text,
}

/// Rules for reading a kind of documents.
///
/// The limit of the library on aliases grows with the document, so a file of a megabyte can use up
/// all memory. The budget is absolute: every value and every name has a fixed cost and the length
/// of its text, at each place an alias puts it. The library limits depth to 128.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Limit on the total cost of a document.
    pub budget: usize,
    /// Cost of a value or a name in addition to its text.
    pub cost: usize,
    /// Message for a document beyond the budget.
    pub exceeded: &'static str,
    /// Description of the values, for messages about others, such as those with a tag.
    pub expected: &'static str,
    /// True if numbers of more than 64 bits are read.
    pub has_wide_numbers: bool,
    /// True if infinite numbers and `.nan` are read.
    pub has_infinite_numbers: bool,
    /// Name of a member for its key; by default the text of the key as it is written.
    pub name: Option<NameOf>,
    /// Message for a repeated name; by default names may repeat.
    pub repeated: Option<fn(&str) -> String>,
}

/// Makes the name of a member from its key.
pub type NameOf = fn(Node) -> Result<String, &'static str>;

/// Reads one value within the shared budget.
#[derive(Clone, Copy)]
struct Reader<'a> {
    rules: &'a Rules,
    left: &'a Cell<usize>,
    /// The value as it was read before, if this time the texts of all scalars are read.
    before: Option<&'a Node>,
}

// === impl Node ===

impl Node {
    /// Makes a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Scalar(Scalar::Text, text.into())
    }

    /// Returns whether there is no value.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Scalar(Scalar::Null, _))
    }

    /// Returns a whole number of any size.
    #[must_use]
    pub fn whole(&self) -> Option<i128> {
        match self {
            Self::Scalar(Scalar::Whole(number), _) => Some((*number).into()),
            Self::Scalar(Scalar::Large(number), _) => Some((*number).into()),
            _ => None,
        }
    }
}

impl Default for Node {
    fn default() -> Self {
        Scalar::Null.into()
    }
}

impl From<Scalar> for Node {
    fn from(kind: Scalar) -> Self {
        let text = match kind {
            Scalar::Null | Scalar::Text => String::new(),
            Scalar::Boolean(value) => value.to_string(),
            Scalar::Whole(number) => number.to_string(),
            Scalar::Large(number) => number.to_string(),
            Scalar::Decimal(number) => number.to_string(),
        };
        Self::Scalar(kind, text)
    }
}

impl From<u64> for Node {
    fn from(number: u64) -> Self {
        i64::try_from(number)
            .map_or(Scalar::Large(number), Scalar::Whole)
            .into()
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Scalar(Scalar::Null, _) => serializer.serialize_unit(),
            Self::Scalar(Scalar::Boolean(value), _) => serializer.serialize_bool(*value),
            Self::Scalar(Scalar::Whole(number), _) => serializer.serialize_i64(*number),
            Self::Scalar(Scalar::Large(number), _) => serializer.serialize_u64(*number),
            Self::Scalar(Scalar::Decimal(number), _) => serializer.serialize_f64(*number),
            Self::Scalar(Scalar::Text, text) => serializer.serialize_str(text),
            Self::List(list) => serializer.collect_seq(list),
            Self::Map(map) => serializer.collect_map(map.iter()),
        }
    }
}

// === impl Rules ===

impl Rules {
    /// Reads a document. The text of a number is the usual one of its value.
    ///
    /// # Errors
    /// Fails if the text is not YAML, or against the rules.
    pub fn read(&self, text: &str) -> Result<Node, serde_yaml::Error> {
        self.read_from(reader(text)?)
    }

    /// Reads a document twice, for the texts of values such as `0123` and `1.10`.
    ///
    /// # Errors
    /// Fails as [`read`](Self::read) does.
    pub(crate) fn read_as_written(&self, text: &str) -> Result<Node, serde_yaml::Error> {
        let before = self.read(text)?;
        if before.is_null() {
            return Ok(before);
        }
        self.deserialize(Some(&before), reader(text)?)
    }

    /// Reads a part of a document.
    ///
    /// # Errors
    /// Fails if the part is against the rules.
    pub fn read_from<'de, D: Deserializer<'de>>(&self, part: D) -> Result<Node, D::Error> {
        self.deserialize(None, part)
    }

    fn deserialize<'de, D>(&self, before: Option<&Node>, part: D) -> Result<Node, D::Error>
    where
        D: Deserializer<'de>,
    {
        let left = &Cell::new(self.budget);
        let rules = self;
        let reader = Reader {
            rules,
            left,
            before,
        };
        reader.deserialize(part)
    }
}

// === impl Reader ===

impl Reader<'_> {
    fn spend<E: Error>(self, bytes: usize) -> Result<(), E> {
        let left = self.left.get().checked_sub(self.rules.cost + bytes);
        let left = left.ok_or_else(|| E::custom(self.rules.exceeded))?;
        self.left.set(left);
        Ok(())
    }

    fn scalar<E: Error>(self, node: impl Into<Node>) -> Result<Node, E> {
        self.spend(0)?;
        Ok(node.into())
    }

    fn wide<E: Error>(self, number: impl Display, kind: &str) -> Result<Node, E> {
        let text = number.to_string();
        match text.parse() {
            Ok(near) if self.rules.has_wide_numbers => {
                self.scalar(Node::Scalar(Scalar::Decimal(near), text))
            }
            _ => {
                let found = format!("integer `{text}` as {kind}");
                Err(E::invalid_type(de::Unexpected::Other(&found), &self))
            }
        }
    }

    fn name<'de, A: MapAccess<'de>>(self, map: &mut A) -> Result<Option<String>, A::Error> {
        let Some(name) = self.rules.name else {
            let name = map.next_key::<String>()?;
            name.iter().try_for_each(|name| self.spend(name.len()))?;
            return Ok(name);
        };
        let key = map.next_key_seed(self)?;
        key.map(name).transpose().map_err(A::Error::custom)
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        match self.before {
            None => deserializer.deserialize_any(self),
            Some(Node::Scalar(..)) => deserializer.deserialize_str(self),
            Some(Node::List(_)) => deserializer.deserialize_seq(self),
            Some(Node::Map(_)) => deserializer.deserialize_map(self),
        }
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rules.expected)
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        self.scalar(Scalar::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Node, E> {
        self.scalar(Scalar::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Node, E> {
        self.scalar(Scalar::Boolean(value))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Node, E> {
        self.scalar(Scalar::Whole(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Node, E> {
        self.scalar(number)
    }

    fn visit_i128<E: Error>(self, number: i128) -> Result<Node, E> {
        self.wide(number, "i128")
    }

    fn visit_u128<E: Error>(self, number: u128) -> Result<Node, E> {
        self.wide(number, "u128")
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Node, E> {
        if !number.is_finite() && !self.rules.has_infinite_numbers {
            return Err(E::custom("JSON has no such number"));
        }
        self.scalar(Scalar::Decimal(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Node, E> {
        self.spend(text.len())?;
        let kind = match self.before {
            Some(Node::Scalar(kind, _)) => *kind,
            _ => Scalar::Text,
        };
        Ok(Node::Scalar(kind, text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Node, A::Error> {
        self.spend(0)?;
        let mut before = match self.before {
            Some(Node::List(list)) => list.iter(),
            _ => [].iter(),
        };
        let mut nodes = Vec::new();
        loop {
            self.before = before.next();
            match list.next_element_seed(self)? {
                Some(node) => nodes.push(node),
                None => return Ok(Node::List(nodes)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Node, A::Error> {
        self.spend(0)?;
        let (mut members, mut names) = (Map::default(), HashSet::new());
        let mut before = match self.before.take() {
            Some(Node::Map(map)) => Some(map.iter()),
            _ => None,
        };
        while let Some(name) = self.name(&mut map)? {
            if let Some(repeated) = self.rules.repeated
                && !names.insert(name.clone())
            {
                return Err(A::Error::custom(repeated(&name)));
            }
            let known = before.as_mut().and_then(Iterator::next);
            let before = known.map(|(_, node)| node);
            members.push(name, map.next_value_seed(Self { before, ..self })?);
        }
        Ok(Node::Map(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules {
        budget: 100,
        cost: 1,
        exceeded: "too much",
        expected: "a value",
        has_wide_numbers: true,
        has_infinite_numbers: true,
        name: None,
        repeated: None,
    };

    #[test]
    fn a_value_has_its_usual_text_or_the_one_that_was_written() {
        for (written, kind, usual) in [
            ("0x10", Scalar::Whole(16), "16"),
            ("1.10", Scalar::Decimal(1.1), "1.1"),
            ("True", Scalar::Boolean(true), "true"),
            ("'1.10'", Scalar::Text, "1.10"),
            (
                "18446744073709551615",
                Scalar::Large(u64::MAX),
                "18446744073709551615",
            ),
            (
                "18446744073709551616",
                Scalar::Decimal(18_446_744_073_709_551_616.0),
                "18446744073709551616",
            ),
        ] {
            let node = |text: &str| Node::Scalar(kind, text.to_owned());
            assert_eq!(RULES.read(written).ok(), Some(node(usual)), "{written}");
            let text = written.trim_matches('\'');
            assert_eq!(
                RULES.read_as_written(written).ok(),
                Some(node(text)),
                "{written}"
            );
        }
    }

    #[test]
    fn a_document_against_the_rules_is_refused_with_its_reason() {
        let refusal = |rules: Rules, text: &str| {
            let error = rules.read(text).expect_err(text);
            error.to_string()
        };
        let narrow = Rules {
            has_wide_numbers: false,
            ..RULES
        };
        let finite = Rules {
            has_infinite_numbers: false,
            ..RULES
        };
        let unique = Rules {
            repeated: Some(|name| format!("again {name}")),
            ..RULES
        };
        for (rules, text, expected) in [
            (
                narrow,
                "- 18446744073709551616",
                "integer `18446744073709551616` as u128, expected a value",
            ),
            (
                narrow,
                "- -9223372036854775809",
                "integer `-9223372036854775809` as i128, expected a value",
            ),
            (finite, "- .inf", "JSON has no such number"),
            (unique, "{a: 1, a: 2}", "again a"),
            (RULES, &format!("[&a {}, *a]", "x".repeat(60)), "too much"),
            (RULES, "!tag x", "expected a value"),
        ] {
            let refusal = refusal(rules, text);
            assert!(refusal.contains(expected), "{text}: {refusal}");
            assert!(RULES.read("{a: [1], a: .nan}").is_ok());
        }
        // The texts that were written count too.
        let long = format!("[&a 0x{}1, *a]", "0".repeat(60));
        assert!(RULES.read(&long).is_ok());
        assert!(RULES.read_as_written(&long).is_err());
    }
}
