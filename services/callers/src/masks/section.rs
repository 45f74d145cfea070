//! The masked columns in a configuration.

use std::{fs, sync::Arc};

use ziggurat_masking::{Key, Mask, Pattern, Shape};
use ziggurat_postgres::database::{MaskRule, Masking};
use ziggurat_runtime::config::{Section, Value};
use ziggurat_sql::{Lexer, Token};
use ziggurat_tokens::CallerNames;

use crate::{MaskedCallers, Masks};

/// Text of a mask that names no other.
const TEXT: &str = "***";

// === impl Masks ===

impl Masks {
    /// Reads a list of columns, and makes the rules of a database of it.
    #[must_use]
    pub fn read(
        columns: Vec<Value<'_>>,
        key: Option<&Key>,
        make: impl FnOnce(Vec<MaskRule>, &[MaskedCallers]) -> Masking,
    ) -> Self {
        let columns = columns.into_iter();
        let read = columns.map(|column| rule(&column.into_section(), key));
        let (rules, callers): (_, Vec<_>) = read.unzip();
        let masking = Arc::new(make(rules, &callers));
        Self { masking, callers }
    }
}

/// Reads the key of hashes.
#[must_use]
pub fn mask_key(file: &Value<'_>) -> Option<Key> {
    let path = file.resolved_path()?;
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) => {
            file.problem(format_args!("cannot read {}: {error}", path.display()));
            return None;
        }
    };
    let read = Key::new(bytes.trim_ascii());
    read.map_err(|error| file.problem(error)).ok()
}

/// Reads names with dots between them, as a statement has them.
#[must_use]
pub fn dotted_names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (place, token) in Lexer::new(text).enumerate() {
        match token {
            Token::Symbol(b'.') if place % 2 == 1 => {}
            token if place % 2 == 0 => match token.identifier() {
                Some(name) => names.push(name.into_owned()),
                None => return Vec::new(),
            },
            _ => return Vec::new(),
        }
    }
    names
}

/// Reads a column, its mask, and the callers that it is for.
fn rule(file: &Section<'_>, key: Option<&Key>) -> (MaskRule, MaskedCallers) {
    let column = file.key("column");
    let written = column.required(column.text());
    let [schema, table, name] =
        <[String; 3]>::try_from(dotted_names(&written)).unwrap_or_else(|_| {
            column.check(written.is_empty(), "must be a schema, a table and a column");
            Default::default()
        });
    let whole = format!("{schema}.{table}.{name}");
    let text = file.key("text");
    let shape = shape(file, key, &whole);
    let has_text = !matches!(shape, Shape::Null | Shape::Hash { .. } | Shape::Drop);
    text.check(
        has_text || !file.names_key("text"),
        "does not apply to this mask",
    );
    let callers = |name: &str| {
        let section = file.section(name);
        let names = file.names_key(name) || section.is_present();
        names.then(|| CallerNames::read_with_scopes(&section))
    };
    let rule = MaskRule {
        schema,
        table,
        column: name,
        mask: Mask::new(shape, text.text().as_deref().unwrap_or(TEXT)),
    };
    let callers = MaskedCallers {
        only: callers("for"),
        unless: callers("unless"),
    };
    (rule, callers)
}

/// Reads the form of masked values.
fn shape(file: &Section<'_>, key: Option<&Key>, column: &str) -> Shape {
    let (mask, patterns, label) = (file.key("mask"), file.key("patterns"), file.key("label"));
    // YAML has a null of its own.
    let is_null = || file.names_key("mask").then(|| "null".to_owned());
    let (named, label_text) = (mask.text().or_else(is_null), label.text());
    let found = patterns.texts().map(|names| {
        patterns.check(!names.is_empty(), "names no pattern");
        let read = names.iter().filter_map(|name| {
            let pattern = Pattern::read(name);
            patterns.check(pattern.is_some(), "must be card, iban or email");
            pattern
        });
        read.collect()
    });
    let shape = match (named.as_deref(), found) {
        (Some(_), Some(_)) => {
            file.problem("has a mask and patterns");
            Shape::Fixed
        }
        (None, Some(found)) => Shape::Patterns(found),
        (Some("fixed"), _) => Shape::Fixed,
        (Some("null"), _) => Shape::Null,
        (Some("last4"), _) => Shape::Last4,
        (Some("email"), _) => Shape::Email,
        (Some("drop"), _) => Shape::Drop,
        (Some("hash"), _) => {
            mask.check(key.is_some(), "hash needs masking.key_file");
            let label = label_text.clone();
            key.map_or(Shape::Fixed, |key| Shape::Hash {
                key: key.clone(),
                label: label.unwrap_or_else(|| column.to_owned()),
            })
        }
        (Some(_), _) => {
            mask.problem("must be fixed, null, hash, last4, email or drop");
            Shape::Fixed
        }
        (None, None) => {
            file.problem("needs a mask or patterns");
            Shape::Fixed
        }
    };
    let takes_label = matches!(shape, Shape::Hash { .. }) || named.as_deref() == Some("hash");
    label.check(
        takes_label || label_text.is_none(),
        "does not apply to this mask",
    );
    shape
}
