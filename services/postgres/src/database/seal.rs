//! Settings of a caller that nothing in the database can forge.
//!
//! The server sets one text, and the code of that text under a key which callers never see. A function
//! of the database checks both and gives out single settings. The text is bound to one process of
//! PostgreSQL and to two minutes.

use std::{
    fmt::{self, Write as _},
    hash::{Hash, Hasher},
    time::Duration,
};

use aws_lc_rs::hmac;
use tokio::time::Instant;

use crate::database::acting::{Prefix, literal};

/// Length of a key.
pub const SEAL_KEY_BYTES: usize = 32;

/// Length of a block of SHA-256.
const BLOCK: usize = 64;

/// Time that a seal is good for.
const GOOD: i64 = 120;

/// Age at which a seal is made anew.
const RENEWED: Duration = Duration::from_mins(1);

/// Key of the settings of callers.
#[derive(Clone)]
pub struct SealKey([u8; SEAL_KEY_BYTES]);

/// The settings of a caller on one connection, and the commands around their seal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sealed {
    key: SealKey,
    /// The settings, as a JSON object.
    settings: String,
    /// The process in PostgreSQL.
    process: i32,
    /// Seconds since 1970 by the clock of PostgreSQL, and the moment in which it said so.
    clock: (i64, Instant),
    made: Instant,
    /// Commands before the seal, and their number.
    before: Prefix,
    /// Commands behind it.
    after: String,
}

// === impl SealKey ===

impl SealKey {
    /// Takes a key.
    #[must_use]
    pub fn new(bytes: [u8; SEAL_KEY_BYTES]) -> Self {
        Self(bytes)
    }

    /// Returns the SQL that lets a database check the settings. An administrator runs it.
    #[must_use]
    pub fn sql(&self) -> String {
        let [inner, outer] = [0x36, 0x5c].map(|pad| self.padded(pad));
        format!(
            "-- Run this as the owner of the database, and keep it secret: it holds the key.\n\
             BEGIN;\n\
             CREATE SCHEMA IF NOT EXISTS ziggurat;\n\
             GRANT USAGE ON SCHEMA ziggurat TO PUBLIC;\n\
             -- A second row admits a second key, while servers change theirs.\n\
             CREATE TABLE IF NOT EXISTS ziggurat.seal_key (\n  \
             inner_pad bytea NOT NULL,\n  outer_pad bytea NOT NULL\n);\n\
             REVOKE ALL ON ziggurat.seal_key FROM PUBLIC;\n\
             INSERT INTO ziggurat.seal_key VALUES ('\\x{inner}', '\\x{outer}');\n\
             {CLAIM}COMMIT;\n"
        )
    }

    /// Returns the key as HMAC mixes it into a digest.
    fn padded(&self, pad: u8) -> String {
        let mut digits = String::with_capacity(2 * BLOCK);
        for at in 0..BLOCK {
            let byte = self.0.get(at).copied().unwrap_or(0) ^ pad;
            write!(digits, "{byte:02x}").expect("a string takes everything");
        }
        digits
    }

    fn seal(&self, text: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        let mut digits = String::with_capacity(64);
        for byte in hmac::sign(&key, text.as_bytes()).as_ref() {
            write!(digits, "{byte:02x}").expect("a string takes everything");
        }
        digits
    }
}

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealKey(***)")
    }
}

impl PartialEq for SealKey {
    fn eq(&self, other: &Self) -> bool {
        aws_lc_rs::constant_time::verify_slices_are_equal(&self.0, &other.0).is_ok()
    }
}

impl Eq for SealKey {}

impl Hash for SealKey {
    /// Adds nothing: maps of a server have one key.
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// Function that gives out one setting. Its comparison takes the same time for each wrong seal, and it
/// runs in the process of the connection only.
const CLAIM: &str = "\
CREATE OR REPLACE FUNCTION ziggurat.claim(name text) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
SET search_path = pg_catalog, pg_temp AS $claim$
DECLARE
  claims text := current_setting('ziggurat.claims', true);
  seal text := current_setting('ziggurat.seal', true);
  process text := split_part(claims, '|', 1);
  until text := split_part(claims, '|', 2);
BEGIN
  IF EXISTS (
    SELECT FROM ziggurat.seal_key AS key
    WHERE sha256(convert_to(seal, 'UTF8')) = sha256(convert_to(encode(sha256(
      key.outer_pad || sha256(key.inner_pad || convert_to(claims, 'UTF8'))), 'hex'), 'UTF8'))
  ) THEN
    IF process = pg_backend_pid()::text
      AND until::bigint > extract(epoch FROM transaction_timestamp()) THEN
      RETURN substr(claims, length(process) + length(until) + 3)::jsonb ->> name;
    END IF;
  END IF;
  RAISE EXCEPTION 'the caller is not known' USING ERRCODE = '28000';
END
$claim$;
";

// === impl Sealed ===

impl Sealed {
    /// Seals settings for a process of PostgreSQL, with the time that its clock shows.
    pub(crate) fn new(
        key: &SealKey,
        settings: &[(String, String)],
        (process, clock): (i32, i64),
        before: Prefix,
        after: String,
    ) -> Self {
        let settings: serde_json::Map<_, _> = settings
            .iter()
            .map(|(name, value)| (name.clone(), value.clone().into()))
            .collect();
        let now = Instant::now();
        Self {
            key: key.clone(),
            settings: serde_json::Value::Object(settings).to_string(),
            process,
            clock: (clock, now),
            made: now,
            before,
            after,
        }
    }

    /// Returns whether the seal is so old that it is made anew.
    pub(crate) fn is_old(&self) -> bool {
        self.made.elapsed() >= RENEWED
    }

    /// Returns the commands in front of each text, with a seal that is good from now on.
    pub(crate) fn prefix(mut self) -> Prefix {
        self.made = Instant::now();
        let (clock, since) = self.clock;
        let now = clock.saturating_add_unsigned((self.made - since).as_secs());
        let claims = format!("{}|{}|{}", self.process, now + GOOD, self.settings);
        let seal = self.key.seal(&claims);
        let mut prefix = self.before.clone();
        prefix.add("ziggurat.claims", &literal(&claims));
        prefix.add("ziggurat.seal", &literal(&seal));
        if !self.after.is_empty() {
            prefix.sql += &self.after;
            prefix.commands += 1;
        }
        prefix.sealed = Some(Box::new(self));
        prefix
    }
}
