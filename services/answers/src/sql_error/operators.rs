//! Hints for operators that do not exist for the types of their operands.

/// Operators of other languages, and what PostgreSQL has instead.
const EQUIVALENTS: &[(&str, &str)] = &[
    ("==", "="),
    ("===", "="),
    ("!==", "<>"),
    ("<=>", "IS NOT DISTINCT FROM"),
    ("=~", "~"),
];

/// The operator of a message with the types of its operands. A prefix operator has no type on its
/// left.
#[derive(Debug, PartialEq, Eq)]
struct Operation<'a> {
    left: &'a str,
    operator: &'a str,
    right: &'a str,
}

/// Describes what to write instead of a missing operator (42883).
pub(super) fn unknown(message: &str) -> Option<String> {
    let operation = Operation::read(message)?;
    Some(operation.advice())
}

// === impl Operation ===

impl<'a> Operation<'a> {
    /// Reads the end of a message, which is the same in all languages: `…: integer = text`.
    fn read(message: &'a str) -> Option<Self> {
        let (_, operation) = message.rsplit_once(": ")?;
        let is_operator = |word: &&str| word.chars().all(|c| "+-*/<>=~!@#%^&|`?".contains(c));
        let operator = operation.split(' ').filter(|word| !word.is_empty());
        let operator = operator.into_iter().find(is_operator)?;
        let (left, right) = operation.split_once(operator)?;
        Some(Self {
            left: left.trim(),
            operator,
            right: right.trim(),
        })
    }

    fn advice(&self) -> String {
        let Self {
            left,
            operator,
            right,
        } = self;
        let known = EQUIVALENTS.iter().find(|(theirs, _)| theirs == operator);
        if let Some((_, ours)) = known {
            return format!("PostgreSQL has no operator {operator}: write {ours}.");
        }
        let either = |is: fn(&str) -> bool| is(left) || is(right);
        match *operator {
            "+" if either(is_text) => "Texts are joined with ||.".to_owned(),
            "+" | "-" if either(is_time) && either(is_number) => {
                format!("Write a duration as an interval: {operator} interval '1 day'.")
            }
            "->" | "->>" if is_text(left) => {
                format!("{operator} needs JSON on its left: cast it with ::jsonb.")
            }
            "~~" | "~~*" | "!~~" | "!~~*" | "~" | "~*" => {
                format!("This operator compares texts: cast the left side with ::text, not {left}.")
            }
            _ if either(is_json) => "Take a text out of JSON with ->> 'key', and cast it to the \
                type it is compared with, for example (x ->> 'key')::integer."
                .to_owned(),
            _ if left.ends_with("[]") != right.ends_with("[]") => {
                "Compare a value with the elements of an array: value = ANY (array).".to_owned()
            }
            _ if left.is_empty() || left == right => {
                format!("The type {right} has no operator {operator}: cast to a type that has it.")
            }
            _ => format!(
                "No operator {operator} takes {left} and {right}: cast one side, for example the \
                 left one with ::{right} or the right one with ::{left}."
            ),
        }
    }
}

fn is_text(name: &str) -> bool {
    ["text", "character varying", "character", "unknown"].contains(&name)
}

fn is_number(name: &str) -> bool {
    let numbers = [
        "smallint",
        "integer",
        "bigint",
        "numeric",
        "real",
        "double precision",
    ];
    numbers.contains(&name)
}

fn is_time(name: &str) -> bool {
    name == "date" || name.starts_with("timestamp") || name.starts_with("time ")
}

fn is_json(name: &str) -> bool {
    name == "json" || name == "jsonb"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_missing_operator_has_its_correction() {
        let cases = [
            (
                "integer = text",
                "left one with ::text or the right one with ::integer",
            ),
            (
                "integer == integer",
                "PostgreSQL has no operator ==: write =.",
            ),
            ("text + text", "joined with ||"),
            ("timestamp without time zone + integer", "interval '1 day'"),
            ("text ->> unknown", "::jsonb"),
            ("integer ~~* unknown", "::text"),
            ("jsonb > integer", "->> 'key'"),
            ("text[] = text", "= ANY (array)"),
            ("- text", "The type text has no operator -"),
        ];
        for (operation, expected) in cases {
            let message = format!("operator does not exist: {operation}");
            let advice = unknown(&message).expect(operation);
            assert!(advice.contains(expected), "{operation}: {advice}");
        }
        assert_eq!(unknown("could not identify an equality operator"), None);
    }
}
