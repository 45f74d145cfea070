//! The section of a configuration for the sign-in.

mod directories;
#[cfg(test)]
mod tests;

use std::{error::Error, path::PathBuf, time::Duration};

use aws_lc_rs::digest::{SHA256, digest};
use ziggurat_mcp_auth::{
    ManualClient, NamedScope, Page, Provision, Registration, Resource, SecondFactor, Settings,
};
use ziggurat_runtime::{
    config::{Section, Value},
    file,
};

use crate::{GuardedFetch, GuardedFetchError, ProviderFetch};

/// Seconds of an hour.
const HOUR: u64 = 3600;

/// Longest file with the secret of a client.
const MAX_SECRET: u64 = 4096;

/// Problem of settings with which no person could sign in.
const NO_WAY_IN: &str = "nobody could sign in: password_login is off, upstreams and \
                         identity_assertion are empty";

/// The settings of a sign-in, without its address and its resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignInSection {
    settings: Settings,
    /// Sends clients back to the person for a change.
    step_up: bool,
    /// File with further authorities for documents of clients.
    ca_file: Option<PathBuf>,
}

// === impl SignInSection ===

impl SignInSection {
    /// Reads the section of a program without invitations; returns `None` if the sign-in is off.
    /// `enabled` is the key that switches it on, with the flag of the program.
    ///
    /// ```
    /// use ziggurat_runtime::{ConfigSources, config::Input, flags::Flags};
    /// use ziggurat_sign_in_state::SignInSection;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("server.yaml");
    /// std::fs::write(&path, "oauth: {enabled: true, access_lifetime: 1h}")?;
    /// let (sources, flags) = (ConfigSources::default(), Flags::default());
    /// let loaded = Input::new(&sources, &flags).load(Some(&path), |file| {
    ///     let section = file.section("oauth");
    ///     SignInSection::read(&section, &section.key("enabled"))
    /// })?;
    /// let sign_in = loaded.value.expect("on");
    /// assert_eq!(sign_in.access_lifetime().as_secs(), 3600);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn read(file: &Section<'_>, enabled: &Value<'_>) -> Option<Self> {
        let section = Self::read_with(file, enabled, Settings::default())?;
        let mut upstreams = section.settings.upstreams.iter();
        if upstreams.any(|it| it.provision == Provision::Invited) {
            file.problem("there are no invitations here: provision must be none or mapped");
        }
        Some(section)
    }

    /// Reads the section of a program with invitations, and with other usual settings.
    #[must_use]
    pub fn read_with(file: &Section<'_>, enabled: &Value<'_>, usual: Settings) -> Option<Self> {
        let is_enabled = enabled.boolean().unwrap_or(false);
        let section = Self {
            settings: settings(file, usual),
            step_up: file.key("step_up").boolean().unwrap_or(false),
            ca_file: file.section("registration").key("ca_file").path(),
        };
        if is_enabled && !section.has_way_in() {
            file.problem(NO_WAY_IN);
        }
        is_enabled.then_some(section)
    }

    /// Returns the settings for a sign-in at this address, without a slash at its end.
    #[must_use]
    pub fn settings(&self, issuer: &str, resources: Vec<Resource>) -> Settings {
        Settings {
            issuer: issuer.to_owned(),
            resources,
            ..self.settings.clone()
        }
    }

    /// Returns whether passwords sign in.
    #[must_use]
    pub fn has_passwords(&self) -> bool {
        self.settings.password_login
    }

    /// Returns whether a client is sent back to the person for a change that the grant does not allow.
    #[must_use]
    pub fn steps_up(&self) -> bool {
        self.step_up
    }

    /// Returns the fetcher of documents of clients, if they are fetched.
    ///
    /// # Errors
    /// Fails if the file with authorities cannot be used.
    pub fn fetch(&self) -> Result<Option<GuardedFetch>, GuardedFetchError> {
        let registration = &self.settings.registration;
        if !(registration.metadata_documents && registration.fetch) {
            return Ok(None);
        }
        let private_hosts = registration.private_hosts.clone();
        GuardedFetch::new(self.ca_file.as_deref(), private_hosts).map(Some)
    }

    /// Returns the way to the providers of other directories, if there are any.
    ///
    /// # Errors
    /// Fails if the file with authorities cannot be used.
    pub fn providers(&self) -> Result<Option<ProviderFetch>, GuardedFetchError> {
        if !self.has_providers() {
            return Ok(None);
        }
        ProviderFetch::new(self.ca_file.as_deref()).map(Some)
    }

    /// Asks each provider of another directory for its documents. Returns the issuers, with the reason
    /// why the documents cannot be used.
    ///
    /// # Errors
    /// Fails if the file with authorities cannot be used.
    pub async fn try_providers(
        &self,
    ) -> Result<Vec<(String, Option<Box<dyn Error + Send + Sync>>)>, GuardedFetchError> {
        Ok(match self.providers()? {
            Some(ask) => self.settings.try_providers(ask).await,
            None => Vec::new(),
        })
    }

    /// Returns the names of the providers of other directories.
    pub fn provider_names(&self) -> impl Iterator<Item = &str> {
        let upstreams = self.settings.upstreams.iter().map(|it| &*it.name);
        let assertions = self.settings.identity_assertion.iter().map(|it| &*it.name);
        upstreams.chain(assertions)
    }

    fn has_providers(&self) -> bool {
        !self.settings.upstreams.is_empty() || !self.settings.identity_assertion.is_empty()
    }

    fn has_way_in(&self) -> bool {
        self.settings.password_login || self.has_providers()
    }

    /// Returns the longest lifetime of access tokens.
    #[must_use]
    pub fn access_lifetime(&self) -> Duration {
        self.settings.longest_access_lifetime()
    }

    /// Returns the time after which an unused grant has ended. A grant without refresh tokens ends with
    /// its access token.
    #[must_use]
    pub fn idle(&self) -> Duration {
        self.settings.idle()
    }

    /// Returns the name of the installation, if it has one.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        let title = &*self.settings.page.title;
        (!title.is_empty()).then_some(title)
    }

    /// Returns the words of the named scopes.
    pub fn named_scopes(&self) -> impl Iterator<Item = &str> {
        self.settings.scopes.iter().map(|scope| &*scope.name)
    }

    /// Returns the scope that allows changes; empty if there is no such scope.
    #[must_use]
    pub fn write_scope(&self) -> &str {
        &self.settings.write_scope
    }
}

fn settings(file: &Section<'_>, usual: Settings) -> Settings {
    let second_factor = file.key("second_factor").parsed(second_factor);
    let flag = |name: &str, usual| file.key(name).boolean().unwrap_or(usual);
    let (upstreams, identity_assertion) = directories::read(file);
    let settings = Settings {
        password_login: flag("password_login", usual.password_login),
        password_change: true,
        second_factor: second_factor.unwrap_or(usual.second_factor),
        remember_consent: flag("remember_consent", usual.remember_consent),
        write_scope: scope(&file.key("write_scope")).unwrap_or_else(|| usual.write_scope.clone()),
        registration: registration(&file.section("registration")),
        clients: [clients(&file.key("clients")), usual.clients.clone()].concat(),
        device_clients: {
            let listed = file.key("device_clients").texts();
            listed.unwrap_or_else(|| usual.device_clients.clone())
        },
        scopes: named_scopes(&file.key("scopes")),
        upstreams,
        identity_assertion,
        page: page(&file.section("page")),
        ..with_times(file, usual)
    };
    check_lists(file, &settings);
    settings
}

/// Adds the first problem of the providers and the named scopes. The readers of the other keys have
/// added the problems of these.
fn check_lists(file: &Section<'_>, settings: &Settings) {
    let lists = Settings {
        issuer: "https://localhost".to_owned(),
        resources: vec![Resource::new("https://localhost", "")],
        upstreams: settings.upstreams.clone(),
        identity_assertion: settings.identity_assertion.clone(),
        scopes: settings.scopes.clone(),
        write_scope: settings.write_scope.clone(),
        ..Settings::default()
    };
    if let Err(error) = lists.check() {
        file.problem(error);
    }
}

fn named_scopes(list: &Value<'_>) -> Vec<NamedScope> {
    let entries = list.list().unwrap_or_default().into_iter();
    let scopes = entries.map(|entry| {
        let file = entry.into_section();
        let name = file.key("name");
        let name = name.required(name.text());
        NamedScope {
            title: file.key("title").text().unwrap_or_else(|| name.clone()),
            groups: file.key("groups").texts().unwrap_or_default(),
            name,
        }
    });
    scopes.collect()
}

/// Reads the times, each within its bounds.
fn with_times(file: &Section<'_>, usual: Settings) -> Settings {
    let time = |name: &str, usual: Duration, (least, most): (u64, u64), bounds: &str| {
        let key = file.key(name);
        let time = key.time().unwrap_or(usual);
        let is_within = (least..=most).contains(&time.as_secs());
        key.check(is_within, &format!("must be {bounds}"));
        time
    };
    let year = 366 * 24 * HOUR;
    let (access, life) = ((300, 24 * HOUR), (300, 2 * year));
    let session = |name, usual| time(name, usual, (60, year), "1m to 8784h");
    Settings {
        access_lifetime: time(
            "access_lifetime",
            usual.access_lifetime,
            access,
            "5m to 24h",
        ),
        refresh_idle: time("refresh_idle", usual.refresh_idle, (0, year), "0 to 8784h"),
        refresh_lifetime: time(
            "refresh_lifetime",
            usual.refresh_lifetime,
            life,
            "5m to 17568h",
        ),
        refresh_grace: time("refresh_grace", usual.refresh_grace, (0, HOUR), "0 to 1h"),
        session_idle: session("session_idle", usual.session_idle),
        session_lifetime: session("session_lifetime", usual.session_lifetime),
        ..usual
    }
}

fn second_factor(text: &str) -> Result<SecondFactor, &'static str> {
    match text {
        "off" => Ok(SecondFactor::Off),
        "optional" => Ok(SecondFactor::Optional),
        "required" => Ok(SecondFactor::Required),
        _ => Err("must be off, optional or required"),
    }
}

fn registration(file: &Section<'_>) -> Registration {
    let usual = Registration::default();
    let is_on = |name: &str, usual| file.key(name).boolean().unwrap_or(usual);
    Registration {
        metadata_documents: is_on("metadata_documents", usual.metadata_documents),
        fetch: is_on("fetch", usual.fetch),
        document_hosts: file.key("document_hosts").texts().unwrap_or_default(),
        private_hosts: file.key("private_hosts").texts().unwrap_or_default(),
        dynamic: is_on("dynamic", usual.dynamic),
        redirect_hosts: file.key("redirect_hosts").texts().unwrap_or_default(),
        schemes: file.key("schemes").texts().unwrap_or(usual.schemes),
    }
}

fn clients(list: &Value<'_>) -> Vec<ManualClient> {
    let entries = list.list().unwrap_or_default();
    let clients = entries
        .into_iter()
        .map(|entry| client(&entry.into_section()));
    clients.collect()
}

fn client(file: &Section<'_>) -> ManualClient {
    let (id, name) = (file.key("id"), file.key("name"));
    let id_text = id.required(id.text());
    id.check(
        !id_text.contains("://") && !id_text.starts_with("dcr_") && !id_text.starts_with("dcs_"),
        "must not look like the id of a client that registered itself or has a document",
    );
    let redirect_uris = file.key("redirect_uris");
    let redirects = redirect_uris.texts().unwrap_or_default();
    redirect_uris.check(!redirects.is_empty(), "must name an address to return to");
    ManualClient {
        name: name.text().unwrap_or_else(|| id_text.clone()),
        id: id_text,
        redirect_uris: redirects,
        secret_hash: secret_hash(&file.key("secret_file")),
        skip_consent: file.key("skip_consent").boolean().unwrap_or(false),
    }
}

/// Reads the file with the secret of a client, and returns its digest.
fn secret_hash(key: &Value<'_>) -> Option<[u8; 32]> {
    let secret = secret(key)?;
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, secret.as_bytes()).as_ref());
    Some(hash)
}

/// Reads a file with a secret.
fn secret(key: &Value<'_>) -> Option<String> {
    let path = key.path()?;
    let text = match file::text(&path, MAX_SECRET) {
        Ok(text) => text,
        Err(error) => {
            key.problem(format!("{}: {error}", path.display()));
            return None;
        }
    };
    let secret = text.trim();
    key.check(!secret.is_empty(), "the file has no secret");
    Some(secret.to_owned())
}

fn page(file: &Section<'_>) -> Page {
    let text = |name: &str| file.key(name).text().unwrap_or_default();
    let help_url = file.key("help_url");
    let page = Page {
        title: text("title"),
        notice: text("notice"),
        help_url: help_url.text().unwrap_or_default(),
        has_mark: true,
    };
    let is_web = page.help_url.is_empty()
        || page.help_url.starts_with("https://")
        || page.help_url.starts_with("http://");
    help_url.check(is_web, "must be the address of a page");
    page
}

/// Reads the scope for changes; an empty text is no scope.
fn scope(key: &Value<'_>) -> Option<String> {
    let text = key.written()?;
    let is_usual = |byte: u8| matches!(byte, b'!' | b'#'..=b'[' | b']'..=b'~');
    key.check(text.bytes().all(is_usual), "must be a word without quotes");
    Some(text)
}
