use std::ffi::OsString;

use super::*;
use crate::flags::{Flag, Words, parse};

const FLAGS: &[Flag] = &[Flag::text("size", "N", "the size")];

/// Reads a file, variables and a command line; problems are in the error.
fn load<T>(
    file: &str,
    variables: &[(&str, &str)],
    words: &[&str],
    read: impl Fn(&Section<'_>) -> T,
) -> Result<Loaded<T>, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.yaml");
    std::fs::write(&path, file).expect("written");
    let sources = ConfigSources {
        environment: Environment::new(variables.iter().copied()),
        ..ConfigSources::default()
    };
    let words = words.iter().map(OsString::from);
    let (flags, _) = parse(words, &[FLAGS], Words::Last).expect("flags");
    let loaded = Input::new(&sources, &flags).load(Some(&path), read);
    loaded.map_err(|error| match error {
        LoadError::File { source, .. } => source.to_string(),
        LoadError::Invalid(problems) => problems.join("; "),
    })
}

#[test]
fn each_value_has_the_place_that_it_comes_from() {
    let read = |file: &Section<'_>| {
        let size = file.key("size").var("SIZE").flag("size").whole(1_u16..=9);
        let parts = file.key("parts").list().unwrap_or_default();
        let names: Vec<_> = parts
            .into_iter()
            .map(|part| part.into_section().key("name").text())
            .collect();
        file.took("given", Source::Environment);
        (size, names)
    };
    let source = |file, variables: &[_], words: &[_], key: &str| {
        load(file, variables, words, read)
            .expect("good")
            .sources
            .of(key)
    };
    let (none, two) = ([], [("SIZE", "2")]);
    assert_eq!(source("parts: []", &none, &[], "size"), Source::Default);
    assert_eq!(source("size: 1", &none, &[], "size"), Source::File);
    assert_eq!(source("size: 1", &two, &[], "size"), Source::Environment);
    assert_eq!(
        source("size: 1", &two, &["-size", "3"], "size"),
        Source::Flag
    );
    assert_eq!(source("size: 1", &none, &[], "given"), Source::Environment);
    let parts = "parts: [{name: a}, {}]";
    assert_eq!(source(parts, &none, &[], "parts[0].name"), Source::File);
    assert_eq!(source(parts, &none, &[], "parts[1].name"), Source::Default);
}

#[test]
fn a_flag_comes_before_a_variable_and_that_before_the_file() {
    let size = |file: &Section<'_>| file.key("size").var("SIZE").flag("size").whole(1_u16..=9);
    let of = |file, variables: &[_], words: &[_]| {
        let loaded = load(file, variables, words, size);
        loaded.map(|loaded| (loaded.value, loaded.warnings.len()))
    };
    let (two, empty) = ([("SIZE", "2")], [("SIZE", "")]);
    assert_eq!(of("", &[], &[]), Ok((None, 0)));
    assert_eq!(of("size: 1", &empty, &[]), Ok((Some(1), 0)));
    assert_eq!(of("size: 1", &two, &[]), Ok((Some(2), 0)));
    assert_eq!(of("size: 1", &two, &["-size", "3"]), Ok((Some(3), 0)));
    // An invalid variable is ignored with a warning.
    assert_eq!(of("size: 1", &[("SIZE", "big")], &[]), Ok((Some(1), 1)));
    let range = "size: must be between 1 and 9".to_owned();
    assert_eq!(of("size: 10", &[], &[]), Err(range.clone()));
    assert_eq!(of("size: 1", &[("SIZE", "0")], &[]), Err(range));
    let kind = "size: must be a whole number from 0 to 65535".to_owned();
    assert_eq!(of("size: 65536", &[], &[]), Err(kind.clone()));
    assert_eq!(of("size: much", &[], &[]), Err(kind));
}

#[test]
fn a_relative_path_of_the_file_starts_at_its_folder_and_others_at_the_working_directory() {
    let of = |file, variables: &[_], words: &[_]| {
        let loaded = load(file, variables, words, |file| {
            let key = file.key("size").var("SIZE").flag("size");
            key.resolved_path()
        });
        let loaded = loaded.expect("good");
        let folder = loaded.path.parent().expect("a folder").to_owned();
        (loaded.value, folder)
    };
    let (path, folder) = of("size: own/a", &[], &[]);
    assert_eq!(path, Some(folder.join("own/a")));
    for (file, variables, words, expected) in [
        ("size: /own/a", &[][..], &[][..], Some("/own/a")),
        (
            "size: ~/a",
            &[("HOME", "/home/me")],
            &[],
            Some("/home/me/a"),
        ),
        ("size: own/a", &[("SIZE", "b")], &[], Some("b")),
        ("size: own/a", &[("SIZE", "b")], &["-size", "c"], Some("c")),
        ("size: ''", &[], &[], None),
        ("", &[], &[], None),
    ] {
        let (path, _) = of(file, variables, words);
        assert_eq!(
            path.as_deref(),
            expected.map(Path::new),
            "{file} {variables:?}"
        );
    }
}

#[test]
fn a_few_words_of_a_variable_are_yes_and_all_others_no() {
    for (text, expected) in [
        ("true", Some(true)),
        ("TRUE", Some(true)),
        ("1", Some(true)),
        ("yes", Some(true)),
        ("false", Some(false)),
        ("on", Some(false)),
        ("0", Some(false)),
        (" ", Some(false)),
        ("", None),
    ] {
        let found = load("", &[("X", text)], &[], |file| {
            file.key("x").var("X").boolean()
        });
        assert_eq!(found.expect("good").value, expected, "{text:?}");
    }
}

#[test]
fn a_mistyped_variable_is_a_warning_and_variables_of_other_programs_are_not() {
    let variables = [
        ("ZIGGURAT_HTTP_ADRESS", ":1"),
        ("ZIGGURAT_PG_BIN", "/usr/bin"),
        ("HTTP_ADRESS", ":1"),
    ];
    let found = load("", &variables, &[], |file| {
        let _ = file.key("address").var("ZIGGURAT_HTTP_ADDRESS").text();
        file.warn_of_variables("ZIGGURAT_");
    });
    assert_eq!(
        found.expect("good").warnings,
        ["unknown variable ZIGGURAT_HTTP_ADRESS (did you mean ZIGGURAT_HTTP_ADDRESS?)"]
    );
}

#[test]
fn numbered_variables_are_found_in_numerical_order() {
    let variables = [
        ("X_10_NAME", "ten"),
        ("X_2_NAME", "two"),
        ("X_02_NAME", "not as we write it"),
        ("X_NAME", "no number"),
        ("X_3", "no field"),
    ];
    let found = load("", &variables, &[], |file| file.numbers("X_"));
    let numbers = found.expect("good").value;
    assert_eq!(numbers.into_iter().collect::<Vec<_>>(), [2, 10]);
}

#[test]
fn debug_output_hides_values() {
    let found = load("key: swordfish", &[("KEY", "trout")], &[], |file| {
        let key = file.key("key");
        format!("{file:?} {key:?} {:?}", key.clone().var("KEY"))
    });
    let shown = found.expect("good").value;
    assert!(
        !shown.contains("swordfish") && !shown.contains("trout"),
        "{shown}"
    );
}

#[test]
fn the_keys_are_those_that_are_read() {
    let keys = keys_of(|file| {
        let leaves = file.key("leaves").list().unwrap_or_default();
        for leaf in leaves.into_iter().map(Value::into_section) {
            let _ = (leaf.key("length").text(), leaf.texts("words"));
        }
        file.key("colour").text()
    });
    assert_eq!(
        keys,
        ["colour", "leaves", "leaves[].length", "leaves[].words"]
    );
}
