//! YAML, also several documents.

use serde_yaml::Deserializer;
use ziggurat_runtime::yaml::{self, Rules, Scalar, Step, line};

use crate::{
    AdoptError,
    tree::{Node, Value},
};

/// Documents without aliases are always within the budget.
const RULES: Rules = Rules {
    budget: 2 << 20,
    cost: 1,
    exceeded: "its aliases expand to more than the maximum size of a configuration",
    expected: "a value without a tag",
    has_wide_numbers: true,
    has_infinite_numbers: true,
    name: None,
    repeated: Some(|name| format!("duplicate key `{name}`")),
};

/// Limit on the documents of a text.
const MAX_DOCUMENTS: usize = 1_000;

/// Reads the documents of a text. Lines are known of the members of a document, and of their
/// members; other values have the line of the one around them.
pub(crate) fn read(text: &str) -> Result<Vec<Node>, AdoptError> {
    let wrong = |error: serde_yaml::Error| AdoptError::Syntax {
        language: "YAML",
        line: error.location().map_or(1, |at| at.line()),
    };
    let mut documents = Vec::new();
    for (index, document) in yaml::reader(text).map_err(wrong)?.enumerate() {
        let node = RULES.read_from(document).map_err(wrong)?;
        if index == MAX_DOCUMENTS {
            return Err(AdoptError::TooMany);
        }
        if !node.is_null() {
            let mut node = converted(node, 1);
            node.number_lines(text, index);
            documents.push(node);
        }
    }
    Ok(documents)
}

fn converted(node: yaml::Node, line: usize) -> Node {
    let value = match node {
        yaml::Node::Scalar(Scalar::Null, _) => Value::Null,
        yaml::Node::Scalar(Scalar::Boolean(value), _) => Value::Boolean(value),
        yaml::Node::Scalar(Scalar::Text, text) => Value::Text(text),
        yaml::Node::Scalar(_, number) => Value::Number(number),
        yaml::Node::List(list) => {
            Value::List(list.into_iter().map(|it| converted(it, line)).collect())
        }
        yaml::Node::Map(map) => {
            let members = map.into_members();
            Value::Map(
                members
                    .map(|(name, it)| (name, converted(it, line)))
                    .collect(),
            )
        }
    };
    Node::new(line, value)
}

/// Returns the line of the key whose value begins on a line: a map begins below its key.
fn line_of_key(text: &str, name: &str, line: usize) -> usize {
    let lines: Vec<_> = text.lines().take(line).collect();
    let is_key = |line: &&str| {
        let key = line.trim_start().trim_start_matches(['"', '\'']);
        let rest = key.strip_prefix(name);
        rest.is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with(':'))
    };
    let found = lines.iter().rposition(is_key);
    found.map_or(line, |at| at + 1)
}

// === impl Node ===

impl Node {
    /// Looks up the lines of a document.
    fn number_lines(&mut self, text: &str, document: usize) {
        let find = |path: &[Step<'_>]| {
            let found = Deserializer::from_str(text).nth(document);
            found.and_then(|document| line(document, path))
        };
        let first = find(&[]).unwrap_or(1);
        self.set_line(first);
        let Value::Map(members) = &mut self.value else {
            return;
        };
        for (name, member) in members {
            let section = Step::Key(name);
            member.set_line(find(&[section]).unwrap_or(first));
            match &mut member.value {
                Value::Map(entries) => {
                    for (name, entry) in entries {
                        if let Some(line) = find(&[section, Step::Key(name)]) {
                            entry.set_line(line_of_key(text, name, line));
                        }
                    }
                }
                Value::List(entries) => {
                    for (index, entry) in entries.iter_mut().enumerate() {
                        if let Some(line) = find(&[section, Step::Index(index)]) {
                            entry.set_line(line);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn set_line(&mut self, line: usize) {
        self.line = line;
        match &mut self.value {
            Value::List(list) => list.iter_mut().for_each(|it| it.set_line(line)),
            Value::Map(members) => members.iter_mut().for_each(|(_, it)| it.set_line(line)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_read_with_the_lines_of_their_entries() {
        let text =
            "sources:\n  one:\n    kind: a\n  two: {kind: b}\n---\nkind: tools\nname: x\n---\n";
        let documents = read(text).expect("YAML");
        assert_eq!(documents.len(), 2);
        let sources = documents[0].find("sources").expect("a section");
        let lines: Vec<_> = sources.members().iter().map(|(_, it)| it.line).collect();
        assert_eq!(lines, [2, 4]);
        assert_eq!(documents[1].line, 6);
        assert_eq!(documents[1].find_text("name").as_deref(), Some("x"));
    }

    #[test]
    fn a_wrong_text_is_refused_with_its_line_only() {
        let error = read("a: 1\nb: [swordfish\n").expect_err("open");
        assert!(error.to_string().ends_with("is not YAML"), "{error}");
        assert!(read("a: 1\na: 2\n").is_err(), "a repeated key");
    }
}
