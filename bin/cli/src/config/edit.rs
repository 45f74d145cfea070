//! Changes a YAML document line by line, so that the other lines stay as the user wrote them.
//!
//! Every change is made twice, in the text and in the value. If the changed text does not parse to
//! the changed value (flow style, anchors, anything that the line editor does not support), the
//! document is written from the value: this loses comments, but no content.

use std::ops::Range;

use serde_yaml::{Mapping, Value};
use ziggurat_runtime::Problem;

use crate::{config::read, output::yaml_scalar};

/// A document that is being changed.
pub(super) struct Document {
    text: String,
    value: Value,
}

// === impl Document ===

impl Document {
    /// Parses a document; an empty one is an empty mapping.
    pub(super) fn read(text: &str) -> Result<Self, Problem> {
        let value = match read::parse(text)? {
            Value::Null => Value::Mapping(Mapping::new()),
            value @ Value::Mapping(_) => value,
            _ => return Err(read::no_mapping("the document")),
        };
        Ok(Self {
            text: text.to_owned(),
            value,
        })
    }

    /// Returns the text of the document.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether a member has this text.
    pub(super) fn is(&self, path: &[&str], text: &str) -> bool {
        find(&self.value, path).and_then(Value::as_str) == Some(text)
    }

    /// Sets or removes the value of a member.
    pub(super) fn set(&mut self, path: &[&str], value: Option<&str>) {
        match value {
            None => self.remove(path),
            Some(text) if self.is(path, text) => {}
            Some(text) => {
                let value = Value::String(text.to_owned());
                place(&mut self.value, path, value);
                self.follow(set_line(&self.text, path, &yaml_scalar(text)));
            }
        }
    }

    /// Removes a member, if it exists.
    pub(super) fn remove(&mut self, path: &[&str]) {
        let (Some((name, above)), true) = (path.split_last(), find(&self.value, path).is_some())
        else {
            return;
        };
        let Some(Value::Mapping(parent)) = find_mut(&mut self.value, above) else {
            return;
        };
        parent.shift_remove(*name);
        self.follow(remove_lines(&self.text, path));
    }

    /// Adds an empty mapping unless there is a mapping.
    pub(super) fn keep(&mut self, path: &[&str]) {
        if matches!(find(&self.value, path), Some(Value::Mapping(_))) {
            return;
        }
        place(&mut self.value, path, Value::Mapping(Mapping::new()));
        self.follow(set_line(&self.text, path, "{}"));
    }

    /// Takes the changed text if it parses to the changed value.
    fn follow(&mut self, text: Option<String>) {
        let faithful = text.filter(|text| match read::parse(text) {
            Ok(Value::Null) => self.value == Value::Mapping(Mapping::new()),
            Ok(value) => value == self.value,
            Err(_) => false,
        });
        self.text = faithful.unwrap_or_else(|| {
            serde_yaml::to_string(&self.value).expect("what was read can be written")
        });
    }
}

fn find<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter()
        .try_fold(value, |value, name| value.as_mapping()?.get(*name))
}

fn find_mut<'a>(value: &'a mut Value, path: &[&str]) -> Option<&'a mut Value> {
    path.iter()
        .try_fold(value, |value, name| value.as_mapping_mut()?.get_mut(*name))
}

fn place(value: &mut Value, path: &[&str], new: Value) {
    let Some((name, rest)) = path.split_first() else {
        *value = new;
        return;
    };
    if !matches!(value, Value::Mapping(_)) {
        *value = Value::Mapping(Mapping::new());
    }
    if let Value::Mapping(mapping) = value {
        let entry = mapping
            .entry(Value::String((*name).to_owned()))
            .or_insert(Value::Null);
        place(entry, rest, new);
    }
}

/// A line with a key: its indentation, the key, and the text after the colon.
struct Line<'a> {
    indent: usize,
    key: &'a str,
    rest: &'a str,
}

/// Writes `path: scalar` into the text. Returns `None` if the text does not use block style there.
fn set_line(text: &str, path: &[&str], scalar: &str) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut block = 0..lines.len();
    let mut indent = 0;
    for (depth, name) in path.iter().enumerate() {
        let is_last = depth + 1 == path.len();
        let children = children_indent(&lines, block.clone());
        if depth == 0 && children.is_some_and(|indent| indent > 0) {
            return None;
        }
        let child_indent = children.unwrap_or(indent);
        let Some(at) = key_line(&lines, block.clone(), child_indent, name) else {
            insert(&mut lines, block, child_indent, &path[depth..], scalar);
            return Some(joined(&lines));
        };
        let range = block_of(&lines, at, block.end);
        if is_last {
            let comment = comment_of(&lines[at]).unwrap_or_default();
            let key = &lines[at][..=lines[at].find(':')?];
            let line = format!("{key} {scalar}{comment}");
            lines.splice(range, [line]);
            return Some(joined(&lines));
        }
        let rest = split(&lines[at])?.rest;
        match rest {
            "" => {}
            "{}" | "~" | "null" => {
                let key = lines[at][..=lines[at].find(':')?].to_owned();
                lines[at] = key;
            }
            _ => return None,
        }
        indent = child_indent + 2;
        block = range.start + 1..range.end;
    }
    None
}

/// Removes the lines of a key. A parent without children becomes an empty mapping.
fn remove_lines(text: &str, path: &[&str]) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut block = 0..lines.len();
    let mut parent = None;
    for (depth, name) in path.iter().enumerate() {
        let indent = children_indent(&lines, block.clone())?;
        let at = key_line(&lines, block.clone(), indent, name)?;
        let range = block_of(&lines, at, block.end);
        if depth + 1 < path.len() {
            parent = Some(at);
            block = at + 1..range.end;
            continue;
        }
        let removed = range.len();
        lines.drain(range);
        let left = block.start..block.end - removed;
        if let (None, Some(parent)) = (children_indent(&lines, left), parent) {
            let comment = comment_of(&lines[parent]).unwrap_or_default();
            let key = lines[parent][..=lines[parent].find(':')?].to_owned();
            lines[parent] = format!("{key} {{}}{comment}");
        }
        return Some(joined(&lines));
    }
    None
}

fn insert(
    lines: &mut Vec<String>,
    block: Range<usize>,
    indent: usize,
    path: &[&str],
    scalar: &str,
) {
    let end = block
        .clone()
        .rev()
        .find(|&at| is_content(&lines[at]))
        .map_or(block.end, |at| at + 1);
    let added = path.iter().enumerate().map(|(depth, name)| {
        let pad = " ".repeat(indent + 2 * depth);
        let key = yaml_scalar(name);
        if depth + 1 == path.len() {
            format!("{pad}{key}: {scalar}")
        } else {
            format!("{pad}{key}:")
        }
    });
    let added: Vec<String> = added.collect();
    lines.splice(end..end, added);
}

fn joined(lines: &[String]) -> String {
    let mut text = lines.join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn is_content(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with('#') && line.trim_end() != "---"
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Returns the indentation of the first child of a block.
fn children_indent(lines: &[String], block: Range<usize>) -> Option<usize> {
    lines[block]
        .iter()
        .find(|line| is_content(line))
        .map(|line| indent_of(line))
}

fn key_line(lines: &[String], block: Range<usize>, indent: usize, name: &str) -> Option<usize> {
    block.into_iter().find(|&at| {
        is_content(&lines[at])
            && split(&lines[at]).is_some_and(|line| line.indent == indent && line.key == name)
    })
}

/// Returns the lines of a key: its own line and all that are indented further. Comments and blank
/// lines at the end belong to the next key.
fn block_of(lines: &[String], at: usize, end: usize) -> Range<usize> {
    let indent = indent_of(&lines[at]);
    let mut last = at;
    for (next, line) in lines.iter().enumerate().take(end).skip(at + 1) {
        if !is_content(line) {
            continue;
        }
        if indent_of(line) <= indent {
            break;
        }
        last = next;
    }
    at..last + 1
}

fn split(line: &str) -> Option<Line<'_>> {
    let indent = indent_of(line);
    let body = &line[indent..];
    let colon = body.find(':')?;
    let key = body[..colon].trim_end();
    let key = ['"', '\'']
        .iter()
        .find_map(|quote| key.strip_prefix(*quote)?.strip_suffix(*quote))
        .unwrap_or(key);
    let rest = body[colon + 1..].trim();
    let rest = if rest.starts_with('#') {
        ""
    } else {
        rest.split_once(" #")
            .map_or(rest, |(value, _)| value.trim_end())
    };
    Some(Line { indent, key, rest })
}

/// Returns the comment after a value, with the space before it. A quoted value may contain `#`, so
/// such a line counts as having no comment.
fn comment_of(line: &str) -> Option<&str> {
    let value = line.find(':').map(|colon| &line[colon + 1..])?;
    if value.trim_start().starts_with(['"', '\'']) {
        return None;
    }
    let at = value.find(" #")?;
    Some(&value[value[..at].trim_end().len()..])
}
