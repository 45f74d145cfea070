//! The data of a static resource, and the size of a file.

use serde::{Deserialize, Deserializer};
use ziggurat_runtime::yaml::{Node, Rules, Scalar};

/// Rules for data: it has the names and numbers of JSON.
const RULES: Rules = Rules {
    budget: usize::MAX,
    has_infinite_numbers: false,
    name: Some(name),
    repeated: Some(|name| format!("duplicate entry `{name}`")),
    ..SIZE
};

/// Rules that measure a file once all aliases are expanded: one can expand to a value as long as the
/// file, and a file can contain many.
const SIZE: Rules = Rules {
    budget: 4 << 20,
    cost: 16,
    exceeded: "the aliases of the file expand to too much",
    expected: "a scalar, a list or a map",
    has_wide_numbers: false,
    has_infinite_numbers: true,
    name: Some(|_| Ok(String::new())),
    repeated: None,
};

/// A value in the file. A map keeps the order of its entries.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Data(Node);

/// Fails if a file expands to too much.
pub(super) fn check_size(text: &str) -> Result<(), serde_yaml::Error> {
    SIZE.read(text).map(drop)
}

/// Returns the name of an entry: the text of any scalar.
fn name(key: Node) -> Result<String, &'static str> {
    match key {
        Node::Scalar(Scalar::Text, name) => Ok(name),
        Node::Scalar(..) => Ok(Data(key).to_json()),
        Node::List(_) | Node::Map(_) => Err("a list or a map cannot be a name"),
    }
}

// === impl Data ===

impl Data {
    pub(super) fn to_json(&self) -> String {
        serde_json::to_string_pretty(&self.0).expect("the names of its entries are texts")
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RULES.read_from(deserializer).map(Self)
    }
}
