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

/// Built-in array types with elements that are shown as PostgreSQL prints them.
const TEXT_ARRAYS: &[u32] = &[
    143, 210, 270, 271, 272, 273, 629, 651, 719, 775, 791, 1001, 1002, 1003, 1006, 1008, 1009,
    1010, 1011, 1012, 1013, 1014, 1015, 1017, 1018, 1019, 1020, 1027, 1034, 1040, 1041, 1182, 1183,
    1187, 1263, 1270, 1561, 1563, 2201, 2207, 2208, 2209, 2210, 2211, 2949, 2951, 3221, 3643, 3644,
    3645, 3735, 3770, 3905, 3907, 3909, 3911, 3913, 3927, 4073, 4090, 4097, 4192, 5039, 6150, 6151,
    6152, 6153, 6155, 6157,
];

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
    pub(crate) scalar: Scalar,
    pub(crate) delimiter: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
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
        let element = |scalar| {
            Self::Array(Element {
                scalar,
                delimiter: if oid == BOX_ARRAY { b';' } else { b',' },
            })
        };
        Some(match oid {
            16 => Self::Bool,
            114 | 3802 => Self::Json,
            1114 | 1184 => Self::Timestamp,
            1000 => element(Scalar::Bool),
            199 | 3807 => element(Scalar::Json),
            1115 | 1185 => element(Scalar::Timestamp),
            // int2, int4, int8, float4, float8, numeric, oid
            1005 | 1007 | 1016 | 1021 | 1022 | 1231 | 1028 => element(Scalar::Number),
            _ if TEXT_ARRAYS.contains(&oid) => element(Scalar::Text),
            _ => Self::Text,
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
                "B" => Some(Scalar::Bool),
                "D" => Some(Scalar::Timestamp),
                "N" => Some(Scalar::Number),
                "" => None,
                _ => Some(Scalar::Text),
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
