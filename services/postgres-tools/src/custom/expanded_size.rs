//! Size of a file once all aliases are expanded.

use std::{cell::Cell, fmt};

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};
use ziggurat_runtime::yaml;

/// Limit on the size: every value counts as some bytes, a text also with its length.
const MAX_BYTES: usize = 4 << 20;

const VALUE_BYTES: usize = 16;

/// Reads a file without storing it, and stops with an error at the limit.
///
/// An alias can expand to a value as long as the file, and a file can contain many aliases.
pub(super) fn check(text: &str) -> Result<(), serde_yaml::Error> {
    let left = Cell::new(MAX_BYTES);
    RemainingBytes(&left).deserialize(yaml::reader(text)?)
}

/// The bytes that are left.
#[derive(Clone, Copy)]
struct RemainingBytes<'a>(&'a Cell<usize>);

// === impl RemainingBytes ===

impl RemainingBytes<'_> {
    fn take<E: Error>(self, bytes: usize) -> Result<(), E> {
        let left = self.0.get().checked_sub(bytes + VALUE_BYTES);
        let left = left.ok_or_else(|| E::custom("the aliases of the file expand to too much"))?;
        self.0.set(left);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for RemainingBytes<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for RemainingBytes<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a scalar, a list or a map")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.take(0)
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        // An empty file.
        self.take(0)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.take(0)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.take(0)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.take(0)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.take(0)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.take(text.len())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<(), A::Error> {
        self.take(0)?;
        while values.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        self.take(0)?;
        while entries.next_key_seed(self)?.is_some() {
            entries.next_value_seed(self)?;
        }
        Ok(())
    }
}
