//! Types with values that are not shown as the text that PostgreSQL sends.
//!
//! PostgreSQL sends every value as text, which is shown as it is for most types. The exceptions are
//! booleans, timestamps, JSON and arrays. Built-in types have fixed OIDs; of the others only arrays
//! matter, and those are looked up once.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use crate::{
    driver::{Client, DriverError},
    type_name,
};

/// Maximum number of user-defined types that a pool remembers.
const MAX_KNOWN: usize = 4096;

/// The first OID that is not the same in every installation.
///
/// From here on OIDs are assigned by `initdb`, and from 16384 on to objects of users.
const FIRST_UNFIXED: u32 = 10_000;

/// Arrays of the system catalogue, and of `cstring`, which have no name of their own here.
const NAMELESS_ARRAYS: [u32; 5] = [210, 270, 272, 273, 1263];

/// `int2vector` and `oidvector`, which are named like arrays and printed as numbers between spaces.
const VECTORS: [u32; 2] = [22, 30];

/// `box[]`, the only built-in array type without commas between its elements.
const BOX_ARRAY: u32 = 1020;

/// Format of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Text as it is.
    Text,
    /// Boolean, written as `true` or `false`.
    Bool,
    /// Timestamp in the form of RFC 3339.
    Timestamp,
    /// JSON without white space.
    Json,
    /// JSON array.
    Array(Element),
}

/// Elements of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    pub(crate) scalar: ScalarKind,
    pub(crate) delimiter: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScalarKind {
    Text,
    Bool,
    Timestamp,
    Json,
    Number,
}

/// The user-defined types that were looked up.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    known: RwLock<HashMap<u32, KnownType>>,
}

#[derive(Debug)]
struct KnownType {
    kind: Kind,
    name: Arc<str>,
}

// === impl Kind ===

impl Kind {
    /// Returns the kind of a built-in type.
    #[must_use]
    pub fn built_in(oid: u32) -> Option<Self> {
        if oid >= FIRST_UNFIXED {
            return None;
        }
        let name = match type_name::built_in(oid) {
            None if NAMELESS_ARRAYS.contains(&oid) => "[]",
            name => name.unwrap_or_default(),
        };
        let element = name.strip_suffix("[]").filter(|_| !VECTORS.contains(&oid));
        let scalar = match element.unwrap_or(name) {
            "bool" => ScalarKind::Bool,
            "json" | "jsonb" => ScalarKind::Json,
            "timestamp" | "timestamptz" => ScalarKind::Timestamp,
            "int2" | "int4" | "int8" | "float4" | "float8" | "numeric" | "oid" => {
                ScalarKind::Number
            }
            _ => ScalarKind::Text,
        };
        if element.is_some() {
            let delimiter = if oid == BOX_ARRAY { b';' } else { b',' };
            return Some(Self::Array(Element { scalar, delimiter }));
        }
        Some(match scalar {
            ScalarKind::Bool => Self::Bool,
            ScalarKind::Json => Self::Json,
            ScalarKind::Timestamp => Self::Timestamp,
            ScalarKind::Number | ScalarKind::Text => Self::Text,
        })
    }
}

// === impl Catalogue ===

impl Catalogue {
    /// Returns the kind of a type, if it is known.
    pub(crate) fn kind(&self, oid: u32) -> Option<Kind> {
        Kind::built_in(oid).or_else(|| {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            known.get(&oid).map(|known| known.kind)
        })
    }

    /// Returns the short name of a type, if it is known.
    pub(crate) fn name(&self, oid: u32) -> Option<Arc<str>> {
        type_name::built_in(oid).map(Arc::from).or_else(|| {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            known.get(&oid).map(|known| Arc::clone(&known.name))
        })
    }

    /// Looks up types in PostgreSQL, and remembers their kinds and names.
    pub(crate) async fn learn(&self, oids: &[u32], from: &mut Client) -> Result<(), DriverError> {
        let asked: Vec<_> = oids.iter().map(u32::to_string).collect();
        // A domain has the category of its base type.
        let types = from
            .ask(&format!(
                "SELECT a.oid, e.typcategory, e.typdelim,
                     coalesce(e.typname || '[]', a.typname::text)
                 FROM pg_catalog.pg_type a LEFT JOIN pg_catalog.pg_type e
                     ON e.oid = a.typelem AND a.typcategory = 'A' AND a.typlen = -1
                 WHERE a.oid IN ({})",
                asked.join(", ")
            ))
            .await?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() + oids.len() > MAX_KNOWN {
            known.clear();
        }
        for found in types {
            let oid = found.text(0)?.parse().map_err(DriverError::value)?;
            let scalar = match found.text(1)? {
                "B" => Some(ScalarKind::Bool),
                "D" => Some(ScalarKind::Timestamp),
                "N" => Some(ScalarKind::Number),
                "" => None,
                _ => Some(ScalarKind::Text),
            };
            let delimiter = found.text(2)?.bytes().next().unwrap_or(b',');
            let kind = scalar.map_or(Kind::Text, |scalar| {
                Kind::Array(Element { scalar, delimiter })
            });
            // With the encoding `SQL_ASCII` a name need not be UTF-8.
            let name = String::from_utf8_lossy(found.value(3)?.unwrap_or_default()).into();
            known.insert(oid, KnownType { kind, name });
        }
        // A type that is gone meanwhile is not looked up again.
        for &oid in oids {
            known.entry(oid).or_insert_with(|| KnownType {
                kind: Kind::Text,
                name: "".into(),
            });
        }
        Ok(())
    }
}
