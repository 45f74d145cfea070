//! `auth logout`: removes the credential and the token of a profile.

use ziggurat_account_client::Cache;

use crate::{commands::auth::HIDDEN_BY_VARIABLES, context::Context, credentials, failure::Failure};

/// Removes the token, the secret and the id; the address stays. No request is sent, because the
/// server has no endpoint that revokes a token.
pub(in crate::commands) fn logout(context: &mut Context<'_>) -> Result<(), Failure> {
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
