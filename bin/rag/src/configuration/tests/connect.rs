//! Keys that say how to reach a database.

use std::fs;

use secrecy::ExposeSecret as _;
use ziggurat_postgres::database::{
    Settings, TargetSessionAttrs,
    parameters::{REFUSED, VARIABLES},
};

use super::Case;

const DATABASE: &str = "{host: db.example, database: docs, username: reader}";

/// Returns the settings of a database with these keys, a service file, and these variables.
fn settings(section: &str, services: &str, variables: &[(&str, &str)]) -> Settings {
    let case = Case::changed(&[(DATABASE, section)]);
    let file = case.folder.path().join("services");
    fs::write(&file, services).expect("written");
    let file = file.display().to_string();
    let usual = [("PGSERVICEFILE", &*file), ("OPENAI_API_KEY", "key")];
    let case = case.env(&[&usual, variables].concat());
    case.pipeline().database.settings().clone()
}

const READER: &str = "username: reader";

#[test]
fn a_password_comes_from_the_variable_that_the_file_names() {
    let case = Case::changed(&[(READER, "username: reader, password_env: DOCS")]);
    let case = case.env(&[
        ("DOCS", "swordfish"),
        ("PGPASSWORD", "trout"),
        ("OPENAI_API_KEY", "key"),
    ]);
    let database = case.pipeline().database;
    let mut passwords = database.passwords();
    let password = passwords.next().expect("a host");
    assert_eq!(password.expose_secret(), "swordfish");
}

#[test]
fn a_variable_that_is_not_set_and_a_second_password_are_problems() {
    for (keys, expected) in [
        (
            "password_env: DOCS",
            "database 'docs': the variable DOCS is not set",
        ),
        (
            "password: p, password_env: DOCS",
            "database 'docs': password, password_env and password_command exclude each other",
        ),
        (
            "password_command: [get]",
            "database 'docs': password_command needs sslmode require or stronger",
        ),
    ] {
        let case = Case::changed(&[(READER, &format!("username: reader, {keys}"))]);
        let error = case.error();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_service_fills_what_the_entry_leaves_out_and_comes_before_the_variables() {
    let service = "[shop]\nhost=db.shop\nport=5433\ndbname=shop\nuser=app\npassword=swordfish\n\
                   sslmode=require\nconnect_timeout=7\n";
    let variables = [
        ("PGHOST", "other"),
        ("PGUSER", "other"),
        ("PGPASSWORD", "other"),
        ("PGSSLMODE", "disable"),
        ("PGAPPNAME", "books"),
    ];
    let found = settings("{service: shop}", service, &variables);
    assert_eq!(found.all_hosts()[0].to_string(), "db.shop:5433");
    assert_eq!((&*found.database, &*found.user), ("shop", "app"));
    assert_eq!(found.ssl_mode.to_string(), "require");
    assert_eq!(found.connect_timeout.as_secs(), 7);
    assert_eq!(found.application_name, "books");
    assert!(format!("{:?}", found.password).contains("Given"));
    let entry = "{service: shop, host: own, database: docs, username: reader, ssl_mode: prefer, \
                 connect_timeout: 9s}";
    let found = settings(entry, service, &[]);
    assert_eq!(found.all_hosts()[0].to_string(), "own:5433");
    assert_eq!((&*found.database, &*found.user), ("docs", "reader"));
    assert_eq!(found.ssl_mode.to_string(), "prefer");
    assert_eq!(found.connect_timeout.as_secs(), 9);
    // A list of hosts replaces the address of the service.
    let found = settings(
        "{service: shop, hosts: [{host: a}, {host: b}]}",
        service,
        &[],
    );
    let hosts: Vec<_> = found.all_hosts().iter().map(ToString::to_string).collect();
    assert_eq!(hosts, ["a:5432", "b:5432"]);
    assert_eq!(
        found.target_session_attrs,
        TargetSessionAttrs::PreferStandby
    );
    let several = "[shop]\nhost=a,b\ntarget_session_attrs=any\ndbname=d\nuser=u\n";
    let found = settings("{service: shop}", several, &[]);
    assert_eq!(found.target_session_attrs, TargetSessionAttrs::Any);
    let found = settings("{database: d}", several, &[("PGSERVICE", "shop")]);
    assert_eq!(found.hosts.len(), 2);
}

#[test]
fn an_unknown_service_and_a_value_that_is_wrong_are_problems() {
    let error = |service: &str| {
        let case = Case::changed(&[(DATABASE, "{service: shop}")]);
        let file = case.folder.path().join("services");
        fs::write(&file, service).expect("written");
        let file = file.display().to_string();
        let case = case.env(&[("PGSERVICEFILE", &*file), ("OPENAI_API_KEY", "key")]);
        case.error()
    };
    let unknown = "pipelines[0].database.service: services: the service 'shop' is not defined";
    assert!(error("").contains(unknown), "{}", error(""));
    let wrong = error("[shop]\nhost=a\nsslmode=weak\n");
    assert!(wrong.contains("pipelines[0].database: sslmode "), "{wrong}");
    let key = error("[shop]\nhots=a\n");
    assert!(
        key.contains("services:2: the key 'hots' is not known"),
        "{key}"
    );
}

#[test]
fn variables_change_the_database_of_the_first_pipeline_alone() {
    let second = "\n- name: more\n  database: {host: two, database: d, username: u}\n  tables: \
                  [{table: t, text_column: c, vector_column: e}]\n  embedding_llm: {provider: \
                  ollama, model: m}\n  rag_llm: {provider: openai, model: m}\n";
    let models = "rag_llm: {provider: openai, model: gpt-4o-mini}\n";
    let shown = |variables: &[(&str, &str)]| {
        let section = "{hosts: []}";
        let pipelines = format!("{models}{second}");
        let case = Case::changed(&[(DATABASE, section), (models, &pipelines)]);
        let usual = [
            ("OPENAI_API_KEY", "key"),
            ("PGHOST", "one"),
            ("PGDATABASE", "d"),
            ("PGUSER", "u"),
        ];
        // The last of two values counts.
        let case = case.env(&[&usual, variables].concat());
        let pipelines = case.load().map(|loaded| loaded.value.pipelines);
        let pipelines = pipelines.map_err(|error| error.to_string())?;
        Ok::<_, String>([0, 1].map(|at| format!("{:?}", pipelines[at].database)))
    };
    let [before, second] = shown(&[]).expect("good");
    for (name, parameter) in VARIABLES {
        let value = match parameter {
            "hostaddr" => "127.0.0.9",
            "port" => "99",
            "sslmode" => "require",
            "connect_timeout" => "7",
            "target_session_attrs" => "primary",
            "ssl_min_protocol_version" => "TLSv1.3",
            "load_balance_hosts" => "random",
            // A file that is not there is an error.
            "sslrootcert" | "sslcert" | "sslkey" => {
                let error = shown(&[(name, "/no")]).expect_err(name);
                assert!(error.contains("pipelines[0].database: ssl_"), "{error}");
                continue;
            }
            _ => "other",
        };
        let [after, untouched] = shown(&[(name, value)]).expect(name);
        assert_ne!(after, before, "{name}");
        assert_eq!(untouched, second, "{name}");
    }
    for (name, value) in REFUSED {
        let error = shown(&[(name, value.unwrap_or("other"))]).expect_err(name);
        assert!(
            error.contains(&format!("{name} is not supported")),
            "{error}"
        );
    }
}
