//! Tests of memberships and invites.

use crate::support::Platform;

#[test]
fn the_owner_is_listed_and_cannot_be_removed() {
    let platform = Platform::of("members");
    let machine = platform.machine();
    let id = platform.made("membership_id");
    let members = machine.json("platform membership list");
    assert_eq!(members[0]["id"], id);
    assert_eq!(members[0]["is_owner"], true);
    let table = machine.done("platform membership list --fields id,is_owner");
    assert_eq!(
        table,
        format!("ID                                    OWNER\n{id}  yes\n")
    );
    let refused = machine.run(&format!("platform membership delete {id} --force"));
    assert_eq!((refused.exit, refused.stdout.as_str()), (1, ""));
    assert!(refused.stderr.contains("owner"), "{}", refused.stderr);
}

#[test]
fn an_invite_of_the_administrator_is_listed_shown_and_withdrawn() {
    let platform = Platform::of("invites");
    let machine = platform.machine();
    let empty = machine.run("platform invite list");
    assert_eq!((empty.exit, empty.stdout.as_str()), (0, ""));
    assert_eq!(empty.stderr, "No invites found.\n");

    let made = platform.administer(&["invite", "create", "-email", "ada@example.com"]);
    let id = made["id"].as_str().expect("an id");
    let emails = machine.done("platform invite list --jq .[].email");
    assert_eq!(emails, "ada@example.com\n");
    let shown = machine.json(&format!("platform invite get {id}"));
    assert_eq!(shown["id"], id);

    let tried = machine.json(&format!("platform invite delete {id} --dry-run"));
    assert_eq!(tried["request"]["method"], "DELETE");
    assert_eq!(machine.json("platform invite list")[0]["id"], id);
    machine.done(&format!("platform invite delete {id} --force"));
    assert_eq!(machine.json("platform invite list"), serde_json::json!([]));
    assert_eq!(machine.run(&format!("platform invite get {id}")).exit, 4);
}
