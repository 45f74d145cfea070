use std::os::unix::fs::symlink;

use super::*;

/// Makes scripts that answer like the binaries of PostgreSQL `version`.
fn make_binaries(bin: &Path, version: &str) {
    fs::create_dir_all(bin).expect("a folder");
    script(&bin.join("initdb"), "exit 1");
    script(
        &bin.join("postgres"),
        &format!("echo 'postgres (PostgreSQL) {version}'"),
    );
}

/// Writes a script through a shell: a file that this process has open for writing cannot be
/// executed if another test forks meanwhile.
fn script(path: &Path, body: &str) {
    let status = Command::new("/bin/sh")
        .args([
            "-c",
            r#"printf '#!/bin/sh\n%s\n' "$2" >"$1" && chmod 755 "$1""#,
            "sh",
        ])
        .args([path.as_os_str(), body.as_ref()])
        .status()
        .expect("there is a shell");
    assert!(status.success(), "{}", path.display());
}

fn with_vector(extensions: &Path) {
    fs::create_dir_all(extensions).expect("a folder");
    fs::write(extensions.join("vector.control"), "").expect("written");
}

fn search<'a>(cache: &'a Path, path: Option<&'a OsStr>) -> Search<'a> {
    Search {
        named: None,
        path,
        cache,
        major: None,
    }
}

#[test]
fn versions_are_read_as_packages_write_them() {
    let cases = [
        ("postgres (PostgreSQL) 18.4", Some((18, "18.4"))),
        (
            "postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)",
            Some((15, "15.14")),
        ),
        ("postgres (PostgreSQL) 19beta1", Some((19, "19beta1"))),
        ("postgres (PostgreSQL) 9.6.24", Some((9, "9.6.24"))),
        ("postgres (PostgreSQL) devel", None),
        ("postgres (PostgreSQL) ", None),
        ("mysqld 8.0", None),
    ];
    for (text, expected) in cases {
        let version = Version::parse(text);
        let version = version.as_ref().map(|v| (v.major, v.text.as_str()));
        assert_eq!(version, expected, "{text}");
    }
}

#[test]
fn the_newest_installation_with_pgvector_is_used_and_the_others_have_reasons() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path().canonicalize().expect("exists");
    for (name, version, vector) in [
        ("13", "13.22", true),
        ("15", "15.14 (Debian)", false),
        ("16", "16.2", true),
        ("9.6", "9.6.24", true),
        ("17", "17.1", true),
    ] {
        make_binaries(&root.join(name).join("bin"), version);
        if vector {
            with_vector(&root.join(name).join("share/postgresql/extension"));
        }
    }
    fs::create_dir_all(root.join("18/bin")).expect("an empty folder is not a candidate");
    make_binaries(&root.join("half/bin"), "17.9");
    fs::remove_file(root.join("half/bin/initdb")).expect("was there");

    let pattern = format!("{}/*/bin", root.display());
    let mut tried = Tried::default();
    let found = search(&root, None)
        .installed(&[&pattern], &mut tried)
        .expect("16 and 17 will do");
    assert_eq!(found.bin, root.join("17/bin"));
    assert_eq!(found.version.to_string(), "17.1");

    let tried = tried.to_string();
    for reason in [
        "13/bin: is version 13.22, older than 14",
        "15/bin: is version 15.14 without pgvector: no vector.control in ",
        "9.6/bin: is version 9.6.24, older than 14",
        "half/bin: has no `initdb`",
    ] {
        assert!(tried.contains(reason), "{reason:?} in {tried}");
    }
    assert!(!tried.contains("18/bin"), "{tried}");
}

#[test]
fn a_data_folder_needs_the_version_that_made_it() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path().canonicalize().expect("exists");
    for major in ["16", "17"] {
        make_binaries(&root.join(major).join("bin"), major);
        with_vector(&root.join(major).join("share/extension"));
    }
    let pattern = format!("{}/*/bin", root.display());
    let mut tried = Tried::default();
    let search = Search {
        major: Some(16),
        ..search(&root, None)
    };
    let found = search
        .installed(&[&pattern], &mut tried)
        .expect("16 is there");
    assert_eq!(found.version.major, 16);
    assert!(
        tried
            .to_string()
            .contains("is version 17, and the data folder was made by 16"),
        "{tried}"
    );
}

#[test]
fn an_installation_on_the_search_path_is_found_once_through_its_links() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path().canonicalize().expect("exists");
    make_binaries(&root.join("lib/17/bin"), "17.1");
    fs::create_dir(root.join("bin")).expect("a folder");
    symlink(root.join("lib/17/bin/postgres"), root.join("bin/postgres")).expect("a link");
    let path = std::env::join_paths([root.join("bin"), root.join("gone")]).expect("plain names");
    let pattern = format!("{}/lib/*/bin", root.display());
    assert_eq!(
        candidates(Some(&path), &[&pattern, "/nowhere/*/bin"]),
        [root.join("lib/17/bin")]
    );
}

#[test]
fn extensions_are_searched_where_pg_config_says() {
    let root = tempfile::tempdir().expect("a folder");
    let (bin, shared) = (root.path().join("bin"), root.path().join("elsewhere"));
    make_binaries(&bin, "16.2");
    with_vector(&root.path().join("share/postgresql/extension"));
    script(
        &bin.join("pg_config"),
        &format!("echo {}", shared.display()),
    );

    let reason = Installation::inspect(&bin).expect_err("not where pg_config says");
    assert!(reason.contains("elsewhere/extension"), "{reason}");
    with_vector(&shared.join("extension"));
    Installation::inspect(&bin).expect("found there");
}

#[test]
fn configured_binaries_are_used_or_refused_but_never_replaced() {
    let root = tempfile::tempdir().expect("a folder");
    let bin = root.path().join("bin");
    make_binaries(&bin, "16.2");
    let search = Search {
        named: Some(&bin),
        ..search(root.path(), None)
    };
    let message = search
        .run(Tried::default())
        .expect_err("no pgvector")
        .to_string();
    for part in [
        "ZIGGURAT_PG_BIN cannot be used",
        "16.2 without pgvector",
        "ZIGGURAT_TEST_DATABASE_URL=postgres://",
    ] {
        assert!(message.contains(part), "{part:?} in {message}");
    }

    with_vector(&root.path().join("share/extension"));
    let (found, tried) = search.run(Tried::default()).expect("has it now");
    assert_eq!(found.bin, bin);
    assert!(
        tried.to_string().ends_with("chosen, version 16.2"),
        "{tried}"
    );
}

#[test]
fn a_pattern_expands_to_the_matching_folders() {
    let root = tempfile::tempdir().expect("a folder");
    for name in ["pgsql-16", "pgsql-17", "mysql-8"] {
        fs::create_dir(root.path().join(name)).expect("a folder");
    }
    let pattern = format!("{}/pgsql-*/bin", root.path().display());
    let expected = ["pgsql-16/bin", "pgsql-17/bin"].map(|name| root.path().join(name));
    assert_eq!(expand(&pattern), expected);
    assert_eq!(expand("/no/star"), [Path::new("/no/star")]);
    assert!(expand("/nowhere/at/all/*/bin").is_empty());
}
