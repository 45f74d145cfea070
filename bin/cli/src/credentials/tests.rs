use std::{
    collections::BTreeMap,
    fs,
    io::Cursor,
    sync::{Arc, Mutex},
};

use ziggurat_account_client::binding;

use super::*;
use crate::{
    config::Config,
    context::{ConnectionFlags, Globals, Streams},
    environment::Environment,
    keychain::NoKeychain,
};

/// A keychain in memory that counts its reads.
#[derive(Debug, Default)]
struct Memory {
    entries: BTreeMap<String, String>,
    asked: Mutex<usize>,
    is_broken: bool,
}

impl Keychain for Memory {
    fn read(&self, account: &str) -> Result<String, KeychainError> {
        *self.asked.lock().expect("a count") += 1;
        if self.is_broken {
            return Err(KeychainError::Unavailable("it is locked".to_owned()));
        }
        self.entries
            .get(account)
            .cloned()
            .ok_or(KeychainError::NotFound)
    }

    fn store(&self, _: &str, _: &str) -> Result<(), KeychainError> {
        Err(KeychainError::NotFound)
    }

    fn delete(&self, _: &str) -> Result<(), KeychainError> {
        Err(KeychainError::NotFound)
    }
}

/// A fixture with these variables, this configuration, these flags and this keychain.
struct Fixture {
    variables: Vec<(&'static str, &'static str)>,
    config: &'static str,
    flags: ConnectionFlags,
    profile: Option<&'static str>,
    stdin: &'static str,
    keychain: Arc<dyn Keychain>,
}

impl Default for Fixture {
    fn default() -> Self {
        Self {
            variables: Vec::new(),
            config: "",
            flags: ConnectionFlags::default(),
            profile: None,
            stdin: "",
            keychain: Arc::new(NoKeychain),
        }
    }
}

impl Fixture {
    fn play<T>(self, act: impl FnOnce(&mut Context<'_>) -> T) -> T {
        let home = tempfile::tempdir().expect("a home");
        let folder = home.path().join(".ziggurat");
        fs::create_dir(&folder).expect("a folder");
        fs::write(folder.join("config.yaml"), self.config).expect("a file");
        let mut variables = vec![(
            "HOME".to_owned(),
            home.path().to_str().expect("a path").to_owned(),
        )];
        let given = self.variables.into_iter();
        variables.extend(given.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let environment = Environment::new(variables);
        let mut streams = Streams {
            stdin: Box::new(Cursor::new(self.stdin.as_bytes())),
            stdout: Box::new(std::io::sink()),
            stderr: Box::new(std::io::sink()),
        };
        let mut context = Context {
            config: Config::load(&environment, None, false).expect("a configuration"),
            environment: &environment,
            streams: &mut streams,
            globals: Globals {
                profile: self.profile.map(str::to_owned),
                ..Globals::default()
            },
            profile: self.profile.unwrap_or("default").to_owned(),
            connection: self.flags,
            keychain: self.keychain,
            dry_run: false,
        };
        act(&mut context)
    }
}

fn flags(id: Option<&str>, secret: Option<&str>) -> ConnectionFlags {
    ConnectionFlags {
        client_id: id.map(str::to_owned),
        client_secret: secret.map(Secret::from),
        ..ConnectionFlags::default()
    }
}

const PROFILE: &str = "profiles:\n  default:\n    platform:\n      api_url: http://profile:1\n      \
                       client_id: of-profile\n      client_secret: in-file\n";

const KEPT: &str = "profiles:\n  default:\n    platform:\n      client_id: of-profile\n      \
                    login_id: abc\n";

const PAIR: [(&str, &str); 2] = [
    ("ZIGGURAT_CLIENT_ID", "of-env"),
    ("ZIGGURAT_CLIENT_SECRET", "env-secret"),
];

fn found(context: &mut Context<'_>) -> (String, &'static str, String) {
    let mut credentials = Credentials::resolve(context).expect("credentials");
    let secret = credentials.secret().expect("a secret");
    (
        credentials.client_id,
        credentials.source.name(),
        secret.expose().to_owned(),
    )
}

fn refused(context: &mut Context<'_>) -> (String, u8) {
    let failure = Credentials::resolve(context)
        .expect_err("no credentials")
        .into_failure();
    (failure.to_string(), failure.exit())
}

#[test]
fn flags_come_before_the_environment_and_that_before_the_profile() {
    let everything = || Fixture {
        variables: PAIR.to_vec(),
        config: PROFILE,
        ..Fixture::default()
    };
    let mut fixture = everything();
    fixture.flags = flags(Some("of-flags"), Some("flag-secret"));
    assert_eq!(
        fixture.play(found),
        ("of-flags".to_owned(), "flags", "flag-secret".to_owned())
    );
    assert_eq!(
        everything().play(found),
        ("of-env".to_owned(), "env", "env-secret".to_owned())
    );
    let mut fixture = everything();
    fixture.variables.clear();
    assert_eq!(
        fixture.play(found),
        ("of-profile".to_owned(), "config", "in-file".to_owned())
    );
}

#[test]
fn half_a_pair_is_an_error_even_when_the_rest_is_complete() {
    for (id, secret, message) in [
        (
            Some("a"),
            None,
            "--client-id given without --client-secret: supply both or neither",
        ),
        (
            None,
            Some("a"),
            "--client-secret given without --client-id: supply both or neither",
        ),
    ] {
        let fixture = Fixture {
            flags: flags(id, secret),
            variables: PAIR.to_vec(),
            config: PROFILE,
            ..Fixture::default()
        };
        assert_eq!(fixture.play(refused), (message.to_owned(), 2));
    }
    for (at, message) in [
        (
            0,
            "ZIGGURAT_CLIENT_ID given without ZIGGURAT_CLIENT_SECRET: supply both or neither",
        ),
        (
            1,
            "ZIGGURAT_CLIENT_SECRET given without ZIGGURAT_CLIENT_ID: supply both or neither",
        ),
    ] {
        let fixture = Fixture {
            variables: vec![PAIR[at]],
            config: PROFILE,
            ..Fixture::default()
        };
        assert_eq!(fixture.play(refused), (message.to_owned(), 2));
    }
}

#[test]
fn a_profile_that_is_named_conflicts_with_the_variables_unless_flags_are_given() {
    let fixture = || Fixture {
        variables: PAIR.to_vec(),
        config: PROFILE,
        profile: Some("default"),
        ..Fixture::default()
    };
    let (message, exit) = fixture().play(refused);
    assert!(
        message.starts_with(
            "--profile default given while ZIGGURAT_CLIENT_ID and ZIGGURAT_CLIENT_SECRET are set:"
        ),
        "{message}"
    );
    assert_eq!(exit, 2);
    let mut fixture = fixture();
    fixture.flags = flags(Some("a"), Some("b"));
    assert_eq!(fixture.play(found).1, "flags");
}

#[test]
fn nothing_found_says_where_to_look() {
    let (message, exit) = Fixture::default().play(refused);
    assert!(message.starts_with("no credentials found — "), "{message}");
    assert_eq!(exit, 5);
}

#[test]
fn the_keychain_is_asked_only_for_the_secret() {
    let memory = Arc::new(Memory::default());
    let fixture = Fixture {
        config: KEPT,
        keychain: Arc::clone(&memory) as Arc<dyn Keychain>,
        ..Fixture::default()
    };
    let failure = fixture.play(|context| {
        let mut credentials = Credentials::resolve(context).expect("credentials");
        assert_eq!(credentials.source, Source::Keychain);
        let address = address(context, false).expect("an address");
        binding::of(&address, &mut credentials).expect("a fingerprint without the secret");
        assert_eq!(*memory.asked.lock().expect("a count"), 0);
        credentials.secret().expect_err("no entry").into_failure()
    });
    assert_eq!(*memory.asked.lock().expect("a count"), 1);
    assert!(failure.to_string().starts_with("no credentials found"));
}

#[test]
fn a_keychain_that_cannot_be_used_is_named_as_the_cause() {
    let fixture = Fixture {
        config: KEPT,
        keychain: Arc::new(Memory {
            is_broken: true,
            ..Memory::default()
        }),
        ..Fixture::default()
    };
    let failure = fixture.play(|context| {
        Credentials::resolve(context)
            .expect("credentials")
            .secret()
            .expect_err("no secret")
            .into_failure()
    });
    assert_eq!(failure.exit(), 5);
    assert!(
        failure.to_string().starts_with(
            "could not read the client secret from the OS keychain (it is locked) — run \
             'ziggurat platform auth login'"
        ),
        "{failure}"
    );
}

#[test]
fn the_address_is_the_flag_or_the_profile_or_the_default() {
    let of = |flag: Option<&str>, config: &'static str, is_env: bool| {
        let fixture = Fixture {
            config,
            flags: ConnectionFlags {
                api_url: flag.map(str::to_owned),
                ..ConnectionFlags::default()
            },
            ..Fixture::default()
        };
        fixture.play(|context| address(context, is_env).map(|it| it.as_str().to_owned()))
    };
    let text = |result: Result<String, Failure>| result.expect("an address");
    assert_eq!(
        text(of(Some("http://flag/"), PROFILE, false)),
        "http://flag"
    );
    assert_eq!(text(of(None, PROFILE, false)), "http://profile:1");
    assert_eq!(text(of(None, "", false)), DEFAULT_API_URL);
    assert_eq!(
        text(of(None, PROFILE, true)),
        DEFAULT_API_URL,
        "the variables take nothing of a profile"
    );
    assert_eq!(of(Some("nonsense"), "", false).expect_err("bad").exit(), 2);
}

#[test]
fn a_secret_from_a_stream_loses_its_line_end_and_is_read_once() {
    let fixture = Fixture {
        flags: ConnectionFlags {
            client_id: Some("a".to_owned()),
            client_secret_file: Some("-".to_owned()),
            ..ConnectionFlags::default()
        },
        stdin: " spaced secret \r\n",
        ..Fixture::default()
    };
    fixture.play(|context| {
        for _ in 0..2 {
            assert_eq!(found(context).2, " spaced secret ");
        }
    });
    let fixture = Fixture {
        flags: ConnectionFlags {
            client_secret_file: Some("/nowhere/at/all".to_owned()),
            client_id: Some("a".to_owned()),
            ..ConnectionFlags::default()
        },
        ..Fixture::default()
    };
    assert_eq!(fixture.play(refused).1, 2);
}
