//! Tests of the profiles of a machine.

use super::*;

const TWO: &str = "\
current_profile: staging
profiles:
  default:
    platform:
      api_url: https://api.example.com
      client_id: abc
      client_secret: hush
  staging:
    platform:
      api_url: https://staging.example.com
";

#[test]
fn profiles_are_listed_by_name_with_the_active_one() {
    let fixture = Fixture::new().with_config(TWO);
    let done = fixture.run("profile list");
    assert_eq!(
        done.stdout,
        "NAME     ACTIVE  PLATFORM URL\n\
         default  no      https://api.example.com\n\
         staging  yes     https://staging.example.com\n"
    );
    let done = fixture.run("profile list --profile default -o json");
    assert_eq!(
        done.stdout,
        "[{\"name\":\"default\",\"active\":true,\"resolved\":true,\"platform_url\":\
         \"https://api.example.com\"},{\"name\":\"staging\",\"active\":false,\"resolved\":true,\
         \"platform_url\":\"https://staging.example.com\"}]\n"
    );
    let done = fixture.run("profile list --fields name");
    assert_eq!(done.stdout, "NAME\ndefault\nstaging\n");
    let done = fixture.words(&["profile", "list", "--jq", ".[] | select(.active) | .name"]);
    assert_eq!(done.stdout, "staging\n");
}

#[test]
fn a_broken_choice_can_be_seen_and_repaired() {
    let fixture = Fixture::new().with_config("current_profile: gone\nprofiles:\n  a: {}\n");
    let done = fixture.run("profile list");
    assert_eq!(
        done.stdout,
        "NAME  ACTIVE            PLATFORM URL\n\
         a     no                http://127.0.0.1:8090\n\
         gone  yes (unresolved)  (not configured)\n"
    );
    assert_eq!(fixture.run("profile show").exit, 1);
    assert_eq!(fixture.run("profile list --profile gone").exit, 1);
    let done = fixture.run("profile use a");
    assert_eq!((done.exit, done.stdout.as_str()), (0, ""));
    assert_eq!(done.stderr, "Active profile set to \"a\".\n");
    assert_eq!(fixture.run("profile show").exit, 0);
}

#[test]
fn a_profile_is_shown_without_its_secret() {
    let fixture = Fixture::new().with_config(TWO);
    let done = fixture.run("profile show default");
    assert_eq!(
        done.stdout,
        "FIELD               VALUE\n\
         NAME                default\n\
         ACTIVE              no\n\
         PLATFORM URL        https://api.example.com\n\
         PLATFORM CLIENT ID  abc\n\
         PLATFORM SECRET     set\n"
    );
    let done = fixture.run("profile show -o json");
    assert_eq!(
        done.stdout,
        "{\"name\":\"staging\",\"active\":true,\"platform_url\":\"https://staging.example.com\",\
         \"platform_has_secret\":false}\n"
    );
    assert!(
        !fixture
            .run("profile show default -o yaml")
            .stdout
            .contains("hush")
    );
}

#[test]
fn only_what_is_there_can_be_used() {
    let fixture = Fixture::new();
    assert_eq!(fixture.run("profile use default").exit, 1);
    assert_eq!(fixture.run("profile use x").exit, 1);
    assert_eq!(fixture.run("profile use ../x").exit, 2);
    assert!(!fixture.config().exists());
    let fixture = fixture.with_config(TWO);
    let done = fixture.run("profile use default -o json");
    assert_eq!(done.stdout, "{\"name\":\"default\",\"active\":true}\n");
}

#[test]
fn a_profile_is_deleted_after_a_yes_with_everything_of_it() {
    let fixture = Fixture::new().with_config(TWO);
    assert_eq!(fixture.run("profile delete staging").exit, 2);
    let cache = fixture.home().join(".ziggurat/cache");
    fs::create_dir_all(&cache).expect("a folder");
    fs::write(cache.join("staging-platform.json"), "{}").expect("a file");
    let fixture = fixture.typing("yes\n");
    let done = fixture.run("profile delete staging");
    assert_eq!(done.exit, 0, "{}", done.stderr);
    assert!(!cache.join("staging-platform.json").exists());
    let text = fs::read_to_string(fixture.config()).expect("a file");
    assert!(!text.contains("staging"), "{text}");
    assert_eq!(fixture.run("profile delete absent --force").exit, 1);
}

#[test]
fn a_secret_that_others_can_read_is_warned_of() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::new().with_config(TWO);
    fs::set_permissions(fixture.config(), fs::Permissions::from_mode(0o644)).expect("a mode");
    let done = fixture.run("profile list");
    assert!(done.stderr.starts_with("Warning: "), "{}", done.stderr);
    assert_eq!(done.exit, 0);
}
