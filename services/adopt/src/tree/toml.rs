//! TOML, as far as configurations of servers use it: all of version 1.0 except that a date is kept as
//! it is written.
//!
//! The crate `toml` is not used: it would add five crates to a program for one kind of file.

use crate::{
    AdoptError,
    tree::{Node, Value},
};

mod scalar;

/// Limit on the values within each other.
const MAX_DEPTH: usize = 64;

/// Reads a text. The error has the line only.
pub(crate) fn read(text: &str) -> Result<Node, AdoptError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader { text, at: 0 };
    let read = reader.document();
    read.ok_or_else(|| AdoptError::Syntax {
        language: "TOML",
        line: reader.line(),
    })
}

/// Place in a text. A function returns `None` where the text is wrong, and stops there.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

// === impl Reader ===

impl<'a> Reader<'a> {
    fn document(&mut self) -> Option<Node> {
        let mut root = Node::new(1, Value::Map(Vec::new()));
        let mut table = Vec::new();
        loop {
            self.skip_lines();
            if self.rest().is_empty() {
                return Some(root);
            }
            let line = self.line();
            if self.takes("[[") {
                table = self.keys()?;
                self.expects("]]")?;
                let (last, parents) = table.split_last()?;
                let members = enter(&mut root, parents, line)?;
                let found = member(members, last, line, || Value::List(Vec::new()));
                let Value::List(tables) = &mut found.value else {
                    return None;
                };
                tables.push(Node::new(line, Value::Map(Vec::new())));
            } else if self.takes("[") {
                table = self.keys()?;
                self.expects("]")?;
                enter(&mut root, &table, line)?;
            } else {
                let members = enter(&mut root, &table, line)?;
                self.pair(members, 0)?;
            }
            self.skip_blanks();
            if !self.rest().is_empty() && !self.takes("\n") {
                return None;
            }
        }
    }

    /// Reads `key = value`.
    fn pair(&mut self, members: &mut Vec<(String, Node)>, depth: usize) -> Option<()> {
        let line = self.line();
        let keys = self.keys()?;
        self.expects("=")?;
        self.skip_blanks();
        let value = self.value(depth + 1)?;
        let (last, parents) = keys.split_last()?;
        let mut holder = Node::new(line, Value::Map(std::mem::take(members)));
        let inner = enter(&mut holder, parents, line)?;
        if inner.iter().any(|(name, _)| name == last) {
            return None;
        }
        inner.push((last.clone(), Node::new(line, value)));
        if let Value::Map(filled) = holder.value {
            *members = filled;
        }
        Some(())
    }

    fn keys(&mut self) -> Option<Vec<String>> {
        let mut keys = Vec::new();
        loop {
            self.skip_blanks();
            let key = match self.peek()? {
                b'"' => self.basic()?,
                b'\'' => self.literal()?,
                _ => {
                    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
                    let key = self.take_while(is_bare);
                    (!key.is_empty()).then(|| key.to_owned())?
                }
            };
            keys.push(key);
            self.skip_blanks();
            if !self.takes(".") {
                return Some(keys);
            }
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        match self.peek()? {
            b'"' | b'\'' => self.string().map(Value::Text),
            b'[' => self.array(depth),
            b'{' => self.inline_table(depth),
            _ => self.bare(),
        }
    }

    fn array(&mut self, depth: usize) -> Option<Value> {
        self.expects("[")?;
        let mut list = Vec::new();
        loop {
            self.skip_lines();
            if self.takes("]") {
                return Some(Value::List(list));
            }
            let line = self.line();
            list.push(Node::new(line, self.value(depth + 1)?));
            self.skip_lines();
            if !self.takes(",") && self.peek()? != b']' {
                return None;
            }
        }
    }

    fn inline_table(&mut self, depth: usize) -> Option<Value> {
        self.expects("{")?;
        let mut members = Vec::new();
        loop {
            self.skip_lines();
            if self.takes("}") {
                return Some(Value::Map(members));
            }
            self.pair(&mut members, depth)?;
            self.skip_lines();
            if !self.takes(",") && self.peek()? != b'}' {
                return None;
            }
        }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn line(&self) -> usize {
        let read = self.text.get(..self.at).unwrap_or(self.text);
        1 + read.matches('\n').count()
    }

    fn takes(&mut self, start: &str) -> bool {
        let is_next = self.rest().starts_with(start);
        if is_next {
            self.at += start.len();
        }
        is_next
    }

    fn expects(&mut self, start: &str) -> Option<()> {
        self.skip_blanks();
        self.takes(start).then_some(())
    }

    fn take_while(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !fits(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Skips blanks and a comment, up to the end of the line.
    fn skip_blanks(&mut self) {
        self.take_while(|c| matches!(c, ' ' | '\t' | '\r'));
        if self.peek() == Some(b'#') {
            self.take_while(|c| c != '\n');
        }
    }

    fn skip_lines(&mut self) {
        loop {
            self.skip_blanks();
            if !self.takes("\n") {
                return;
            }
        }
    }
}

/// Returns the members of a table, which is made if it does not exist. A list of tables stands for
/// its last one.
fn enter<'a>(
    node: &'a mut Node,
    path: &[String],
    line: usize,
) -> Option<&'a mut Vec<(String, Node)>> {
    let members = match &mut node.value {
        Value::Map(members) => members,
        Value::List(list) => return enter(list.last_mut()?, path, line),
        _ => return None,
    };
    match path.split_first() {
        None => Some(members),
        Some((first, rest)) => {
            let inner = member(members, first, line, || Value::Map(Vec::new()));
            enter(inner, rest, line)
        }
    }
}

/// Returns a member, which is made if it does not exist.
fn member<'a>(
    members: &'a mut Vec<(String, Node)>,
    name: &str,
    line: usize,
    made: impl FnOnce() -> Value,
) -> &'a mut Node {
    let known = members.iter().position(|(known, _)| known == name);
    let at = known.unwrap_or_else(|| {
        members.push((name.to_owned(), Node::new(line, made())));
        members.len() - 1
    });
    &mut members[at].1
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
        let inline = sources[1].find("inline").expect("a table");
        assert_eq!(text(inline, "x"), "1");
    }

    #[test]
    fn a_wrong_text_is_refused_with_its_line_only() {
        let deep = format!("a = {}", "[".repeat(100));
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
