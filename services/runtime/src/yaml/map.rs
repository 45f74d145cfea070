//! The members of a map, and members of an expected kind.

use std::fmt;

use jiff::Timestamp;

use crate::yaml::{Node, Scalar};

/// Members of a map, in the order of the document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map(Vec<(String, Node)>);

/// Position of an invalid value, and the expected value. The value itself is left out, because it
/// may be secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unexpected(String);

// === impl Map ===

impl Map {
    /// Returns the members in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.0.iter().map(|(name, node)| (&**name, node))
    }

    /// Returns the members in their order.
    pub fn into_members(self) -> impl Iterator<Item = (String, Node)> {
        self.0.into_iter()
    }

    /// Returns a member.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Node> {
        let member = self.0.iter().find(|(known, _)| known == name);
        member.map(|(_, node)| node)
    }

    /// Replaces a member in place, or adds it at the end.
    pub fn set(&mut self, name: &str, node: impl Into<Node>) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = node.into(),
            None => self.push(name.to_owned(), node.into()),
        }
    }

    /// Adds a member that does not exist yet.
    pub fn push(&mut self, name: String, node: Node) {
        self.0.push((name, node));
    }

    /// Removes a member, and returns it.
    pub fn take(&mut self, name: &str) -> Option<Node> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.remove(at).1)
    }

    /// Returns a member as text, also a number such as `note: 2024`; `None` if it is missing or
    /// null.
    ///
    /// # Errors
    /// Fails if it is something else.
    pub fn find_text(&self, name: &str) -> Result<Option<String>, Unexpected> {
        self.find_as(name, "a text", text)
    }

    /// Returns a member as a number.
    ///
    /// # Errors
    /// Fails if it is something else.
    pub fn find_number(&self, name: &str) -> Result<Option<u64>, Unexpected> {
        let expected = "a number, not below zero";
        self.find_as(name, expected, |node| node.whole()?.try_into().ok())
    }

    /// Returns a member as a boolean.
    ///
    /// # Errors
    /// Fails if it is something else.
    pub fn find_bool(&self, name: &str) -> Result<Option<bool>, Unexpected> {
        self.find_as(name, "true or false", |node| match node {
            Node::Scalar(Scalar::Boolean(value), _) => Some(*value),
            _ => None,
        })
    }

    /// Returns a member as a list of texts.
    ///
    /// # Errors
    /// Fails if it is something else.
    pub fn find_texts(&self, name: &str) -> Result<Option<Vec<String>>, Unexpected> {
        self.find_as(name, "a list of texts", |node| match node {
            Node::List(list) => list.iter().map(text).collect(),
            _ => None,
        })
    }

    /// Returns a member as a date.
    ///
    /// # Errors
    /// Fails if it is something else, or has no time zone.
    pub fn find_date(&self, name: &str) -> Result<Option<Timestamp>, Unexpected> {
        // Requires a time zone, without which a date may be hours off.
        let expected = || Unexpected::new(name, "a date such as 2026-11-21T10:15:30Z");
        self.find_text(name)?
            .map(|text| text.parse().map_err(|_| expected()))
            .transpose()
    }

    fn find_as<T>(
        &self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&Node) -> Option<T>,
    ) -> Result<Option<T>, Unexpected> {
        let Some(node) = self.find(name).filter(|node| !node.is_null()) else {
            return Ok(None);
        };
        let read = read(node).ok_or_else(|| Unexpected::new(name, expected));
        read.map(Some)
    }
}

impl FromIterator<(String, Node)> for Map {
    fn from_iter<I: IntoIterator<Item = (String, Node)>>(members: I) -> Self {
        Self(members.into_iter().collect())
    }
}

/// Returns the text of a scalar that is not null.
fn text(node: &Node) -> Option<String> {
    match node {
        Node::Scalar(kind, text) if *kind != Scalar::Null => Some(text.clone()),
        _ => None,
    }
}

// === impl Node ===

impl Node {
    /// Returns the members of a map. An empty document counts as an empty map.
    ///
    /// # Errors
    /// Fails if it is something else, which is not `expected`.
    pub fn into_document(self, expected: &str) -> Result<Map, Unexpected> {
        if self.is_null() {
            return Ok(Map::default());
        }
        self.into_map("document", expected)
    }

    /// Returns the members of a map.
    ///
    /// # Errors
    /// Fails if it is something else, which is not `expected`.
    pub fn into_map(self, place: &str, expected: &str) -> Result<Map, Unexpected> {
        match self {
            Self::Map(map) => Ok(map),
            _ => Err(Unexpected::new(place, expected)),
        }
    }
}

// === impl Unexpected ===

impl Unexpected {
    /// Says where something else was expected.
    #[must_use]
    pub fn new(place: &str, expected: &str) -> Self {
        Self::at(place, format_args!("expected {expected}"))
    }

    /// Says where there is a problem.
    #[must_use]
    pub fn at(place: &str, problem: impl fmt::Display) -> Self {
        Self(format!("{place}: {problem}"))
    }

    /// Prefixes the position with its parent.
    #[must_use]
    pub fn within(self, place: &str) -> Self {
        Self(format!("{place}.{}", self.0))
    }
}

impl fmt::Display for Unexpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
