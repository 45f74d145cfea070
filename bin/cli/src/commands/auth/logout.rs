//! `auth logout`: removes the credential and the token of a profile.

use ziggurat_account_client::Cache;

use crate::{
    commands::auth::{HIDDEN_BY_VARIABLES, person},
    context::Context,
    credentials,
    failure::Failure,
};

/// Removes the token, the secret and the id; the address stays. A person is signed out at the server
/// first, as far as it answers. The tokens of a client cannot be revoked.
pub(in crate::commands) async fn logout(context: &mut Context<'_>) -> Result<(), Failure> {
    person::revoke(context).await;
    let cleared = Cache::of(&context.config.cache_folder(), &context.profile).clear();
    if let Some(profile) = context.config.profile(&context.profile) {
        // A secret in the file was never in the keychain.
        if profile.client_secret.is_none() {
            let profile_name = context.profile.clone();
            credentials::forget_secret(context, &profile_name, profile.client_id.is_some());
        }
        let bare = credentials::without_credentials(profile.clone());
        if bare != profile {
            context.config.update_profile(&context.profile, &bare)?;
        }
    }
    cleared.map_err(|error| Failure::general(format!("remove the cached token: {error}")))?;
    context.note("Logged out. Token and stored credentials removed.");
    if credentials::variables_are_set(context) {
        context.note(HIDDEN_BY_VARIABLES);
    }
    Ok(())
}
