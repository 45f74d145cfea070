//! Account files: they are read into a tree and written back, unknown parts included.
//!
//! A program changes the [`Node`]s it knows, and the others are written back unchanged. Comments are
//! dropped; a tag is an error.

use jiff::{Timestamp, civil};
use serde::{Serialize, Serializer};
use ziggurat_runtime::yaml::{Map, Node, Rules, Scalar, Unexpected};

use crate::{Claim, Claims};

/// Maximum size of a file, in bytes.
pub(crate) const MAX_BYTES: usize = 64 << 20;

/// Rules for account files.
const RULES: Rules = Rules {
    budget: 2 * MAX_BYTES,
    // Less than the memory of a value, but small enough that the largest file without aliases stays
    // within the budget.
    cost: 8,
    exceeded: "the document with its aliases exceeds the maximum size of an account file",
    expected: "a text, a number, true, false, null, a list or a map",
    has_wide_numbers: false,
    has_infinite_numbers: true,
    name: None,
    repeated: Some(|name| format!("duplicate entry {name:?}")),
};

/// Name of the member with the claims of an account.
const CLAIMS: &str = "claims";

/// Control character before each date.
const MARK: char = '\u{1}';

/// The mark as the library writes it.
const QUOTED_MARK: &str = "\"\\x01";

/// A node with marked dates.
struct MarkedNode<'a>(&'a Node);

/// Reads a document; an empty one is null.
pub(crate) fn read(text: &str) -> Result<Node, serde_yaml::Error> {
    RULES.read(text)
}

/// Writes a document that reads back the same.
///
/// Dates are quoted, because other YAML parsers do not read them as text.
pub(crate) fn write(node: &Node) -> Result<String, serde_yaml::Error> {
    if holds_mark(node) {
        return serde_yaml::to_string(node);
    }
    // The library quotes a text only if needed, which the mark makes necessary.
    let text = serde_yaml::to_string(&MarkedNode(node))?;
    Ok(text.replace(QUOTED_MARK, "\""))
}

/// Returns the claims of an account.
///
/// # Errors
/// Fails if they are not valid.
pub fn claims_of(account: &Map) -> Result<Claims, Unexpected> {
    let Some(node) = account.find(CLAIMS) else {
        return Ok(Claims::default());
    };
    let value = serde_json::to_value(node).unwrap_or_default();
    Claims::of_file(value).map_err(|error| Unexpected::at(CLAIMS, error))
}

/// Replaces the claims of an account.
pub fn set_claims(account: &mut Map, claims: &Claims) {
    let members: Map = claims
        .iter()
        .map(|(name, claim)| (name.to_owned(), node_of(claim)))
        .collect();
    if members == Map::default() {
        account.take(CLAIMS);
    } else {
        account.set(CLAIMS, Node::Map(members));
    }
}

fn node_of(claim: &Claim) -> Node {
    match claim {
        Claim::Text(text) => Node::text(&**text),
        Claim::Boolean(value) => Scalar::Boolean(*value).into(),
        Claim::Texts(texts) => Node::List(texts.iter().map(|text| Node::text(&**text)).collect()),
        Claim::Number(digits) => match (digits.parse(), digits.parse(), digits.parse()) {
            (Ok(number), _, _) => Scalar::Whole(number).into(),
            (_, Ok(number), _) => Scalar::Large(number).into(),
            (_, _, Ok(number)) => Scalar::Decimal(number).into(),
            _ => Node::default(),
        },
    }
}

/// Returns whether a text or a name contains the mark or its written form.
fn holds_mark(node: &Node) -> bool {
    let is_in = |text: &str| text.contains(MARK) || text.contains(QUOTED_MARK);
    match node {
        Node::Scalar(_, text) => is_in(text),
        Node::List(list) => list.iter().any(holds_mark),
        Node::Map(map) => map
            .iter()
            .any(|(name, node)| is_in(name) || holds_mark(node)),
    }
}

/// Returns whether other YAML parsers may read a text as a date.
fn is_date(text: &str) -> bool {
    let looks_like_one = text.as_bytes().get(4) == Some(&b'-') && text.len() >= 10;
    looks_like_one && (text.parse::<Timestamp>().is_ok() || text.parse::<civil::Date>().is_ok())
}

impl Serialize for MarkedNode<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Node::Scalar(Scalar::Text, text) if is_date(text) => {
                serializer.serialize_str(&format!("{MARK}{text}"))
            }
            Node::List(list) => serializer.collect_seq(list.iter().map(MarkedNode)),
            Node::Map(map) => {
                serializer.collect_map(map.iter().map(|(name, node)| (name, MarkedNode(node))))
            }
            other @ Node::Scalar(..) => other.serialize(serializer),
        }
    }
}

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
            assert_eq!(read(text).ok(), Some(Node::default()), "{text:?}");
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
            let within = |budget| Rules { budget, ..RULES }.read(&text);
            let budget = text.len() * (RULES.budget / MAX_BYTES);
            within(budget).expect("within the budget");
            assert!(within(text.len()).is_err(), "nodes cost something");
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
            Just(Node::default()),
            any::<bool>().prop_map(|value| Scalar::Boolean(value).into()),
            any::<i64>().prop_map(|number| Scalar::Whole(number).into()),
            text.prop_map(Node::text),
        ];
        scalar.prop_recursive(4, 30, 5, move |inner| {
            let members = prop::collection::btree_map(text, inner.clone(), 0..5);
            prop_oneof![
                prop::collection::vec(inner, 0..5).prop_map(Node::List),
                members.prop_map(|members| Node::Map(members.into_iter().collect())),
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
