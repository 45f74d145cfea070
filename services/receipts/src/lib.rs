//! Receipts of answers.
//!
//! A receipt names the statement that ran, its caller, the state of the database, and the answer.
//! Its [`Payload`] is a leaf of a tree over all receipts that are ready at the same time, as in
//! RFC 9162, and the root of the tree is signed with Ed25519. So one signature serves many receipts,
//! and each of them is verified alone, without a network.
//!
//! ```
//! use ziggurat_receipts::{Keys, Payload, Signer, SigningKey};
//!
//! # tokio_test::block_on(async {
//! let (_, pem) = SigningKey::generate()?;
//! let keys = Keys::new(SigningKey::of_pem(pem.as_bytes())?, &[]);
//! let (signer, task) = Signer::new(keys.clone());
//! let payload = Payload::default().encode();
//! let receipt = tokio::select! {
//!     receipt = signer.sign(payload) => receipt.expect("the task runs"),
//!     () = task.run() => unreachable!("it runs as long as there is a signer"),
//! };
//! assert!(receipt.verify(&keys.public()).is_ok());
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

mod command;
mod digest;
mod judge;
mod key;
mod payload;
mod receipt;
mod receipts;
mod section;
mod signer;
mod tree;

pub use self::{
    command::{Verification, VerifyError},
    digest::{Digest, EscapedText, Sha, canonical, hex, sha256},
    judge::{Fault, Judged, Kept, body_digest, lines_digest, open_arguments, text_digest},
    key::{KeyError, Keys, PublicKey, SigningKey, make_key_file},
    payload::{AuditLine, CallerName, Payload, RowFacts, Sent, StatementDigest, Versions},
    receipt::{Receipt, ReceiptError},
    receipts::{Receipts, Wanted},
    section::{Mode, Settings, SettingsError},
    signer::{Signer, SignerTask},
};
