//! Values of a file with their lines, whichever language it is written in.

pub(crate) mod json;
pub(crate) mod toml;
pub(crate) mod yaml;

/// A value, and the line on which it begins.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) line: usize,
    pub(crate) value: Value,
}

/// Kinds of values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Boolean(bool),
    /// A number or a date, as it is written.
    Number(String),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

/// Positions of the line breaks of a text.
struct Lines(Vec<usize>);

// === impl Lines ===

impl Lines {
    fn new(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// Returns the line of a position.
    fn at(&self, position: usize) -> usize {
        1 + self.0.partition_point(|end| *end < position)
    }
}

// === impl Node ===

impl Node {
    pub(crate) fn new(line: usize, value: Value) -> Self {
        Self { line, value }
    }

    /// Returns a member that is not null.
    pub(crate) fn find(&self, name: &str) -> Option<&Self> {
        let mut members = self.members().iter();
        let found = members.find(|(known, _)| known == name);
        found.map(|(_, node)| node).filter(|it| !it.is_null())
    }

    pub(crate) fn members(&self) -> &[(String, Self)] {
        match &self.value {
            Value::Map(members) => members,
            _ => &[],
        }
    }

    pub(crate) fn list(&self) -> &[Self] {
        match &self.value {
            Value::List(list) => list,
            _ => &[],
        }
    }

    /// Returns the text of a value without parts.
    pub(crate) fn text(&self) -> Option<String> {
        match &self.value {
            Value::Text(text) | Value::Number(text) => Some(text.clone()),
            Value::Boolean(value) => Some(value.to_string()),
            Value::Null | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// Returns the text of a member.
    pub(crate) fn find_text(&self, name: &str) -> Option<String> {
        self.find(name)?.text()
    }

    /// Returns a member that is true or false, also as a text.
    pub(crate) fn find_bool(&self, name: &str) -> Option<bool> {
        match self.find_text(name)?.as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// Returns the texts of a list.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.list().iter().filter_map(Self::text).collect()
    }

    fn is_null(&self) -> bool {
        self.value == Value::Null
    }
}
