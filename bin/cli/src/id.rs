//! Ids of records: UUIDs in any of their four notations.

use uuid::Uuid;

use crate::{failure::Failure, output::quoted};

/// Parses an id and returns it in canonical form: lower case, with hyphens.
///
/// # Errors
///
/// Fails if it is not a UUID: exit 2, with the kind of record.
pub(crate) fn parse(kind: &str, typed: &str) -> Result<String, Failure> {
    let refused =
        |reason: &str| Failure::usage(format!("invalid {kind} {}: {reason}", quoted(typed)));
    let invalid = || refused("invalid UUID format");
    let digits = match typed.len() {
        32 | 36 => typed,
        38 => typed
            .strip_prefix('{')
            .and_then(|text| text.strip_suffix('}'))
            .ok_or_else(invalid)?,
        45 => match typed.split_at_checked(9).ok_or_else(invalid)? {
            (prefix, digits) if prefix.eq_ignore_ascii_case("urn:uuid:") => digits,
            (prefix, _) => {
                let prefix = quoted(prefix);
                return Err(refused(&format!("invalid urn prefix: {prefix}")));
            }
        },
        length => return Err(refused(&format!("invalid UUID length: {length}"))),
    };
    let id = Uuid::try_parse(digits).map_err(|_| invalid())?;
    Ok(id.hyphenated().to_string())
}

/// Returns whether a text looks like an id, valid or not, rather than a name.
pub(crate) fn is_like(typed: &str) -> bool {
    let is_hyphenated = |text: &str| {
        let hyphens = text.bytes().enumerate().filter(|(_, byte)| *byte == b'-');
        text.len() == 36 && hyphens.map(|(at, _)| at).eq([8, 13, 18, 23])
    };
    let bare = typed
        .strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'));
    let prefix = typed.get(.."urn:".len()).unwrap_or_default();
    typed.is_empty()
        || parse("", typed).is_ok()
        || is_hyphenated(bare.unwrap_or(typed))
        || prefix.eq_ignore_ascii_case("urn:")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ID: &str = "b0c1d2e3-f4a5-6789-bcde-890123456789";

    #[test]
    fn all_four_spellings_are_one_id() {
        for typed in [
            "b0c1d2e3-f4a5-6789-bcde-890123456789",
            "B0C1D2E3-F4A5-6789-BCDE-890123456789",
            "urn:uuid:b0c1d2e3-f4a5-6789-bcde-890123456789",
            "URN:UUID:B0C1D2E3-f4a5-6789-bcde-890123456789",
            "{b0c1d2e3-f4a5-6789-bcde-890123456789}",
            "b0c1d2e3f4a56789bcde890123456789",
        ] {
            assert_eq!(parse("client ID", typed).expect("an id"), ID, "{typed}");
        }
        let nil = "00000000-0000-0000-0000-000000000000";
        assert_eq!(parse("client ID", nil).expect("an id"), nil);
    }

    #[test]
    fn anything_else_is_refused_with_a_reason() {
        for (typed, reason) in [
            ("", "invalid UUID length: 0"),
            ("nope", "invalid UUID length: 4"),
            (
                "(b0c1d2e3-f4a5-6789-bcde-890123456789)",
                "invalid UUID format",
            ),
            (
                "{b0c1d2e3-f4a5-6789-bcde-890123456789",
                "invalid UUID length: 37",
            ),
            (
                "b0c1d2e3-f4a5-6789-bcde-89012345678g",
                "invalid UUID format",
            ),
            (
                "b0c1d2e3f-4a5-6789-bcde-890123456789",
                "invalid UUID format",
            ),
            ("b0c1d2e3f4a56789bcde89012345678-", "invalid UUID format"),
            (
                "urn:user:b0c1d2e3-f4a5-6789-bcde-890123456789",
                "invalid urn prefix: \"urn:user:\"",
            ),
        ] {
            let failure = parse("tenant ID", typed).expect_err("refused");
            assert_eq!(
                failure.to_string(),
                format!("invalid tenant ID \"{typed}\": {reason}")
            );
            assert_eq!(failure.exit(), 2);
        }
    }

    #[test]
    fn a_name_is_not_written_like_an_id_and_a_mistyped_id_is() {
        for id in [
            "",
            "b0c1d2e3f4a56789bcde890123456789",
            "b0c1d2e3-f4a5-6789-bcde-89012345678g",
            "{b0c1d2e3-f4a5-6789-bcde-89012345678g}",
            "urn:user:b0c1d2e3",
        ] {
            assert!(is_like(id), "{id}");
        }
        for name in [
            "ci",
            "cafe",
            "build-and-deploy-of-the-main-branch",
            "Bäcker 🥐 in der Altstadt",
        ] {
            assert!(!is_like(name), "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_a_panic(text in any::<String>()) {
            let _ = parse("client ID", &text);
            let _ = is_like(&text);
        }

        #[test]
        fn every_number_is_an_id(number in any::<u128>()) {
            let digits = format!("{number:032x}");
            let id = parse("client ID", &digits).expect("an id");
            prop_assert_eq!(id.replace('-', ""), digits);
        }
    }
}
