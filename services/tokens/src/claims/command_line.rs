//! Claims on a command line.

use crate::claims::{Claim, ClaimError, Claims, MAX_VALUE, is_claim_name};

/// Claims on a command line, each written as `name=value`. The values are strings; an empty one
/// removes the claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewClaims(Vec<(Box<str>, Option<Claim>)>);

// === impl NewClaims ===

impl NewClaims {
    /// Reads the words of the command line.
    ///
    /// # Errors
    /// Fails if one is not valid, or has the name of another.
    pub fn read<'a, I: IntoIterator<Item = &'a str>>(words: I) -> Result<Self, ClaimError> {
        let mut claims = Vec::<(Box<str>, _)>::new();
        for word in words {
            let (name, value) = word.split_once('=').ok_or(ClaimError::Syntax)?;
            if !is_claim_name(name) {
                return Err(ClaimError::Name(name.to_owned()));
            }
            if value.len() > MAX_VALUE {
                return Err(ClaimError::TooLong(name.to_owned()));
            }
            if claims.iter().any(|(known, _)| **known == *name) {
                return Err(ClaimError::Twice(name.to_owned()));
            }
            let claim = (!value.is_empty()).then(|| Claim::Text(value.into()));
            claims.push((name.into(), claim));
        }
        Ok(Self(claims))
    }

    /// Returns whether there are no claims.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the claims of a new account.
    ///
    /// # Errors
    /// Fails if one has no value, or there are too many.
    pub fn into_claims(self) -> Result<Claims, ClaimError> {
        let claims = self.0.into_iter().map(|(name, claim)| match claim {
            Some(claim) => Ok((name, claim)),
            None => Err(ClaimError::Empty(name.into())),
        });
        Claims::new(claims.collect::<Result<_, _>>()?)
    }

    /// Returns the claims of an account after this change.
    ///
    /// # Errors
    /// Fails if there are too many.
    pub fn applied_to(&self, claims: &Claims) -> Result<Claims, ClaimError> {
        let is_kept = |name: &str| self.0.iter().all(|(changed, _)| **changed != *name);
        let kept = claims.iter().filter(|(name, _)| is_kept(name));
        let kept = kept.map(|(name, claim)| (name.into(), claim.clone()));
        let set = self.0.iter();
        let set = set.filter_map(|(name, claim)| Some((name.clone(), claim.clone()?)));
        Claims::new(kept.chain(set).collect())
    }
}
