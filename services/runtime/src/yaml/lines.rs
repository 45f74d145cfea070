//! Lines of the entries of a document.

use std::fmt;

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_yaml::{Deserializer as Document, Value};

/// A step from a value of a document to one inside of it.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// To the member of this name.
    Key(&'a str),
    /// To the value at this position.
    Index(usize),
}

/// Returns the line on which an entry begins. It reads the document again, so it is meant for
/// errors.
#[must_use]
pub fn line(document: Document<'_>, path: &[Step<'_>]) -> Option<usize> {
    let stopped = Walk(path).deserialize(document).err()?;
    Some(stopped.location()?.line())
}

/// Goes to an entry, and stops there with an error, which has the position of the entry.
#[derive(Clone, Copy)]
struct Walk<'a>(&'a [Step<'a>]);

// === impl Walk ===

impl Walk<'_> {
    fn stop<E: Error>(self) -> Result<(), E> {
        if self.0.is_empty() {
            return Err(E::custom("here"));
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.stop()
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.stop()
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.stop()
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.stop()
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.stop()
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        self.stop()
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<(), A::Error> {
        self.stop()?;
        if let Some((Step::Index(wanted), rest)) = self.0.split_first() {
            for _ in 0..*wanted {
                values.next_element::<IgnoredAny>()?;
            }
            values.next_element_seed(Walk(rest))?;
        }
        while values.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        self.stop()?;
        while let Some(key) = entries.next_key::<Value>()? {
            match self.0.split_first() {
                Some((Step::Key(wanted), rest)) if key.as_str() == Some(*wanted) => {
                    entries.next_value_seed(Walk(rest))?;
                }
                _ => {
                    entries.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_the_line_on_which_it_begins() {
        let yaml = "# tools\nglossary: []\ntools:\n- name: a\n  parameters:\n  - {name: x}\n  \
                    - name: y\n\n-\n  name: b\n";
        let found = |path: &[Step<'_>]| line(Document::from_str(yaml), path);
        let parameter = |tool, parameter| {
            use Step::{Index, Key};
            let path = [
                Key("tools"),
                Index(tool),
                Key("parameters"),
                Index(parameter),
            ];
            found(&path)
        };
        assert_eq!(found(&[Step::Key("tools"), Step::Index(0)]), Some(4));
        assert_eq!(found(&[Step::Key("tools"), Step::Index(1)]), Some(10));
        assert_eq!(parameter(0, 0), Some(6));
        assert_eq!(parameter(0, 1), Some(7));
        assert_eq!(parameter(0, 2), None);
    }
}
