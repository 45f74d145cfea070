//! Content of a YAML file, unknown parts included.
//!
//! A file is read into [`Node`]s; a program changes the ones it knows, and the others are written
//! back unchanged. The free-form value of the library is unsafe for that: its limit on aliases
//! grows with the document, so a file of a megabyte can use up all memory. Reading into [`Node`]
//! has an absolute `BUDGET`, enough for every account file without aliases: every node has a
//! fixed cost and every text its length, at each place an alias puts it. The library limits depth
//! to 128. Comments are dropped; a tag is an error.

use std::{cell::Cell, collections::HashSet, fmt};

use jiff::{Timestamp, civil};
use serde::{
    Deserializer, Serialize, Serializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};
use ziggurat_runtime::yaml;

use crate::{Claim, Claims};

/// Maximum size of a file, in bytes.
pub(crate) const MAX_BYTES: usize = 64 << 20;

/// Cost of a node or a name in addition to its text: less than its memory, but small enough that
/// the largest account file stays within the budget.
const NODE: usize = 8;

/// Limit on the total cost of a document.
const BUDGET: usize = 2 * MAX_BYTES;

/// A value of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// Nothing.
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number.
    Whole(i64),
    /// A whole number that is larger.
    Large(u64),
    /// Another number.
    Real(f64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A map with texts for keys.
    Map(Map),
}

/// Members of a map, in the order of the document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map(Vec<(String, Node)>);

/// Position of an invalid value, and the expected value. The value itself is left out, because it
/// may be secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unexpected(String);

/// Reads a document; an empty one is [`Node::Null`].
pub(crate) fn read(text: &str) -> Result<Node, serde_yaml::Error> {
    read_within(text, BUDGET)
}

fn read_within(text: &str, budget: usize) -> Result<Node, serde_yaml::Error> {
    let left = Cell::new(budget);
    Reader { left: &left }.deserialize(yaml::reader(text)?)
}

/// Writes a document that reads back the same.
///
/// Dates are quoted, because other YAML parsers do not read them as text.
pub(crate) fn write(node: &Node) -> Result<String, serde_yaml::Error> {
    if node.holds_mark() {
        return serde_yaml::to_string(node);
    }
    // The library quotes a text only if needed, which the mark makes necessary.
    let text = serde_yaml::to_string(&MarkedNode(node))?;
    Ok(text.replace(QUOTED_MARK, "\""))
}

/// Control character before each date.
const MARK: char = '\u{1}';

/// The mark as the library writes it.
const QUOTED_MARK: &str = "\"\\x01";

/// A node with marked dates.
struct MarkedNode<'a>(&'a Node);

/// Returns whether other YAML parsers may read a text as a date.
fn is_date(text: &str) -> bool {
    let looks_like_one = text.as_bytes().get(4) == Some(&b'-') && text.len() >= 10;
    looks_like_one && (text.parse::<Timestamp>().is_ok() || text.parse::<civil::Date>().is_ok())
}

// === impl Node ===

impl Node {
    /// Makes a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    fn of_claim(claim: &Claim) -> Self {
        match claim {
            Claim::Text(text) => Self::text(&**text),
            Claim::Boolean(value) => Self::Bool(*value),
            Claim::Texts(texts) => {
                Self::List(texts.iter().map(|text| Self::text(&**text)).collect())
            }
            Claim::Number(digits) => match (digits.parse(), digits.parse(), digits.parse()) {
                (Ok(number), _, _) => Self::Whole(number),
                (_, Ok(number), _) => Self::Large(number),
                (_, _, Ok(number)) => Self::Real(number),
                _ => Self::Null,
            },
        }
    }

    /// Returns the members of a map. An empty document counts as an empty map.
    ///
    /// # Errors
    /// Fails if it is something else, which is not `expected`.
    pub fn into_document(self, expected: &str) -> Result<Map, Unexpected> {
        match self {
            Self::Null => Ok(Map::default()),
            node => node.into_map("document", expected),
        }
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

    /// Returns the text of a scalar, also of a number such as `note: 2024`; `None` for null.
    fn as_text(&self) -> Result<Option<String>, &'static str> {
        Ok(Some(match self {
            Self::Null => return Ok(None),
            Self::Text(text) => text.clone(),
            Self::Bool(value) => value.to_string(),
            Self::Whole(number) => number.to_string(),
            Self::Large(number) => number.to_string(),
            Self::Real(number) => number.to_string(),
            Self::List(_) | Self::Map(_) => return Err("a text"),
        }))
    }

    /// Returns whether a text or a name contains the mark or its written form.
    fn holds_mark(&self) -> bool {
        let is_in = |text: &str| text.contains(MARK) || text.contains(QUOTED_MARK);
        match self {
            Self::Text(text) => is_in(text),
            Self::List(list) => list.iter().any(Self::holds_mark),
            Self::Map(map) => map
                .iter()
                .any(|(name, node)| is_in(name) || node.holds_mark()),
            _ => false,
        }
    }

    fn as_number(&self) -> Result<Option<u64>, &'static str> {
        match self {
            Self::Null => Ok(None),
            Self::Whole(number) => (*number).try_into().map(Some).map_err(|_| COUNT),
            Self::Large(number) => Ok(Some(*number)),
            _ => Err(COUNT),
        }
    }

    fn as_bool(&self) -> Result<Option<bool>, &'static str> {
        match self {
            Self::Null => Ok(None),
            Self::Bool(value) => Ok(Some(*value)),
            _ => Err("true or false"),
        }
    }

    fn as_texts(&self) -> Result<Option<Vec<String>>, &'static str> {
        const TEXTS: &str = "a list of texts";
        match self {
            Self::Null => Ok(None),
            Self::List(list) => list
                .iter()
                .map(|node| node.as_text().ok().flatten().ok_or(TEXTS))
                .collect::<Result<_, _>>()
                .map(Some),
            _ => Err(TEXTS),
        }
    }
}

/// Name of the member with the claims of an account.
const CLAIMS: &str = "claims";

const COUNT: &str = "a number, not below zero";

impl Serialize for MarkedNode<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Node::Text(text) if is_date(text) => serializer.serialize_str(&format!("{MARK}{text}")),
            Node::List(list) => serializer.collect_seq(list.iter().map(MarkedNode)),
            Node::Map(map) => {
                serializer.collect_map(map.iter().map(|(name, node)| (name, MarkedNode(node))))
            }
            other => other.serialize(serializer),
        }
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Whole(number) => serializer.serialize_i64(*number),
            Self::Large(number) => serializer.serialize_u64(*number),
            Self::Real(number) => serializer.serialize_f64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(list) => serializer.collect_seq(list),
            Self::Map(map) => serializer.collect_map(map.iter()),
        }
    }
}

// === impl Map ===

impl Map {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.0.iter().map(|(name, node)| (&**name, node))
    }

    /// Returns the members in their order.
    pub fn into_members(self) -> impl Iterator<Item = (String, Node)> {
        self.0.into_iter()
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Node> {
        let member = self.0.iter().find(|(known, _)| known == name);
        member.map(|(_, node)| node)
    }

    /// Replaces a member in place, or adds it at the end.
    pub fn set(&mut self, name: &str, node: Node) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = node,
            None => self.push(name.to_owned(), node),
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

    /// Returns a member as text; `None` if it is missing or null.
    ///
    /// # Errors
    /// Fails if it is something else.
    pub fn find_text(&self, name: &str) -> Result<Option<String>, Unexpected> {
        self.find_as(name, Node::as_text)
    }

    /// Returns a member as a number.
    ///
    /// # Errors
    /// Fails if it is something else.
    pub fn find_number(&self, name: &str) -> Result<Option<u64>, Unexpected> {
        self.find_as(name, Node::as_number)
    }

    /// Returns a member as a boolean.
    ///
    /// # Errors
    /// Fails if it is something else.
    pub fn find_bool(&self, name: &str) -> Result<Option<bool>, Unexpected> {
        self.find_as(name, Node::as_bool)
    }

    /// Returns a member as a list of texts.
    ///
    /// # Errors
    /// Fails if it is something else.
    pub fn find_texts(&self, name: &str) -> Result<Option<Vec<String>>, Unexpected> {
        self.find_as(name, Node::as_texts)
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

    /// Returns the claims of an account.
    ///
    /// # Errors
    /// Fails if they are not valid.
    pub fn find_claims(&self) -> Result<Claims, Unexpected> {
        let Some(node) = self.find(CLAIMS) else {
            return Ok(Claims::default());
        };
        let value = serde_json::to_value(node).unwrap_or_default();
        Claims::of_file(value).map_err(|error| Unexpected(format!("{CLAIMS}: {error}")))
    }

    /// Replaces the claims of an account.
    pub fn set_claims(&mut self, claims: &Claims) {
        let mut members = Self::default();
        for (name, claim) in claims.iter() {
            members.push(name.to_owned(), Node::of_claim(claim));
        }
        if members.0.is_empty() {
            self.take(CLAIMS);
        } else {
            self.set(CLAIMS, Node::Map(members));
        }
    }

    fn find_as<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Node) -> Result<Option<T>, &'static str>,
    ) -> Result<Option<T>, Unexpected> {
        let read = self.find(name).map(read);
        read.unwrap_or(Ok(None))
            .map_err(|expected| Unexpected::new(name, expected))
    }
}

// === impl Unexpected ===

impl Unexpected {
    /// Says where something else was expected.
    #[must_use]
    pub fn new(place: &str, expected: &str) -> Self {
        Self(format!("{place}: expected {expected}"))
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

// === impl Reader ===

/// Reads one node within the shared budget.
#[derive(Clone, Copy)]
struct Reader<'a> {
    left: &'a Cell<usize>,
}

impl Reader<'_> {
    fn spend<E: Error>(self, bytes: usize) -> Result<(), E> {
        let left = self.left.get().checked_sub(NODE + bytes);
        self.left.set(left.ok_or_else(|| {
            E::custom("the document with its aliases exceeds the maximum size of an account file")
        })?);
        Ok(())
    }

    fn scalar<E: Error>(self, node: Node) -> Result<Node, E> {
        self.spend(0)?;
        Ok(node)
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number, true, false, null, a list or a map")
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        self.scalar(Node::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Node, E> {
        self.scalar(Node::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Node, E> {
        self.scalar(Node::Bool(value))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Node, E> {
        self.scalar(Node::Whole(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Node, E> {
        let whole = i64::try_from(number).map(Node::Whole);
        self.scalar(whole.unwrap_or(Node::Large(number)))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Node, E> {
        self.scalar(Node::Real(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Node, E> {
        self.spend(text.len())?;
        Ok(Node::text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        self.spend(0)?;
        let mut nodes = Vec::new();
        while let Some(node) = list.next_element_seed(self)? {
            nodes.push(node);
        }
        Ok(Node::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        self.spend(0)?;
        let mut members = Map::default();
        let mut names = HashSet::new();
        while let Some(Name(name)) = map.next_key()? {
            self.spend(name.len())?;
            if !names.insert(name.clone()) {
                return Err(Error::custom(format_args!("duplicate entry {name:?}")));
            }
            members.push(name, map.next_value_seed(self)?);
        }
        Ok(Node::Map(members))
    }
}

/// Name of a member: always read as text.
#[derive(serde::Deserialize)]
struct Name(String);

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_kind_of_value_is_read_and_written() {
        let text = "a: null\nb: true\nc: -5\nd: 18446744073709551615\ne: 1.5\nf: text\n\
                    g:\n- 1\n- x: y\n'7': '7'\n";
        let node = read(text).expect("YAML");
        assert_eq!(write(&node).expect("YAML"), text);
    }

    #[test]
    fn an_empty_document_is_null() {
        for text in ["", "\n", "# only words\n", "---\n", "null"] {
            assert_eq!(read(text).ok(), Some(Node::Null), "{text:?}");
        }
    }

    #[test]
    fn documents_that_parsers_read_differently_are_refused() {
        let cases = [
            ("a: 1\nb: 2\na: 3", "duplicate entry \"a\""),
            ("a: 1\n---\nb: 2", "more than one document"),
            ("a:\n\t- 1", "at line 2"),
            ("a: !secret x", "expected a text"),
            ("a: [1", "at line"),
        ];
        for (text, reason) in cases {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(reason), "{text:?}: {error}");
        }
    }

    #[test]
    fn aliases_are_expanded_up_to_a_limit() {
        let node = read("a: &x [1, 2]\nb: *x").expect("YAML");
        assert_eq!(write(&node).expect("YAML"), "a:\n- 1\n- 2\nb:\n- 1\n- 2\n");

        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let below = format!("*a{}, ", level - 1).repeat(9);
            writeln!(bomb, "a{level}: &a{level} [{below}]").expect("a string takes it");
        }
        // Within the library's own limit, which counts aliases and not their expanded size.
        let long = format!(
            "a: &a {}\nb: [{}]",
            "x".repeat(1 << 19),
            "*a,".repeat(10_000)
        );
        for (text, reason) in [
            (bomb, "repetition limit exceeded"),
            (long, "the document with its aliases exceeds"),
        ] {
            let error = read(&text).expect_err("a bomb").to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn a_file_of_accounts_costs_less_than_the_budget_for_its_size() {
        let token = "- id: token-1730283330\n  hash: b3f805a4c2e7d9f1a8b6c3e2d5f4a1b9c8e7d6f5a4b3c2e1\n  \
                     note: ''\n  created_at: \"2024-10-30T10:15:30Z\"\n  expires_at: null\n  \
                     database: a\n";
        let user = |number: usize| {
            format!(
                "  u{number}:\n    username: u{number}\n    password_hash: \
                 $2b$12$Ppcvd5/NfazclsO4EgnYy.9IcQqyPDIpoXon1/LzTctWMzYg3nvrm\n    \
                 created_at: null\n    last_login: null\n    enabled: true\n    annotation: ''\n    \
                 failed_attempts: 0\n    available_databases:\n    - a\n    - b\n"
            )
        };
        let users: String = (0..50).map(user).collect();
        for text in [
            format!("tokens:\n{}", token.repeat(50)),
            format!("users:\n{users}"),
        ] {
            let budget = text.len() * (BUDGET / MAX_BYTES);
            read_within(&text, budget).expect("within the budget");
            assert!(
                read_within(&text, text.len()).is_err(),
                "nodes cost something"
            );
        }
    }

    #[test]
    fn dates_are_quoted_and_nothing_else_is_changed() {
        let text = "a: \"2026-11-21T10:00:00Z\"\nb: \"2026-11-21\"\nc: x 2026-11-21\nd:\n- \
                    \"2026-11-21T10:00:00Z\"\n- '2026'\n";
        let node = read(text).expect("YAML");
        assert_eq!(write(&node).expect("YAML"), text);
        // Texts that look like the mark or its written form.
        for odd in [
            "\u{1}2026-11-21",
            "\"\u{1}2026-11-21\"",
            "\"\\x012026-11-21\"",
            "x\n\"\\x012026-11-21\"\n",
            "'\"\\x01",
        ] {
            let date = Node::text("2026-11-21");
            let node = Node::List(vec![Node::text(odd), date.clone(), date]);
            let written = write(&node).expect("YAML");
            assert_eq!(read(&written).expect("YAML"), node, "{written}");
        }
    }

    #[test]
    fn scalars_are_read_as_text_for_text_members() {
        let Node::Map(map) = read("a: 2024\nb: true\nc: 'x'\nd: ~\ne: [1]").expect("YAML") else {
            panic!("a map");
        };
        for (name, expected) in [("a", Some("2024")), ("b", Some("true")), ("c", Some("x"))] {
            assert_eq!(map.find_text(name).expect(name).as_deref(), expected);
        }
        assert_eq!(map.find_text("d"), Ok(None));
        assert_eq!(map.find_text("none"), Ok(None));
        let error = map.find_text("e").expect_err("a list");
        assert_eq!(
            error.within("tokens.a").to_string(),
            "tokens.a.e: expected a text"
        );
    }

    fn node() -> impl Strategy<Value = Node> {
        let text =
            "\\PC*|[ -~\n\t\r]{0,30}|[0-9._+-]{1,12}|0x[0-9a-f]{1,4}|true|null|~|\\.inf|- a|#|";
        let scalar = prop_oneof![
            Just(Node::Null),
            any::<bool>().prop_map(Node::Bool),
            any::<i64>().prop_map(Node::Whole),
            text.prop_map(Node::Text),
        ];
        scalar.prop_recursive(4, 30, 5, move |inner| {
            let members = prop::collection::btree_map(text, inner.clone(), 0..5);
            prop_oneof![
                prop::collection::vec(inner, 0..5).prop_map(Node::List),
                members.prop_map(|members| Node::Map(Map(members.into_iter().collect()))),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_written_document_reads_back_the_same(node in node()) {
            let text = write(&node).expect("YAML");
            let back = read(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
            prop_assert_eq!(back, node, "{}", text);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*|[-a&*:!,{}\\[\\] \n]{0,60}") {
            let _ = read(&text);
        }
    }
}
