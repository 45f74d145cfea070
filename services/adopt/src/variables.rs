//! Variables in texts: `${NAME}`, and `${NAME:default}`.

/// Marks for variables while a text is taken apart: characters that no text has.
const MARKS: std::ops::RangeInclusive<u32> = 0xf_0000..=0xf_00ff;

/// Words in names of variables with secrets.
const SECRET_WORDS: [&str; 7] = [
    "PASS",
    "SECRET",
    "TOKEN",
    "KEY",
    "CREDENTIAL",
    "PWD",
    "AUTH",
];

/// A variable in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) default: Option<String>,
}

/// A text with its variables filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Filled {
    /// A text without variables, or with variables of the environment.
    Text(String),
    /// A text with the default of this variable.
    Default(String, String),
    /// A variable that is not set, or may hold a secret.
    Unset(String),
}

/// Returns the variables of a text, each with its position and its end.
fn find(text: &str) -> Vec<(usize, usize, Variable)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find("${").map(|start| at + start) {
        let inner = &text[start + 2..];
        let Some(end) = inner.find('}') else {
            break;
        };
        let (name, default) = match inner[..end].split_once(':') {
            Some((name, default)) => (name, Some(default.to_owned())),
            None => (&inner[..end], None),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let past = start + 2 + end + 1;
        if !name.is_empty() && name.chars().all(is_name) {
            let name = name.to_owned();
            found.push((start, past, Variable { name, default }));
        }
        at = past;
    }
    found
}

/// Returns the variable that is the whole text.
pub(crate) fn whole(text: &str) -> Option<Variable> {
    let (start, end, variable) = find(text).into_iter().next()?;
    (start == 0 && end == text.len()).then_some(variable)
}

/// Returns whether a text has variables.
pub(crate) fn has_any(text: &str) -> bool {
    !find(text).is_empty()
}

/// Fills in variables: the default where there is one, else the value of the environment. A variable
/// that may hold a secret by its name is left out.
pub(crate) fn fill(text: &str, variable: impl Fn(&str) -> Option<String>) -> Filled {
    let (mut filled, mut marked, mut at) = (String::new(), None, 0);
    for (start, end, found) in find(text) {
        filled.push_str(&text[at..start]);
        at = end;
        let Variable { name, default } = found;
        let upper = name.to_ascii_uppercase();
        let value = match default {
            Some(default) => {
                marked.get_or_insert_with(|| name.clone());
                Some(default)
            }
            None if SECRET_WORDS.iter().any(|word| upper.contains(word)) => None,
            None => variable(&name),
        };
        let Some(value) = value else {
            return Filled::Unset(name);
        };
        filled.push_str(&value);
    }
    filled.push_str(&text[at..]);
    match marked {
        Some(name) => Filled::Default(filled, name),
        None => Filled::Text(filled),
    }
}

/// Replaces the variables of a text by marks, so that a default with a colon is not a part of it.
pub(crate) fn mask(text: &str) -> (String, Vec<String>) {
    let (mut masked, mut names, mut at) = (String::new(), Vec::new(), 0);
    for ((start, end, _), mark) in find(text).into_iter().zip(MARKS) {
        masked.push_str(&text[at..start]);
        masked.extend(char::from_u32(mark));
        names.push(text[start..end].to_owned());
        at = end;
    }
    masked.push_str(&text[at..]);
    (masked, names)
}

/// Puts the variables back.
pub(crate) fn unmask(text: &str, names: &[String]) -> String {
    let mut whole = String::new();
    for character in text.chars() {
        let at = u32::from(character).checked_sub(*MARKS.start());
        match at.and_then(|at| names.get(usize::try_from(at).ok()?)) {
            Some(name) => whole.push_str(name),
            None => whole.push(character),
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(name: &str) -> Option<String> {
        match name {
            "HOST" => Some("db".to_owned()),
            "DB_PASSWORD" => Some("swordfish".to_owned()),
            _ => None,
        }
    }

    #[test]
    fn a_variable_is_filled_from_its_default_or_the_environment_and_no_secret_is() {
        let text = |text: &str| Filled::Text(text.to_owned());
        for (written, expected) in [
            ("db-${HOST}.x", text("db-db.x")),
            ("plain $HOST ${", text("plain $HOST ${")),
            ("${STEP:-5}", Filled::Default("-5".into(), "STEP".into())),
            ("${HOST:}", Filled::Default(String::new(), "HOST".into())),
            (
                "${PORT:5432}/${HOST}",
                Filled::Default("5432/db".into(), "PORT".into()),
            ),
            ("${DB_PASSWORD}", Filled::Unset("DB_PASSWORD".into())),
            ("${NOBODY}", Filled::Unset("NOBODY".into())),
            ("${a b}", text("${a b}")),
        ] {
            assert_eq!(fill(written, value), expected, "{written}");
        }
        let variable = whole("${NAME:x}").expect("one");
        assert_eq!(variable.default.as_deref(), Some("x"));
        assert_eq!(whole("a${NAME}"), None);
    }

    #[test]
    fn a_masked_text_is_the_same_again() {
        let text = "postgres://u:${P:a@b}@${HOST}/d";
        let (masked, names) = mask(text);
        assert!(!masked.contains('{') && names.len() == 2, "{masked}");
        assert_eq!(unmask(&masked, &names), text);
    }
}
