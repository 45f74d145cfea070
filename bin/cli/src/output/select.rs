//! Selects the printed data: `--fields` has names of members, `--jq` is a program.

use jaq_core::{
    Compiler, Ctx, Filter, Vars,
    data::JustLut,
    load::{Arena, File, Loader},
};
use jaq_json::{Val, read};

use crate::{
    failure::Failure,
    output::{
        node::Node,
        table::{Column, Show},
    },
};

/// A compiled `--jq` program.
pub(crate) struct Program(Filter<JustLut<Val>>);

// === impl Program ===

impl Program {
    /// Compiles a program.
    ///
    /// # Errors
    ///
    /// Fails if it is not a jq program: exit 2.
    pub(crate) fn compile(source: &str) -> Result<Self, Failure> {
        let refused = || Failure::usage(format!("--jq {source:?} is not a jq program"));
        let definitions = jaq_core::defs()
            .chain(jaq_std::defs())
            .chain(jaq_json::defs());
        let functions = jaq_core::funs()
            .chain(jaq_std::funs())
            .chain(jaq_json::funs());
        let arena = Arena::default();
        let modules = Loader::new(definitions)
            .load(
                &arena,
                File {
                    code: source,
                    path: (),
                },
            )
            .map_err(|_| refused())?;
        let filter = Compiler::default()
            .with_funs(functions)
            .compile(modules)
            .map_err(|_| refused())?;
        Ok(Self(filter))
    }

    /// Runs the program: one line per result, strings without quotes.
    pub(crate) fn run(&self, input: &Node) -> Result<String, Failure> {
        let failed = |error: &dyn std::fmt::Display| Failure::general(format!("--jq: {error}"));
        let input = read::parse_single(input.to_json().as_bytes()).map_err(|e| failed(&e))?;
        let context = Ctx::<JustLut<Val>>::new(&self.0.lut, Vars::new([]));
        let mut text = String::new();
        for result in self.0.id.run((context, input)) {
            let value = match result.map_err(jaq_core::Exn::get_err) {
                Ok(value) => value,
                Err(Ok(error)) => return Err(failed(&error)),
                // The program halted: the output so far is the result.
                Err(Err(_)) => break,
            };
            match value {
                Val::TStr(line) => text.push_str(&String::from_utf8_lossy(&line)),
                value => text.push_str(&value.to_string()),
            }
            text.push('\n');
        }
        Ok(text)
    }
}

/// Returns the columns of these members, in the given order; all columns if none is named.
///
/// A member without a column gets one, with its name in capitals.
pub(crate) fn columns(columns: &[Column], fields: &[String]) -> Vec<Column> {
    if fields.is_empty() {
        return columns.to_vec();
    }
    fields
        .iter()
        .map(|field| {
            let own = columns.iter().find(|column| column.member == *field);
            own.cloned().unwrap_or_else(|| Column {
                member: field.clone().into(),
                title: field.to_uppercase().replace('_', " ").into(),
                show: Show::Text,
            })
        })
        .collect()
}

/// Returns the object with only these members; all members if none is named.
pub(crate) fn members(node: &Node, fields: &[String]) -> Node {
    match node {
        Node::Object(members) if !fields.is_empty() => Node::Object(
            fields
                .iter()
                .filter_map(|field| Some((field.clone(), members.get(field)?.clone())))
                .collect(),
        ),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(source: &str, input: &str) -> Result<String, Failure> {
        let input = Node::read(input.as_bytes()).expect("JSON");
        Program::compile(source)?.run(&input)
    }

    #[test]
    fn text_is_printed_as_it_is_and_everything_else_as_json() {
        for (source, input, printed) in [
            (".", r#"{"b":1,"a":"x"}"#, "{\"a\":\"x\",\"b\":1}\n"),
            (".a", r#"{"a":"two\nlines"}"#, "two\nlines\n"),
            (".[] | .id", r#"[{"id":"1"},{"id":2}]"#, "1\n2\n"),
            ("map(.n) | add", r#"[{"n":1},{"n":2}]"#, "3\n"),
            ("select(.x)", "{}", ""),
            ("\"\\(.n)-\\(.n | length)\"", r#"{"n":"ab"}"#, "ab-2\n"),
            ("1, halt, 2", "null", "1\n"),
            (
                ".n",
                r#"{"n":12345678901234567890123}"#,
                "12345678901234567890123\n",
            ),
        ] {
            assert_eq!(run(source, input).expect("it runs"), printed, "{source}");
        }
    }

    #[test]
    fn an_invalid_program_and_a_failing_one_are_told_apart() {
        for source in [".[", "nothing(", "nothing"] {
            let error = run(source, "{}").expect_err(source);
            let expected = format!("--jq {source:?} is not a jq program");
            assert_eq!((error.to_string(), error.exit()), (expected, 2));
        }
        let error = run(".a.b", r#"{"a":1}"#).expect_err("a number has no members");
        assert!(error.to_string().starts_with("--jq: "), "{error}");
        assert_eq!(error.exit(), 1);
    }
}
