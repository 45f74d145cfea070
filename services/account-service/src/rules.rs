//! Rules for names, descriptions and mail addresses.

use crate::AccountError;

/// Maximum length of a name, in characters.
const NAME: usize = 255;

/// Maximum length of a description, in characters.
const DESCRIPTION: usize = 1024;

/// Maximum length of a mail address (RFC 5321, section 4.5.3.1.3).
const EMAIL: usize = 254;

/// Trims and checks a name, which must not be empty, on one line.
///
/// # Errors
/// Fails on an invalid name and says which member it is.
pub(super) fn name(member: &str, text: &str) -> Result<String, AccountError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(AccountError::Invalid(format!("{member} must not be empty")));
    }
    on_one_line(member, text, NAME)
}

/// Trims and checks a description, which may be empty and is longer than a name.
///
/// # Errors
/// Fails on an invalid description.
pub(super) fn description(text: &str) -> Result<String, AccountError> {
    on_one_line("description", text.trim(), DESCRIPTION)
}

/// Trims and checks a first or last name of a person, which may be empty.
///
/// # Errors
/// Fails on an invalid name and says which member it is.
pub(super) fn name_part(member: &str, text: &str) -> Result<String, AccountError> {
    on_one_line(member, text.trim(), NAME)
}

/// Checks a mail address and converts it to lower case, so that each person has one spelling.
///
/// # Errors
/// Fails if the text is not a mail address.
pub(super) fn email(text: &str) -> Result<String, AccountError> {
    let text = text.trim().to_lowercase();
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || "<>()[],;:\\\"".contains(c);
    let is_good = text.rsplit_once('@').is_some_and(|(user, host)| {
        !user.is_empty()
            && !user.contains('@')
            && !host.is_empty()
            && !host.starts_with('.')
            && !host.ends_with('.')
    });
    if !is_good || text.len() > EMAIL || text.contains(is_odd) {
        return Err(AccountError::Invalid(
            "email must be a mail address".to_owned(),
        ));
    }
    Ok(text)
}

fn on_one_line(member: &str, text: &str, most: usize) -> Result<String, AccountError> {
    if text.chars().count() > most {
        let message = format!("{member} must have at most {most} characters");
        return Err(AccountError::Invalid(message));
    }
    if text.contains(char::is_control) {
        let message = format!("{member} must not contain control characters");
        return Err(AccountError::Invalid(message));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said<T>(result: Result<T, AccountError>) -> String {
        match result {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_name_has_1_to_255_characters_on_one_line() {
        assert_eq!(name("name", "  ci \u{e9} ").expect("good"), "ci \u{e9}");
        let longest = "\u{e9}".repeat(255);
        assert_eq!(name("name", &longest).expect("good"), longest);
        for (text, complaint) in [
            ("", "name must not be empty"),
            (" \t ", "name must not be empty"),
            ("a\nb", "name must not contain control characters"),
            ("a\u{85}b", "name must not contain control characters"),
            (&"a".repeat(256), "name must have at most 255 characters"),
        ] {
            assert_eq!(said(name("name", text)), complaint, "{text:?}");
        }
    }

    #[test]
    fn a_description_may_be_empty_and_has_1024_characters_at_most() {
        assert_eq!(description(" ").expect("good"), "");
        assert!(description(&"a".repeat(1024)).is_ok());
        assert_eq!(
            said(description(&"a".repeat(1025))),
            "description must have at most 1024 characters"
        );
        assert_eq!(
            said(description("a\0")),
            "description must not contain control characters"
        );
    }

    #[test]
    fn a_mail_address_has_text_on_both_sides() {
        assert_eq!(email(" Ann@Example.COM ").expect("good"), "ann@example.com");
        for text in [
            "",
            "ann",
            "@example.com",
            "ann@",
            "ann@.com",
            "ann@example.com.",
            "ann bob@example.com",
            "Ann <ann@example.com>",
            "ann@example.com,bob@example.com",
            "a@b@c",
            &format!("{}@example.com", "a".repeat(250)),
        ] {
            assert_eq!(said(email(text)), "email must be a mail address", "{text}");
        }
    }
}
