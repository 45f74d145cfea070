use ziggurat_runtime::{Environment, config};

use super::*;

const EXAMPLE: &str = include_str!("../../ziggurat-platform.example.yaml");

fn load(yaml: &str, flags: &[&str]) -> Result<Loaded<Configuration>, LoadError> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(FILE);
    std::fs::write(&path, yaml).expect("written");
    let words = flags.iter().map(std::ffi::OsString::from);
    let arguments = crate::arguments::Arguments::parse(words).expect("good words");
    let sources = ConfigSources {
        environment: Environment::new([("STATE_DIRECTORY", "/var/lib/here")]),
        system_folder: folder.path().to_owned(),
        binary_folder: "/opt/ziggurat".into(),
    };
    Configuration::load(&arguments.flags, &sources)
}

fn loaded(yaml: &str, flags: &[&str]) -> Configuration {
    load(yaml, flags).expect("good").value
}

#[test]
fn the_example_equals_the_defaults_and_names_every_key() {
    let example = load(EXAMPLE, &[]).expect("good");
    assert!(example.warnings.is_empty(), "{:?}", example.warnings);
    let shown = format!("{:#?}", example.value);
    assert_eq!(shown, format!("{:#?}", loaded("", &[])));
    for path in config::keys_of(read::configuration) {
        let key = path.rsplit('.').next().expect("a name");
        assert!(EXAMPLE.contains(&format!("{key}:")), "{path}");
    }
}

#[test]
fn the_command_line_comes_before_the_file() {
    let yaml = "server: {address: '127.0.0.1:1', public_url: 'https://a.example/'}\n\
                data_dir: /var/a\ntokens: {lifetime: 1h}\n";
    let from_file = loaded(yaml, &[]);
    assert_eq!(from_file.server.address, "127.0.0.1:1");
    assert_eq!(
        from_file.server.public_url.as_deref(),
        Some("https://a.example")
    );
    assert_eq!(from_file.tokens.lifetime, Duration::from_hours(1));
    let flags = [
        "-addr",
        ":2",
        "-public-url",
        "https://b.example",
        "-data-dir",
        "/var/b",
        "-token-lifetime",
        "2h",
    ];
    let configuration = loaded(yaml, &flags);
    assert_eq!(configuration.server.address, "[::]:2");
    assert_eq!(configuration.data_folder, PathBuf::from("/var/b"));
    let settings = configuration.token_settings(([127, 0, 0, 1], 2).into());
    assert_eq!(settings.issuer, "https://b.example");
    assert_eq!(settings.lifetime, Duration::from_hours(2));
}

#[test]
fn a_short_token_lifetime_is_for_tests_only() {
    assert!(load("", &["-token-lifetime", "5m"]).is_err());
    assert!(load("", &["-token-lifetime", "301s"]).is_ok());
    assert!(load("", &["-token-lifetime", "721h"]).is_err());
    assert!(load("", &["-token-lifetime", "1s", "-test-hooks"]).is_ok());
}
