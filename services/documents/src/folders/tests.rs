use std::{io::Read as _, os::unix::fs::symlink, process::Command};

use tempfile::TempDir;

use super::*;

/// Returns a folder with a document in a folder, and a secret beside it.
fn folder() -> (TempDir, PathBuf) {
    let home = TempDir::new().expect("a folder");
    let docs = home.path().join("docs");
    fs::create_dir_all(docs.join("inner")).expect("folders");
    fs::create_dir(home.path().join("outer")).expect("a folder");
    fs::write(docs.join("inner/a.md"), "inside").expect("written");
    fs::write(home.path().join("outer/a.md"), "secret").expect("written");
    (home, docs)
}

fn found(docs: &Path) -> Source {
    let found = FoundDocuments::search(&[docs.to_owned()], Roots::Any).expect("found");
    found.sources.into_iter().next().expect("a document")
}

#[test]
fn a_link_that_takes_the_place_of_a_file_or_a_folder_is_not_followed() {
    let (home, docs) = folder();
    let source = found(&docs);
    let mut text = String::new();
    let mut file = source.open().expect("opened");
    file.read_to_string(&mut text).expect("read");
    assert_eq!(text, "inside");

    fs::remove_file(docs.join("inner/a.md")).expect("removed");
    symlink(home.path().join("outer/a.md"), docs.join("inner/a.md")).expect("linked");
    source.open().expect_err("a link to a file");

    fs::remove_dir_all(docs.join("inner")).expect("removed");
    symlink(home.path().join("outer"), docs.join("inner")).expect("linked");
    source.open().expect_err("a link to a folder");

    let moved = home.path().join("moved");
    fs::rename(&docs, &moved).expect("renamed");
    fs::remove_file(moved.join("inner")).expect("removed");
    fs::create_dir(moved.join("inner")).expect("a folder");
    fs::write(moved.join("inner/a.md"), "inside").expect("written");
    symlink(home.path().join("outer"), &docs).expect("linked");
    source
        .open()
        .expect("the folder that was searched is still the one that is read");
}

#[test]
fn what_is_no_file_any_more_is_refused_at_once() {
    let (_home, docs) = folder();
    let source = found(&docs);
    fs::remove_file(docs.join("inner/a.md")).expect("removed");
    let made = Command::new("mkfifo").arg(docs.join("inner/a.md")).status();
    assert!(made.expect("started").success());
    let error = source.open().expect_err("a pipe");
    assert_eq!(error.to_string(), "it is not a file any more");
}

#[test]
fn a_file_that_is_named_itself_is_opened_too() {
    let (_home, docs) = folder();
    let source = found(&docs.join("inner/a.md"));
    assert_eq!((&*source.name, &*source.root.name), ("a.md", "a.md"));
    source.open().expect("opened");
}
