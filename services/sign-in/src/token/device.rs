//! Devices without a browser (RFC 8628): a person types a short code on another one.

use http::StatusCode;
use serde_json::{Value, json};

use crate::{
    answer::{Answer, OAuthError, json_answer},
    authorize::Wish,
    clients::{Client, user_code},
    events::{Event, EventKind},
    form::Form,
    keys::{Keys, digest, secret},
    people::People,
    service::{Read, Shared},
    store::{Device, Polled, Seconds, Store, Why},
    token::{form, required},
};

/// Lifetime of both codes.
const LIFETIME: Seconds = 600;

/// Time between two questions of a device.
const INTERVAL: Seconds = 5;

// === impl Shared ===

impl<P: People, S: Store, K: Keys> Shared<P, S, K> {
    /// Gives a device its two codes.
    pub(crate) async fn device_authorization(&self, read: &Read) -> Answer {
        match self.device_added(read).await {
            Ok(codes) => json_answer(StatusCode::OK, &codes),
            Err(error) => error.into(),
        }
    }

    async fn device_added(&self, read: &Read) -> Result<Value, OAuthError> {
        self.may_prove(read)?;
        let admitted = self.limits.request(read.address);
        let code = "temporarily_unavailable";
        admitted.map_err(|limited| OAuthError::too_many(code, &limited))?;
        let form = form(read)?;
        let client = self.proved(read, &form).await?.client;
        self.is_for_devices(&client)?;
        let wish = Wish::read(&form, &client, &self.settings);
        let wish = wish.map_err(|(code, problem)| OAuthError::new(code, problem))?;
        let code = secret("zdc_")?;
        let user_code = user_code::new()?;
        let device = Device {
            hash: digest(code.as_bytes()),
            user_code: user_code::hash(&user_code).ok_or_else(OAuthError::unavailable)?,
            client: wish.client,
            resource: wish.resource,
            alias: wish.alias,
            scope: wish.scope.join(" "),
            ends_at: read.now + LIFETIME,
        };
        if !self.store.add_device(device, read.now).await? {
            return Err(OAuthError::unavailable());
        }
        let page = self.settings.address("/oauth/device");
        Ok(json!({
            "device_code": code,
            "user_code": user_code,
            "verification_uri_complete": format!("{page}?user_code={user_code}"),
            "verification_uri": page,
            "expires_in": LIFETIME,
            "interval": INTERVAL,
        }))
    }

    /// Exchanges a device code, once a person has allowed it.
    pub(super) async fn by_device_code(
        &self,
        read: &Read,
        form: &Form,
        client: &Client,
    ) -> Result<Value, OAuthError> {
        self.is_for_devices(client)?;
        let hash = digest(required(form, "device_code")?.as_bytes());
        let refused = |code, problem: &str| Err(OAuthError::new(code, problem));
        let bad = || refused("invalid_grant", "the device code is not valid");
        let grant = match self.store.poll_device(hash, &client.id, read.now).await? {
            Polled::Good(grant) => grant,
            Polled::Waits => return refused("authorization_pending", "no person has decided yet"),
            Polled::TooSoon => return refused("slow_down", "wait five seconds longer each time"),
            Polled::Denied => return refused("access_denied", "a person denied"),
            Polled::Expired => return refused("expired_token", "the device code has expired"),
            Polled::Again(id) => {
                let event = Event::new(EventKind::CodeReplayed).with_client(&client.id);
                let grant = Some(id);
                self.record(read, Event { grant, ..event });
                return bad();
            }
            Polled::Unknown => return bad(),
        };
        let Some(person) = self.holder(read, &grant).await? else {
            self.end(read, &grant, Why::Person).await?;
            return bad();
        };
        let event = Event::new(EventKind::TokenIssued).with_grant(&grant);
        self.record(read, event.with_grant_type("device_code"));
        let scope = grant.scope.clone();
        self.tokens(&grant, &person, &scope, read)
    }

    fn is_for_devices(&self, client: &Client) -> Result<(), OAuthError> {
        if self.settings.device_clients.contains(&client.id) {
            return Ok(());
        }
        let problem = "this client does not use devices";
        Err(OAuthError::new("unauthorized_client", problem))
    }
}
