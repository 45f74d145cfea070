//! Tests of the precedence: command line, environment, file, default.

use std::fs;

use crate::support::{Home, Postgres, Ran, output, records};

const NOWHERE: &str = "no_such_database";

/// Returns the name of the database that a server with this configuration is connected to.
fn connected_to(home: &Home, flags: &[&str]) -> String {
    let (_program, client) = home.serve(&[&["-no-auth"], flags].concat());
    let text = client.query("SELECT current_database() AS name");
    text.lines().last().unwrap_or_default().to_owned()
}

/// Describes a database without its name.
fn nameless(postgres: &Postgres, name: Option<&str>) -> String {
    let database = format!("    database: {}\n", postgres.name());
    let name = name.map_or_else(String::new, |name| format!("    database: {name}\n"));
    let entry = postgres.entry("main").replace(&database, &name);
    format!("databases:\n{entry}")
}

#[test]
fn a_flag_overrides_a_variable_which_overrides_the_file() {
    let postgres = Postgres::new();
    let right = postgres.name();
    let mut home = Home::new();
    home.configure(&nameless(&postgres, Some(NOWHERE)));
    home.set("ZIGGURAT_DB_NAME", NOWHERE);
    home.set("PGDATABASE", NOWHERE);
    assert_eq!(connected_to(&home, &["-db-name", right]), right);

    let mut home = Home::new();
    home.configure(&nameless(&postgres, Some(NOWHERE)));
    home.set("ZIGGURAT_DB_NAME", right);
    home.set("PGDATABASE", NOWHERE);
    assert_eq!(connected_to(&home, &[]), right);
}

#[test]
fn variables_of_postgresql_fill_settings_that_were_left_out() {
    let postgres = Postgres::new();
    let right = postgres.name();
    let mut home = Home::new();
    home.configure(&nameless(&postgres, Some(right)));
    home.set("ZIGGURAT_DB_NAME", "");
    home.set("PGDATABASE", NOWHERE);
    assert_eq!(connected_to(&home, &[]), right, "the file says so");

    let mut home = Home::new();
    home.configure(&nameless(&postgres, None));
    home.set("PGDATABASE", right);
    assert_eq!(connected_to(&home, &[]), right, "the default is filled");
}

#[test]
fn a_database_without_a_file_is_called_default() {
    let postgres = Postgres::new();
    let mut home = Home::new();
    for (name, value) in postgres.environment() {
        home.set(name, value);
    }
    let (_program, client) = home.serve(&["-no-auth"]);
    let text = client.query("SELECT current_database() AS name");
    assert!(text.starts_with("Database: default\n\n"), "{text}");
    assert!(text.ends_with(postgres.name()), "{text}");
}

#[test]
fn flags_describe_a_database_if_none_is_configured() {
    let postgres = Postgres::new();
    let mut home = Home::new();
    let [host, port, name, user, (_, password)] = postgres.environment();
    home.set("ZIGGURAT_DB_PASSWORD", password);
    let mut flags = Vec::new();
    for (flag, (_, value)) in [
        ("-db-host", &host),
        ("-db-port", &port),
        ("-db-name", &name),
        ("-db-user", &user),
    ] {
        flags.extend([flag, value]);
    }
    assert_eq!(connected_to(&home, &flags), postgres.name());
}

#[test]
fn numbered_variables_describe_several_databases() {
    let (one, two) = (Postgres::new(), Postgres::new());
    let mut home = Home::new();
    for (number, postgres) in [(1, &one), (2, &two)] {
        home.set(&format!("ZIGGURAT_DB_{number}_NAME"), format!("db{number}"));
        for (name, value) in postgres.environment() {
            let name = match name {
                "PGDATABASE" => "DATABASE",
                name => &name[2..],
            };
            home.set(&format!("ZIGGURAT_DB_{number}_{name}"), value);
        }
    }
    let token = home.token("db2");
    let (_program, client) = home.serve(&[]);
    let text = client.bearing(&token).query("SELECT current_database()");
    assert!(text.starts_with("Database: db2\n\n"), "{text}");
    assert!(text.ends_with(two.name()), "{text}");
}

#[test]
fn the_address_is_looked_for_in_the_same_order() {
    // The last number of the address shows which source was used.
    let address = |last: u8| format!("127.0.0.{last}:0");
    let mut home = Home::new();
    home.configure(&format!(
        "http: {{enabled: true, address: \"{}\"}}",
        address(4)
    ));
    let start = |home: &Home, flags: &[&str]| {
        let mut command = home.command(&["-no-auth"]);
        let program = crate::support::Program::start(command.args(flags));
        program.wait_for("listening on ")
    };
    assert!(start(&home, &[]).contains("http://127.0.0.4:"), "the file");
    home.set("ZIGGURAT_HTTP_ADDRESS", address(3));
    assert!(start(&home, &[]).contains("http://127.0.0.3:"), "variable");
    let line = start(&home, &["-addr", &address(2)]);
    assert!(line.contains("http://127.0.0.2:"), "flag: {line}");
}

#[test]
fn the_limits_of_logins_are_looked_for_in_the_same_order() {
    let mut home = Home::new();
    home.replace(&home.tokens(), &records::tokens(&[]));
    let said = |home: &Home| home.serve(&[]).0.wait_for("login rate limit: ");
    assert!(said(&home).contains("10 failures per 15 minutes"));
    home.configure("http: {auth: {rate_limit_max_attempts: 7, rate_limit_window_minutes: 5}}");
    assert!(said(&home).contains("7 failures per 5 minutes"));
    home.set("ZIGGURAT_AUTH_RATE_LIMIT_MAX_ATTEMPTS", "3");
    home.set("ZIGGURAT_AUTH_RATE_LIMIT_WINDOW_MINUTES", "soon");
    let line = said(&home);
    assert!(
        line.contains("3 failures per 5 minutes"),
        "what is no number is ignored: {line}"
    );
}

#[test]
fn authentication_stays_on_unless_it_is_turned_off() {
    let mut home = Home::new();
    for yaml in ["http: {enabled: true}", "http: {enabled: true, auth: {}}"] {
        home.configure(yaml);
        let ran = home.ran(&[], "");
        assert!(ran.stderr.contains("Token file not found"), "{yaml}");
    }
    home.configure("http: {auth: {enabled: false}}");
    home.serve(&[]).0.wait_for("Authentication: DISABLED");
    home.set("ZIGGURAT_AUTH_ENABLED", "yes");
    let ran = home.ran(&["-http"], "");
    assert!(ran.stderr.contains("Token file not found"), "{ran:?}");
    home.serve(&["-no-auth"])
        .0
        .wait_for("Authentication: DISABLED");
    home.set("ZIGGURAT_AUTH_ENABLED", "off");
    let ran = home.ran(&["-http", "-no-auth=false"], "");
    assert!(ran.stderr.contains("Token file not found"), "{ran:?}");
}

#[test]
fn the_transport_is_chosen_by_a_boolean() {
    let mut home = Home::new();
    home.set("ZIGGURAT_HTTP_ENABLED", "1");
    let ran = home.ran(&[], "");
    assert!(ran.stderr.contains("Token file not found"), "{ran:?}");
    let ran = home.ran(&["-http=false"], "");
    assert!(ran.stderr.contains("Mode: STDIO"), "{ran:?}");
    home.set("ZIGGURAT_HTTP_ENABLED", "on");
    let ran = home.ran(&[], "");
    assert!(ran.stderr.contains("Mode: STDIO"), "{ran:?}");
}

#[test]
fn an_unknown_key_ends_the_start_with_every_problem_on_a_line() {
    let home = Home::new();
    home.configure("http: {adress: ':1'}\nfrobnicate: {deep: 1}\ndatabases: [{name: a}]\n");
    let path = home.file("ziggurat-tools.yaml");
    let path = path.display();
    let expected = [
        format!("unknown key 'http.adress' in {path} (did you mean 'http.address'?)"),
        format!("unknown key 'frobnicate' in {path}"),
        "database 'a': user is required (set user, or ZIGGURAT_DB_USER or -db-user for the first \
         one)"
            .to_owned(),
    ];
    let ran = home.ran(&["-http", "-no-auth"], "");
    assert_eq!((ran.code, &*ran.stdout), (Some(1), ""));
    let lines = expected
        .iter()
        .map(|line| format!("ERROR: invalid configuration: {line}\n"));
    assert_eq!(ran.stderr, lines.collect::<String>());
    let ran = home.ran(&["-check-config"], "");
    assert_eq!((ran.code, &*ran.stderr), (Some(1), ""));
    assert_eq!(ran.stdout, expected.join("\n") + "\n");
}

#[test]
fn a_check_of_the_configuration_reads_named_files_and_connects_to_nothing() {
    let home = Home::new();
    home.configure("databases: [{name: a, user: b, host: 192.0.2.1}]");
    let ran = home.ran(&["-check-config"], "");
    assert_eq!(
        (ran.code, &*ran.stdout, &*ran.stderr),
        (Some(0), "the configuration is valid\n", "")
    );
    let broken = "-----BEGIN CERTIFICATE----\nMIIB\n-----END CERTIFICATE-----\n";
    fs::write(home.file("broken.pem"), broken).expect("written");
    fs::write(home.file("custom.yaml"), "tools: [{name: 1}]").expect("written");
    let at = |name: &str| home.file(name).display().to_string();
    home.configure(&format!(
        "http:\n  enabled: true\n  auth: {{enabled: false}}\n  tls: {{enabled: true, cert_file: {0}, \
         key_file: {0}}}\ncustom_definitions_path: {1}\n",
        at("broken.pem"),
        at("custom.yaml"),
    ));
    let ran = home.ran(&["-check-config"], "");
    assert_eq!((ran.code, &*ran.stderr), (Some(1), ""));
    let lines: Vec<_> = ran.stdout.lines().collect();
    let [tls, custom] = lines[..] else {
        panic!("two problems: {lines:?}");
    };
    let expected = format!(
        "{} is not valid PEM: a line that begins like -----BEGIN …----- does not end with \
         five dashes",
        at("broken.pem")
    );
    assert_eq!(tls, expected);
    assert!(
        custom.starts_with("Failed to load custom definitions: "),
        "{custom}"
    );
}

#[test]
fn the_version_is_one_line() {
    let ran = Ran::from(Home::new().bare(&["-version"]).output().expect("built"));
    let expected = concat!("ziggurat-tools ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(
        (ran.code, &*ran.stdout, &*ran.stderr),
        (Some(0), expected, "")
    );
}

#[test]
fn files_that_are_not_named_are_next_to_the_program() {
    let home = Home::new();
    let program = home.file("bin");
    fs::create_dir(&program).expect("a folder");
    let binary = program.join("ziggurat-tools");
    let built = env!("CARGO_BIN_EXE_ziggurat-tools");
    if fs::hard_link(built, &binary).is_err() {
        fs::copy(built, &binary).expect("copied");
    }
    let run = |words: &[&str]| {
        let mut command = std::process::Command::new(&binary);
        command.args(words).env_clear().current_dir(home.path());
        Ran::from(output(&mut command))
    };
    let add = "-add-token -token-note n -token-expiry never -token-database main";
    let add: Vec<_> = add.split(' ').collect();
    let config = program.join("ziggurat-tools.yaml");
    fs::write(&config, "http: {enabled: true}\n").expect("written");
    let ran = run(&[]);
    let tokens = program.join("ziggurat-tools-tokens.yaml");
    let expected = format!("ERROR: Token file not found: {}\n", tokens.display());
    assert!(ran.stderr.contains(&expected), "{}", ran.stderr);

    fs::write(&config, "databases: [{name: main, user: reader}]\n").expect("written");
    let ran = run(&add);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(tokens.exists());
    let user = [
        "-add-user",
        "-username",
        "a",
        "-password",
        "correct horse",
        "-user-note",
        "",
    ];
    assert_eq!(run(&user).code, Some(0));
    let users = program.join("ziggurat-tools-users.yaml");
    assert!(users.exists());

    // Files of before are still read, and two of the same kind are an error.
    let data = program.join("data");
    fs::create_dir(&data).expect("made");
    let older = data.join("ziggurat-tools-users.yaml");
    fs::rename(&users, &older).expect("moved");
    let ran = run(&["-list-users"]);
    assert!(ran.stdout.contains("\na "), "{ran:?}");
    let told = format!(
        "{} is read, and belongs to {}",
        older.display(),
        users.display()
    );
    assert!(ran.stderr.contains(&told), "{ran:?}");
    fs::copy(&older, &users).expect("copied");
    let ran = run(&["-list-users"]);
    let both = format!("there are {} and {}", older.display(), users.display());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains(&both), "{ran:?}");
    let named = ["-user-file", users.to_str().expect("text"), "-list-users"];
    assert_eq!(run(&named).code, Some(0));
}
