//! Text with placeholders.

use std::borrow::Cow;

/// A text with a placeholder `{{name}}` for each argument.
///
/// It is filled in one pass: an argument is never read as a template again. A placeholder without
/// an argument stays as written, and braces that enclose no name are text.
///
/// ```
/// use ziggurat_mcp::Template;
///
/// let template = Template::new("Look at {{table}} and {{other}}.");
/// assert_eq!(template.names().collect::<Vec<_>>(), ["table", "other"]);
/// let text = template.fill(|name| (name == "table").then_some("{{other}}"));
/// assert_eq!(text, "Look at {{other}} and {{other}}.");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    text: Cow<'static, str>,
}

/// The pieces of a template: some text, and the name after it if there is one.
#[derive(Clone, Debug)]
struct Pieces<'a> {
    rest: &'a str,
}

// === impl Template ===

impl Template {
    /// Takes the text.
    #[must_use]
    pub fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self { text: text.into() }
    }

    /// Returns the names of the placeholders, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.pieces().filter_map(|(_, name)| name)
    }

    /// Replaces the placeholders by the arguments.
    pub fn fill<'v>(&self, argument: impl Fn(&str) -> Option<&'v str>) -> String {
        let mut filled = String::with_capacity(self.text.len());
        for (text, name) in self.pieces() {
            filled.push_str(text);
            match name.map(|name| (name, argument(name))) {
                Some((_, Some(value))) => filled.push_str(value),
                Some((name, None)) => filled.extend(["{{", name, "}}"]),
                None => {}
            }
        }
        filled
    }

    fn pieces(&self) -> Pieces<'_> {
        Pieces { rest: &self.text }
    }
}

// === impl Pieces ===

impl<'a> Iterator for Pieces<'a> {
    type Item = (&'a str, Option<&'a str>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let whole = self.rest;
        let mut end = 0;
        while let Some(opening) = whole[end..].find("{{") {
            let inside = end + opening + 2;
            let after = &whole[inside..];
            let length = after.find(['{', '}', '\n']).unwrap_or(after.len());
            if length > 0 && after[length..].starts_with("}}") {
                self.rest = &after[length + 2..];
                return Some((&whole[..inside - 2], Some(&after[..length])));
            }
            // The second brace may open a placeholder with the next one: `{{{name}}`.
            end = inside - 1;
        }
        self.rest = "";
        Some((whole, None))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fill(template: &str) -> String {
        let template = Template::new(template.to_owned());
        template.fill(|name| match name {
            "a" => Some("1"),
            "b" => Some("{{a}}"),
            _ => None,
        })
    }

    #[test]
    fn placeholders_are_filled_in_one_pass() {
        let cases = [
            ("", ""),
            ("plain", "plain"),
            ("{{a}}", "1"),
            ("x{{a}}y{{b}}z", "x1y{{a}}z"),
            ("{{a}}{{a}}", "11"),
            ("{{unknown}} {{a}}", "{{unknown}} 1"),
            ("{{}} {{a", "{{}} {{a"),
            ("{{a} {{a}}", "{{a} 1"),
            ("{{{a}}}", "{1}"),
            ("{ {a} }", "{ {a} }"),
            ("{{é{{a}}", "{{é1"),
            ("{{ a }}", "{{ a }}"),
        ];
        for (template, filled) in cases {
            assert_eq!(fill(template), filled, "{template:?}");
        }
    }

    proptest! {
        #[test]
        fn without_arguments_a_template_stays_as_it_is(text in "[{}a\n é]{0,32}") {
            let template = Template::new(text.clone());
            prop_assert_eq!(template.fill(|_| None), text);
        }
    }
}
