//! Claims: named facts about a caller, for the parameters of an operator's tools.

mod command_line;
mod error;
mod kept;
mod of_token;

use std::{collections::HashSet, fmt, sync::Arc};

use serde_json::Value;

pub use self::{command_line::NewClaims, error::ClaimError, kept::KeptClaims};

/// Limit on the claims of a caller.
pub const MAX_CLAIMS: usize = 32;

/// Limit on the bytes of the value of a claim.
pub(crate) const MAX_VALUE: usize = 1024;

/// Limit on the bytes of the name of a claim.
const MAX_NAME: usize = 256;

/// The claims of a caller, by name. Names of objects within objects are joined by dots. Clones share
/// the claims, and a caller without any has no memory for them.
///
/// The `Debug` form has no values, because they may describe a person.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Claims(Option<Arc<[NamedClaim]>>);

/// A claim with its name.
type NamedClaim = (Box<str>, Claim);

/// The value of a claim.
#[derive(Clone, PartialEq, Eq)]
pub enum Claim {
    /// A string.
    Text(Box<str>),
    /// A number, with its digits as they were written.
    Number(Box<str>),
    /// A boolean.
    Boolean(bool),
    /// A list of strings.
    Texts(Box<[Box<str>]>),
}

/// Returns whether a text may be the name of a claim. A dot leads into an object.
#[must_use]
pub fn is_claim_name(text: &str) -> bool {
    let is_odd = |c: char| c.is_control() || c.is_whitespace() || c == '=';
    text.len() <= MAX_NAME && !text.contains(is_odd) && text.split('.').all(|part| !part.is_empty())
}

// === impl Claims ===

impl Claims {
    /// Reads the claims of a file, in which objects may stand within objects.
    ///
    /// # Errors
    /// Fails if a name or a value is not valid, a name has two values, or there are too many.
    pub fn of_file(claims: Value) -> Result<Self, ClaimError> {
        let Value::Object(members) = claims else {
            return if claims.is_null() {
                Ok(Self::default())
            } else {
                Err(ClaimError::NotAMap)
            };
        };
        let mut found = Vec::new();
        for (name, value) in members {
            flatten(name, value, &mut found)?;
        }
        Self::new(found)
    }

    /// Writes the claims as [`Self::of_file`] reads them.
    #[must_use]
    pub fn to_json(&self) -> Value {
        self.iter()
            .map(|(name, claim)| (name.to_owned(), claim.to_json()))
            .collect()
    }

    pub(crate) fn new(claims: Vec<NamedClaim>) -> Result<Self, ClaimError> {
        if claims.len() > MAX_CLAIMS {
            return Err(ClaimError::TooMany);
        }
        let mut names = HashSet::new();
        if let Some((name, _)) = claims.iter().find(|(name, _)| !names.insert(&**name)) {
            return Err(ClaimError::Twice(name.to_string()));
        }
        Ok(Self((!claims.is_empty()).then(|| claims.into())))
    }

    /// Returns the value of a claim.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Claim> {
        let found = self.iter().find(|(known, _)| *known == name);
        found.map(|(_, claim)| claim)
    }

    /// Returns the names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(name, _)| name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Claim)> {
        let claims = self.0.iter().flat_map(|claims| claims.iter());
        claims.map(|(name, claim)| (&**name, claim))
    }
}

impl fmt::Debug for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

/// Adds the claims of a member of a file. A member without a value counts as absent.
fn flatten(name: String, value: Value, found: &mut Vec<NamedClaim>) -> Result<(), ClaimError> {
    match value {
        Value::Null => Ok(()),
        Value::Object(members) => members
            .into_iter()
            .try_for_each(|(key, value)| flatten(format!("{name}.{key}"), value, found)),
        _ if !is_claim_name(&name) => Err(ClaimError::Name(name)),
        value => {
            let claim = Claim::of_value(value).ok_or_else(|| ClaimError::Kind(name.clone()))?;
            if claim.size() > MAX_VALUE {
                return Err(ClaimError::TooLong(name));
            }
            found.push((name.into(), claim));
            Ok(())
        }
    }
}

// === impl Claim ===

impl Claim {
    fn of_value(value: Value) -> Option<Self> {
        Some(match value {
            Value::String(text) => Self::Text(text.into()),
            Value::Number(number) => Self::Number(number.to_string().into()),
            Value::Bool(value) => Self::Boolean(value),
            Value::Array(list) => {
                let texts = list.into_iter().map(|item| match item {
                    Value::String(text) => Some(text.into()),
                    _ => None,
                });
                Self::Texts(texts.collect::<Option<_>>()?)
            }
            Value::Null | Value::Object(_) => return None,
        })
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Text(text) => Value::from(&**text),
            Self::Number(digits) => serde_json::from_str(digits).unwrap_or_default(),
            Self::Boolean(value) => Value::from(*value),
            Self::Texts(texts) => texts.iter().map(|text| &**text).collect(),
        }
    }

    /// Returns its texts: one, several, or none.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let (one, several) = match self {
            Self::Text(text) => (Some(&**text), &[][..]),
            Self::Texts(texts) => (None, &**texts),
            _ => (None, &[][..]),
        };
        one.into_iter().chain(several.iter().map(|text| &**text))
    }

    /// Returns the number of its bytes. An empty text of a list counts too.
    fn size(&self) -> usize {
        match self {
            Self::Text(text) | Self::Number(text) => text.len(),
            Self::Boolean(_) => 1,
            Self::Texts(texts) => texts.iter().map(|text| text.len().max(1)).sum(),
        }
    }
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text(_) => "Text(…)",
            Self::Number(_) => "Number(…)",
            Self::Boolean(_) => "Boolean(…)",
            Self::Texts(_) => "Texts(…)",
        })
    }
}

#[cfg(test)]
mod tests;
