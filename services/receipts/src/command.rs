//! The command `-verify-receipt`.

use std::{
    fs::{self, File},
    io::{self, BufRead as _, BufReader},
    path::{Path, PathBuf},
};

use serde_json::Value;
use thiserror::Error;

use crate::{Fault, Judged, KeyError, PublicKey, hex, judge::Kept};

/// The command `-verify-receipt` of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// File with the answer.
    pub file: PathBuf,
    /// File with the public keys; without, the configuration has them.
    pub keys: Option<PathBuf>,
    /// Files of an audit trail that must have the receipt.
    pub audit: Vec<PathBuf>,
}

/// Reason why a file cannot be verified, or is not good.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// A file cannot be read.
    #[error("cannot be read")]
    Io(#[from] io::Error),
    /// The file of the keys has none.
    #[error("-receipt-keys {0}")]
    Keys(String, #[source] KeyError),
    /// A file of the audit trail cannot be read.
    #[error("-audit {0}")]
    Audit(String, #[source] io::Error),
    /// The answer is not good.
    #[error(transparent)]
    Fault(#[from] Fault),
}

// === impl Verification ===

impl Verification {
    /// Reads the file of the keys, if one is named.
    ///
    /// # Errors
    /// Fails if it cannot be read, or has no key.
    pub fn named_keys(&self) -> Result<Option<Vec<PublicKey>>, VerifyError> {
        let Some(path) = &self.keys else {
            return Ok(None);
        };
        let read = fs::read(path).map_err(KeyError::Io);
        let keys = read.and_then(|text| PublicKey::read(&text));
        keys.map(Some)
            .map_err(|error| VerifyError::Keys(path.display().to_string(), error))
    }

    /// Judges the answer in the file.
    ///
    /// # Errors
    /// Fails if a file cannot be read, and if the answer is not good or not in the audit trail.
    pub fn judge(&self, keys: &[PublicKey]) -> Result<Judged, VerifyError> {
        let judged = Kept::read(&fs::read_to_string(&self.file)?).judge(keys)?;
        if !self.audit.is_empty() && !self.is_recorded(&judged)? {
            return Err(Fault::NoRecord.into());
        }
        Ok(judged)
    }

    /// Returns whether the audit trail has a record with the receipt.
    fn is_recorded(&self, judged: &Judged) -> Result<bool, VerifyError> {
        for path in &self.audit {
            let found = has_record(path, judged);
            let found = found.map_err(|it| VerifyError::Audit(path.display().to_string(), it));
            if found? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn has_record(trail: &Path, judged: &Judged) -> io::Result<bool> {
    let (id, digest) = (&*judged.payload.id, hex(&judged.digest));
    for line in BufReader::new(File::open(trail)?).lines() {
        let line = line?;
        // Other lines need not be parsed.
        if line.contains(id)
            && let Ok(record) = serde_json::from_str::<Value>(&line)
            && record["receipt"]["id"] == *id
            && record["receipt"]["sha256"] == *digest
        {
            return Ok(true);
        }
    }
    Ok(false)
}

// === impl Judged ===

impl Judged {
    /// Describes a good answer.
    #[must_use]
    pub fn describe(&self) -> String {
        let (id, key, rows) = (&self.payload.id, &self.key, self.payload.rows.count);
        let rows = if rows == 1 {
            "1 row".to_owned()
        } else {
            format!("{rows} rows")
        };
        format!("receipt {id}, signed by {key}, {rows}, good")
    }
}
