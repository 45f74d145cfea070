//! A tool as it stands in the file. All keys are optional, so that the checks can report missing
//! ones with a clear message.

use serde::Deserialize;
use serde_yaml::Value as Yaml;
use ziggurat_runtime::Problem;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawTool {
    pub(super) name: Option<String>,
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) database: Option<String>,
    pub(super) statement: Option<String>,
    pub(super) parameters: Option<Vec<Yaml>>,
    pub(super) result: Option<String>,
    pub(super) empty: Option<String>,
    pub(super) row_limit: Option<u32>,
    pub(super) timeout: Option<String>,
    pub(super) write: Option<bool>,
    pub(super) confirm: Option<String>,
    pub(super) idempotent: Option<bool>,
    pub(super) destructive: Option<bool>,
    pub(super) unmasked: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawParameter {
    pub(super) name: Option<String>,
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) description: Option<String>,
    pub(super) required: Option<bool>,
    pub(super) default: Option<Yaml>,
    pub(super) sensitive: Option<bool>,
    pub(super) from: Option<Yaml>,
    items: Option<Yaml>,
    min_items: Option<Yaml>,
    max_items: Option<Yaml>,
    allowed: Option<Yaml>,
    min: Option<Yaml>,
    max: Option<Yaml>,
    min_length: Option<Yaml>,
    max_length: Option<Yaml>,
    pattern: Option<Yaml>,
}

/// The type of the values of a list.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawItems {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    allowed: Option<Yaml>,
    min: Option<Yaml>,
    max: Option<Yaml>,
    min_length: Option<Yaml>,
    max_length: Option<Yaml>,
    pattern: Option<Yaml>,
}

/// The keys of a type, by their names.
pub(super) struct Keys(Vec<(&'static str, Yaml)>);

// === impl RawParameter ===

impl RawParameter {
    /// Takes the keys of the type.
    pub(super) fn keys(&mut self) -> Keys {
        Keys::of([
            ("items", self.items.take()),
            ("min_items", self.min_items.take()),
            ("max_items", self.max_items.take()),
            ("allowed", self.allowed.take()),
            ("min", self.min.take()),
            ("max", self.max.take()),
            ("min_length", self.min_length.take()),
            ("max_length", self.max_length.take()),
            ("pattern", self.pattern.take()),
        ])
    }
}

// === impl RawItems ===

impl RawItems {
    /// Takes the keys of the type.
    pub(super) fn keys(&mut self) -> Keys {
        Keys::of([
            ("allowed", self.allowed.take()),
            ("min", self.min.take()),
            ("max", self.max.take()),
            ("min_length", self.min_length.take()),
            ("max_length", self.max_length.take()),
            ("pattern", self.pattern.take()),
        ])
    }
}

// === impl Keys ===

impl Keys {
    fn of<const N: usize>(keys: [(&'static str, Option<Yaml>); N]) -> Self {
        let present = keys.into_iter();
        Self(
            present
                .filter_map(|(name, value)| Some((name, value?)))
                .collect(),
        )
    }

    /// Refuses keys that a type does not have.
    pub(super) fn only(&self, kind: &str, known: &[&str]) -> Result<(), Problem> {
        match self.0.iter().find(|(name, _)| !known.contains(name)) {
            Some((name, _)) => Err(format!("{name} does not apply to {kind}").into()),
            None => Ok(()),
        }
    }

    /// Returns the value of a key.
    pub(super) fn get(&self, name: &str) -> Option<&Yaml> {
        let found = self.0.iter().find(|(it, _)| *it == name);
        found.map(|(_, value)| value)
    }
}
