use std::fs;

use super::*;
use crate::environment::Environment;

fn home() -> (tempfile::TempDir, Environment) {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().to_str().expect("UTF-8").to_owned();
    let environment = Environment::new([("HOME".to_owned(), home)]);
    (folder, environment)
}

fn written(text: &str) -> (tempfile::TempDir, Environment, PathBuf) {
    let (folder, environment) = home();
    let path = folder.path().join(".ziggurat/config.yaml");
    fs::create_dir(folder.path().join(".ziggurat")).expect("a folder");
    fs::write(&path, text).expect("a file");
    (folder, environment, path)
}

fn profile(api_url: &str, client_id: Option<&str>) -> Profile {
    Profile {
        api_url: Some(api_url.to_owned()),
        client_id: client_id.map(str::to_owned),
        ..Profile::default()
    }
}

const EXAMPLE: &str = "\
# Mine.
current_profile: staging # for now
output:
    format: json

profiles:
    # The one for every day.
    default:
        platform:
            api_url: https://api.example.com  # near
            client_id: abcdefghijklmnopqrstuvwxyz012345
        other_module: {kept: [1, 2]}

    staging:
        platform:
            api_url: 'https://staging.example.com'
            client_id: zyxwvutsrqponmlkjihgfedcba543210
            client_secret: only-with-insecure-storage
future: yes
";

#[test]
fn a_home_without_a_file_is_an_empty_configuration() {
    let (folder, environment) = home();
    let config = Config::load(&environment, None, false).expect("fine");
    assert_eq!(
        config.path(),
        folder.path().join(".ziggurat/config.yaml").as_path()
    );
    assert_eq!(config.current(), None);
    assert_eq!(config.profile_names().count(), 0);
    assert_eq!(config.cache_folder(), folder.path().join(".ziggurat/cache"));
}

#[test]
fn every_member_is_read() {
    let (_folder, environment, _) = written(EXAMPLE);
    let config = Config::load(&environment, None, false).expect("fine");
    assert_eq!(config.current(), Some("staging"));
    assert_eq!(config.output(), Some("json"));
    assert!(config.allows_keychain());
    assert_eq!(
        config.profile_names().collect::<Vec<_>>(),
        ["default", "staging"]
    );
    let staging = config.profile("staging").expect("it is there");
    assert_eq!(
        staging.client_secret.as_ref().map(Secret::expose),
        Some("only-with-insecure-storage")
    );
    assert_eq!(config.profile("absent"), None);
}

#[test]
fn a_file_that_was_named_must_be_there_unless_a_login_creates_it() {
    let (folder, environment) = home();
    let path = folder.path().join("mine.yaml");
    let path = path.to_str().expect("UTF-8");
    let failure = Config::load(&environment, Some(path), false).expect_err("absent");
    assert_eq!(failure.exit(), 1);
    assert_eq!(
        failure.to_string(),
        format!(
            "config: {path} does not exist (check the path, create the file and any parent \
             directory, or omit --config to use the default)"
        )
    );
    let config = Config::load(&environment, Some(path), true).expect("may be created");
    config
        .update_profile("default", &profile("http://127.0.0.1:8090", None))
        .expect("saved");
    let read = Config::load(&environment, Some(path), false).expect("fine");
    assert!(read.profile("default").is_some());
}

#[test]
fn a_broken_file_is_refused_without_a_word_of_its_content() {
    for (text, reason) in [
        ("a: [hush", "not valid YAML at line 2, column 1"),
        (
            "- hush",
            "the document must be a mapping of keys and values",
        ),
        (
            "profiles: hush",
            "profiles must be a mapping of keys and values",
        ),
        (
            "profiles: {default: hush}",
            "profiles.default must be a mapping of keys and values",
        ),
        (
            "profiles: {default: {platform: {client_secret: [hush]}}}",
            "profiles.default.platform.client_secret must be text",
        ),
        ("current_profile: {hush: 1}", "current_profile must be text"),
        (
            "output: hush",
            "output must be a mapping of keys and values",
        ),
        ("keychain: hush", "keychain must be true or false"),
    ] {
        let (_folder, environment, path) = written(text);
        let failure = Config::load(&environment, None, false).expect_err("broken");
        assert_eq!(
            failure.to_string(),
            format!("config: parse {}: {reason}", path.display())
        );
        assert!(!failure.to_string().contains("hush"), "{failure}");
        assert_eq!(failure.exit(), 1);
    }
}

#[test]
fn a_folder_is_no_file() {
    let (folder, environment) = home();
    fs::create_dir_all(folder.path().join(".ziggurat/config.yaml")).expect("a folder");
    let failure = Config::load(&environment, None, false).expect_err("a folder");
    assert!(failure.to_string().ends_with("is a directory"), "{failure}");
}

#[test]
fn an_edit_keeps_comments_order_and_what_it_does_not_know() {
    let (_folder, environment, path) = written(EXAMPLE);
    let config = Config::load(&environment, None, false).expect("fine");
    config
        .update_profile(
            "default",
            &profile("https://other.example.com", Some("abc")),
        )
        .expect("saved");
    config
        .update_profile("staging", &profile("https://staging.example.com", None))
        .expect("saved");
    config
        .update_profile("new", &profile("https://new.example.com", Some("42")))
        .expect("saved");
    config.use_profile("new").expect("saved");
    assert_eq!(
        fs::read_to_string(path).expect("a file"),
        "\
# Mine.
current_profile: new # for now
output:
    format: json

profiles:
    # The one for every day.
    default:
        platform:
            api_url: https://other.example.com  # near
            client_id: abc
        other_module: {kept: [1, 2]}

    staging:
        platform:
            api_url: 'https://staging.example.com'
    new:
      platform:
        api_url: https://new.example.com
        client_id: \"42\"
future: yes
"
    );
}

#[test]
fn a_profile_that_is_deleted_leaves_the_rest() {
    let (_folder, environment, path) = written(EXAMPLE);
    let config = Config::load(&environment, None, false).expect("fine");
    config.delete_profile("staging").expect("saved");
    let text = fs::read_to_string(path).expect("a file");
    assert!(!text.contains("staging"), "{text}");
    assert!(text.contains("# The one for every day."), "{text}");
    assert!(text.contains("future: yes"), "{text}");
}

#[test]
fn layouts_the_editor_does_not_know_keep_their_content() {
    for text in [
        "{profiles: {default: {platform: {api_url: 'https://a'}}}, other: 1}",
        "profiles: {default: {platform: {api_url: 'https://a'}}}\nother: 1\n",
        "profiles: &p\n  default:\n    platform: {api_url: 'https://a'}\nother: 1\ncopy: *p\n",
        "  profiles:\n    default:\n      platform: {}\n  other: 1\n",
        "? profiles\n: default: {}\nother: 1\n",
        "\"profiles\":\n  'default':\n    platform:\n      api_url: |\n        https://a\nother: 1\n",
        "---\nprofiles:\nother: 1\n",
        "other: 1",
    ] {
        let (_folder, environment, path) = written(text);
        let config = Config::load(&environment, None, false).expect("fine");
        config
            .update_profile("default", &profile("https://b", Some("c")))
            .expect("saved");
        let written = fs::read_to_string(path).expect("a file");
        let read = Config::load(&environment, None, false).expect("still fine");
        assert_eq!(
            read.profile("default"),
            Some(profile("https://b", Some("c"))),
            "{text}\nbecame\n{written}"
        );
        let value: serde_yaml::Value = serde_yaml::from_str(&written).expect("YAML");
        assert_eq!(value["other"], 1, "{text}\nbecame\n{written}");
    }
}

#[test]
fn a_logout_of_the_only_profile_leaves_an_empty_section() {
    let (_folder, environment, path) =
        written("profiles:\n  default:\n    platform:\n      client_id: a\n");
    let config = Config::load(&environment, None, false).expect("fine");
    config
        .update_profile("default", &Profile::default())
        .expect("saved");
    assert_eq!(
        fs::read_to_string(path).expect("a file"),
        "profiles:\n  default:\n    platform: {}\n"
    );
}

#[test]
fn a_save_makes_file_and_folder_private_and_leaves_nothing_behind() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, environment, path) = written(EXAMPLE);
    let own = folder.path().join(".ziggurat");
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).expect("a mode");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("a mode");
    let config = Config::load(&environment, None, false).expect("fine");
    assert!(
        config
            .warning()
            .is_some_and(|text| text.contains("chmod 600"))
    );
    config.use_profile("default").expect("saved");
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&own), 0o700);
    let config = Config::load(&environment, None, false).expect("fine");
    assert_eq!(config.warning(), None);
    let names: Vec<_> = fs::read_dir(own)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert!(
        names
            .iter()
            .all(|name| !name.to_string_lossy().contains("tmp")),
        "{names:?}"
    );
}

#[test]
fn a_linked_file_stays_a_link() {
    let (folder, environment, path) = written("");
    let target = folder.path().join("dotfiles.yaml");
    fs::write(&target, "# mine\n").expect("a file");
    fs::remove_file(&path).expect("removed");
    std::os::unix::fs::symlink(&target, &path).expect("a link");
    let config = Config::load(&environment, None, false).expect("fine");
    config.use_profile("default").expect("saved");
    assert!(fs::symlink_metadata(&path).expect("there").is_symlink());
    assert_eq!(
        fs::read_to_string(target).expect("a file"),
        "# mine\ncurrent_profile: default\n"
    );
}

#[test]
fn many_commands_at_once_lose_nothing() {
    let (_folder, environment) = home();
    std::thread::scope(|scope| {
        for number in 0..16 {
            let environment = &environment;
            scope.spawn(move || {
                let config = Config::load(environment, None, false).expect("fine");
                config
                    .update_profile(&format!("p{number}"), &profile("https://a", None))
                    .expect("saved");
            });
        }
    });
    let config = Config::load(&environment, None, false).expect("fine");
    assert_eq!(config.profile_names().count(), 16);
}

#[test]
fn xdg_folders_are_used_when_the_own_one_is_not_there() {
    let (folder, _) = home();
    let root = folder.path().to_str().expect("UTF-8").to_owned();
    let environment = Environment::new([
        ("HOME".to_owned(), root.clone()),
        ("XDG_CONFIG_HOME".to_owned(), format!("{root}/conf")),
    ]);
    let config = Config::load(&environment, None, false).expect("fine");
    assert_eq!(
        config.path(),
        folder.path().join("conf/ziggurat/config.yaml").as_path()
    );
    assert_eq!(config.cache_folder(), folder.path().join(".cache/ziggurat"));
    fs::create_dir(folder.path().join(".ziggurat")).expect("a folder");
    let config = Config::load(&environment, None, false).expect("fine");
    assert_eq!(
        config.path(),
        folder.path().join(".ziggurat/config.yaml").as_path()
    );
}

#[test]
fn names_that_could_leave_their_folder_are_refused() {
    for name in [
        "",
        ".",
        "..",
        "a/b",
        "a\\b",
        "-x",
        ".x",
        "a b",
        "é",
        &"x".repeat(65),
    ] {
        let failure = check_name(name).expect_err("refused");
        assert_eq!(failure.exit(), 2, "{name:?}");
    }
    for name in ["default", "a.b-c_D9", &"x".repeat(64)] {
        assert!(check_name(name).is_ok(), "{name:?}");
    }
}
