//! The tree of a YAML file of untrusted size.

use std::{collections::HashSet, fmt};

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use crate::{file::FileError, yaml};

/// Limit on the content with aliases expanded: bytes of text, plus one per value. Files without
/// aliases are always below it; the limit of the library grows with the file.
const MAX_CONTENT: usize = 2 << 20;

/// A value of the file.
pub(super) enum Node {
    /// A value as it is written, for keys that take any text, and its kind.
    Scalar(Scalar, String),
    List(Vec<Node>),
    /// In the order of the file.
    Map(Vec<(String, Node)>),
}

/// Kind that YAML gives a value.
#[derive(Clone, Copy)]
pub(super) enum Scalar {
    Null,
    Boolean(bool),
    Whole(i128),
    Decimal(f64),
    Text,
}

/// Builds the tree, with the texts of quoted values only.
struct TreeBuilder<'a>(&'a mut usize);

/// Fills in the texts of values such as `0123` and `1.10`.
struct Texts<'a>(&'a mut Node);

/// Parses a file. One without any value is an empty map.
pub(super) fn parse(text: &str) -> Result<Node, FileError> {
    let mut lines = text.lines().map(str::trim);
    if lines.all(|line| line.is_empty() || line.starts_with('#')) {
        // The library reports a missing document for it.
        return Ok(Node::default());
    }
    let mut content = 0;
    let reader = || yaml::reader(text).map_err(FileError::NotUnderstood);
    let node = TreeBuilder(&mut content).deserialize(reader()?);
    let mut node = node.map_err(FileError::NotUnderstood)?;
    let filled = Texts(&mut node).deserialize(reader()?);
    filled.map_err(FileError::NotUnderstood)?;
    Ok(node)
}

// === impl Node ===

impl Default for Node {
    fn default() -> Self {
        Self::Map(Vec::new())
    }
}

// === impl TreeBuilder ===

impl TreeBuilder<'_> {
    fn count<E: Error>(&mut self, text: &str) -> Result<(), E> {
        *self.0 += 1 + text.len();
        if *self.0 > MAX_CONTENT {
            return Err(E::custom(
                "its aliases expand to more than the maximum size of a configuration",
            ));
        }
        Ok(())
    }

    fn scalar<E: Error>(mut self, kind: Scalar, text: &str) -> Result<Node, E> {
        self.count(text)?;
        Ok(Node::Scalar(kind, text.to_owned()))
    }
}

impl<'de> DeserializeSeed<'de> for TreeBuilder<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TreeBuilder<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value without a tag")
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        self.scalar(Scalar::Null, "")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Node, E> {
        self.scalar(Scalar::Boolean(value), "")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Node, E> {
        self.scalar(Scalar::Whole(number.into()), "")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Node, E> {
        self.scalar(Scalar::Whole(number.into()), "")
    }

    fn visit_i128<E: Error>(self, number: i128) -> Result<Node, E> {
        self.scalar(Scalar::Whole(number), "")
    }

    fn visit_u128<E: Error>(self, number: u128) -> Result<Node, E> {
        let number = i128::try_from(number).unwrap_or(i128::MAX);
        self.scalar(Scalar::Whole(number), "")
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Node, E> {
        self.scalar(Scalar::Decimal(number), "")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Node, E> {
        self.scalar(Scalar::Text, text)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Node, A::Error> {
        self.count("")?;
        let mut nodes = Vec::new();
        while let Some(node) = list.next_element_seed(TreeBuilder(&mut *self.0))? {
            nodes.push(node);
        }
        Ok(Node::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Node, A::Error> {
        self.count("")?;
        let (mut nodes, mut names) = (Vec::new(), HashSet::new());
        while let Some(name) = map.next_key::<String>()? {
            self.count(&name)?;
            if !names.insert(name.clone()) {
                return Err(A::Error::custom(format_args!("duplicate key `{name}`")));
            }
            nodes.push((name, map.next_value_seed(TreeBuilder(&mut *self.0))?));
        }
        Ok(Node::Map(nodes))
    }
}

// === impl Texts ===

impl<'de> DeserializeSeed<'de> for Texts<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.0 {
            Node::Scalar(..) => deserializer.deserialize_str(self),
            Node::List(_) => deserializer.deserialize_seq(self),
            Node::Map(_) => deserializer.deserialize_map(self),
        }
    }
}

impl<'de> Visitor<'de> for Texts<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value that was read before")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        if let Node::Scalar(_, written) = self.0 {
            text.clone_into(written);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        if let Node::List(nodes) = self.0 {
            for node in nodes {
                list.next_element_seed(Texts(node))?;
            }
        }
        list.next_element::<IgnoredAny>().map(drop)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        if let Node::Map(nodes) = self.0 {
            for (_, node) in nodes {
                map.next_key::<IgnoredAny>()?;
                map.next_value_seed(Texts(node))?;
            }
        }
        map.next_key::<IgnoredAny>().map(drop)
    }
}
