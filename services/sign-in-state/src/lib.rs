//! State, keys and settings of the sign-in of the servers.
//!
//! The sign-in itself is `ziggurat-mcp-auth`. Here are its parts that the servers share: the file of
//! the keys, the tables of grants and clients, and the section of a configuration.

mod events;
mod guarded_fetch;
mod key_file;
mod new_client;
mod provider_fetch;
mod section;
mod store;

pub use self::{
    events::SignInEvents,
    guarded_fetch::{GuardedFetch, GuardedFetchError},
    key_file::{KeyFile, KeyFileError},
    new_client::{NewClient, NewClientError},
    provider_fetch::ProviderFetch,
    section::SignInSection,
    store::{EndedGrants, ListedClient, SignInStore, SweepRules},
};
