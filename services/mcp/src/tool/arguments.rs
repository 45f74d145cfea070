//! Arguments that may be missing or wrong.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::Reported;

/// An argument, if it was given and has the right type.
///
/// Models leave arguments out and use wrong types. An optional argument of the wrong type is
/// ignored, a required one is reported to the model; in both cases the other arguments are still
/// read.
///
/// ```
/// use serde::Deserialize;
/// use ziggurat_mcp::Lenient;
///
/// #[derive(Default, Deserialize)]
/// #[serde(default)]
/// struct Arguments {
///     query: Lenient<String>,
///     limit: Lenient<u32>,
/// }
///
/// let given: Arguments = serde_json::from_str(r#"{"query":"SELECT 1","limit":"ten"}"#)?;
/// assert_eq!(given.query.0.as_deref(), Some("SELECT 1"));
/// assert_eq!(given.limit.0.unwrap_or(100), 100);
/// # Ok::<_, serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lenient<T>(pub Option<T>);

// === impl Lenient ===

impl<T> Lenient<T> {
    /// Returns the argument, or a message for the model that it is missing.
    ///
    /// # Errors
    ///
    /// Returns `complaint` if the argument was not given.
    pub fn or_report(self, complaint: &'static str) -> Result<T, Reported> {
        self.0.ok_or_else(|| Reported::new(complaint))
    }
}

impl<T> Default for Lenient<T> {
    fn default() -> Self {
        Self(None)
    }
}

/// Works with `serde_json` only, because it skips values of other types as raw JSON.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        Ok(Self(serde_json::from_str(raw.get()).ok()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Arguments {
        text: Lenient<String>,
        flag: Lenient<bool>,
        names: Lenient<Vec<String>>,
    }

    #[test]
    fn an_argument_of_the_wrong_type_counts_as_missing() {
        let cases = [
            (r"{}", (None, None, None)),
            (r#"{"text":null,"flag":null}"#, (None, None, None)),
            (r#"{"text":7,"flag":"true"}"#, (None, None, None)),
            (r#"{"text":"a\nb","flag":"no"}"#, (Some("a\nb"), None, None)),
            (
                r#"{"names":["a"],"flag":false,"more":[{}]}"#,
                (None, Some(false), Some(vec!["a".to_owned()])),
            ),
            (r#"{"names":["a",1]}"#, (None, None, None)),
        ];
        for (json, (text, flag, names)) in cases {
            let read: Arguments = serde_json::from_str(json).expect(json);
            let expected = Arguments {
                text: Lenient(text.map(str::to_owned)),
                flag: Lenient(flag),
                names: Lenient(names),
            };
            assert_eq!(read, expected, "{json}");
        }
    }
}
