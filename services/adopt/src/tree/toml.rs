//! TOML.

use toml_edit::{Document, Item, Key, TableLike, Value as Written};

use crate::{
    AdoptError,
    tree::{Lines, Node, Value},
};

/// A text with the positions of its lines.
struct Source<'a> {
    text: &'a str,
    lines: Lines,
}

/// Reads a text. The error has the line only.
pub(crate) fn read(text: &str) -> Result<Node, AdoptError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = Lines::new(text);
    let source = Source { text, lines };
    let document = Document::parse(text).map_err(|error| AdoptError::Syntax {
        language: "TOML",
        line: source.lines.at(error.span().map_or(0, |it| it.start)),
    })?;
    Ok(Node::new(1, source.table(document.as_table())))
}

// === impl Source ===

impl Source<'_> {
    /// Converts a table; its members begin with their keys.
    fn table(&self, table: &dyn TableLike) -> Value {
        let member = |(name, item): (&str, &Item)| {
            let key = table.key(name).and_then(Key::span);
            let line = self.lines.at(key.map_or(0, |it| it.start));
            let value = match item {
                Item::None => Value::Null,
                Item::Value(value) => self.value(value),
                Item::Table(table) => self.table(table),
                Item::ArrayOfTables(tables) => {
                    let node = |table: &toml_edit::Table| {
                        let start = table.span().map_or(0, |it| it.start);
                        Node::new(self.lines.at(start), self.table(table))
                    };
                    Value::List(tables.iter().map(node).collect())
                }
            };
            (name.to_owned(), Node::new(line, value))
        };
        Value::Map(table.iter().map(member).collect())
    }

    fn value(&self, value: &Written) -> Value {
        match value {
            Written::String(text) => Value::Text(text.value().clone()),
            Written::Boolean(value) => Value::Boolean(*value.value()),
            Written::Integer(_) | Written::Float(_) | Written::Datetime(_) => {
                let text = value.span().and_then(|span| self.text.get(span));
                Value::Number(text.unwrap_or_default().to_owned())
            }
            Written::Array(list) => {
                let node = |value: &Written| {
                    let start = value.span().map_or(0, |it| it.start);
                    Node::new(self.lines.at(start), self.value(value))
                };
                Value::List(list.iter().map(node).collect())
            }
            Written::InlineTable(table) => self.table(table),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = r#"# a comment
title = "A \"b\"\tc\u00e9"   # another
'quoted key' = 1_000
a.b.c = true

[[sources]]
id = "one"
dsn = 'postgres://u@h/d'   # literal
ports = [ 1, 2,
  3, # three
]
[sources.ssh]
host = "bastion"

[[sources]]
id = "two"
inline = { x = 1, "y z" = [] , }
statement = """
SELECT 1
  FROM "t" \
     WHERE '''x'''
"""
raw = '''
a\b'''
since = 2026-01-31T00:00:00Z
"#;

    #[test]
    fn tables_lists_and_all_kinds_of_strings_are_read_with_their_lines() {
        let root = read(TEXT).expect("TOML");
        let text = |node: &Node, name: &str| node.find_text(name).unwrap_or_default();
        assert_eq!(text(&root, "title"), "A \"b\"\tcé");
        assert_eq!(text(&root, "quoted key"), "1_000");
        let c = root.find("a").and_then(|it| it.find("b")?.find_bool("c"));
        assert_eq!(c, Some(true));
        let sources = root.find("sources").expect("a list").list();
        assert_eq!(
            sources.iter().map(|it| it.line).collect::<Vec<_>>(),
            [6, 15]
        );
        assert_eq!(text(&sources[0], "dsn"), "postgres://u@h/d");
        assert_eq!(sources[0].find("ports").map(|it| it.texts().len()), Some(3));
        let ssh = sources[0].find("ssh").expect("a table");
        assert_eq!(text(ssh, "host"), "bastion");
        assert_eq!(
            text(&sources[1], "statement"),
            "SELECT 1\n  FROM \"t\" WHERE '''x'''\n"
        );
        assert_eq!(text(&sources[1], "raw"), "a\\b");
        assert_eq!(text(&sources[1], "since"), "2026-01-31T00:00:00Z");
        let lines = |node: &Node| {
            node.members()
                .iter()
                .map(|(_, it)| it.line)
                .collect::<Vec<_>>()
        };
        assert_eq!(lines(&root), [2, 3, 4, 6]);
        assert_eq!(lines(&sources[0]), [7, 8, 9, 12]);
        assert_eq!(lines(&sources[1]), [16, 17, 18, 23, 25]);
        let inline = sources[1].find("inline").expect("a table");
        assert_eq!(text(inline, "x"), "1");
    }

    #[test]
    fn a_wrong_text_is_refused_with_its_line_only() {
        let deep = format!("a = {}", "[".repeat(100));
        let keys = "a.".repeat(500_000);
        let (dotted, header) = (format!("{keys}a = 1"), format!("[{keys}a]"));
        for (text, line) in [
            ("a = 1\nb = swordfish", 2),
            ("a = 1\na = 2", 2),
            ("a = \"open", 1),
            ("[a\nb = 1", 1),
            ("a = 1 b = 2", 1),
            ("a = {b = 1", 1),
            ("a = 1\n[[a]]", 2),
            ("= 1", 1),
            ("a = \"\\x\"", 1),
            (&*deep, 1),
            (&*dotted, 1),
            (&*header, 1),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert_eq!(error, format!("line {line} is not TOML"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[\\[\\]{}=,.\"'#\\\\ a1é\n]{0,40}") {
            let _ = read(&text);
        }
    }
}
