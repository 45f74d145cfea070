//! `auth`: signs in and out, and shows the credential in use.

mod login;
mod logout;
mod loopback;
mod person;
mod status;
mod tenant;
mod whoami;

pub(super) use self::{
    login::login,
    logout::logout,
    person::is_signed_in,
    status::{TokenState, look, status, token_state},
    tenant::is_trial,
    whoami::{records, whoami},
};

/// Note if the pair of variables takes precedence over the profile.
const HIDDEN_BY_VARIABLES: &str = "Warning: ZIGGURAT_CLIENT_ID or ZIGGURAT_CLIENT_SECRET is set, \
     so other commands use it instead of this profile until it is unset.";
