//! Names of tools and parameters in our letters.

/// Longest name.
const MAX_LENGTH: usize = 63;

/// Returns whether a name has our letters.
fn is_ours(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.len() <= MAX_LENGTH
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(is_part)
}

/// Writes a name in lower-case letters, digits and `_`; `None` if no letter is left.
pub(crate) fn ours(name: &str) -> Option<String> {
    if is_ours(name) {
        return Some(name.to_owned());
    }
    let mut ours = String::new();
    let mut previous = '_';
    for character in name.chars() {
        let is_part = character.is_ascii_alphanumeric();
        let begins_word = character.is_ascii_uppercase() && previous.is_ascii_lowercase();
        if (!is_part || begins_word) && !ours.is_empty() && !ours.ends_with('_') {
            ours.push('_');
        }
        if is_part {
            ours.push(character.to_ascii_lowercase());
        }
        previous = character;
    }
    let start = ours.find(|c: char| c.is_ascii_lowercase())?;
    let mut ours = ours.split_off(start);
    ours.truncate(MAX_LENGTH);
    ours.truncate(ours.trim_end_matches('_').len());
    Some(ours)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_is_written_in_our_letters() {
        let (long, cut) = ("a".repeat(80), "a".repeat(63));
        for (name, expected) in [
            (&*long, Some(&*cut)),
            ("orders_by_day", Some("orders_by_day")),
            ("a__b_", Some("a__b_")),
            ("search-hotels-by-name", Some("search_hotels_by_name")),
            ("tableName", Some("table_name")),
            ("HTTPGet", Some("httpget")),
            ("1st place", Some("st_place")),
            ("größe", Some("gr_e")),
            ("-", None),
            ("日本", None),
        ] {
            assert_eq!(ours(name).as_deref(), expected, "{name}");
        }
    }

    proptest! {
        #[test]
        fn every_result_has_our_letters(name in "(?s).{0,80}") {
            prop_assert!(ours(&name).is_none_or(|name| is_ours(&name)));
        }
    }
}
