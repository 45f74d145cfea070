//! Tests of the keys and the variables that say how to reach a database.

use ziggurat_black_box::Postgres;

use crate::support::{Home, database, library, pipeline, question, server};

/// Returns a configuration with this section in place of the database.
fn with_section(postgres: &Postgres, section: &str) -> String {
    let list = pipeline("docs", postgres, "").replace(&database(postgres), section);
    format!("{}pipelines:\n{list}", server(""))
}

fn answers(home: &Home) {
    let (_program, client) = home.serve();
    let answer = client.post("/v1/pipelines/docs", &question("ferns"));
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(answer.body.contains("Ferns"), "{}", answer.body);
}

#[test]
fn a_service_names_the_database_and_a_program_prints_the_password() {
    let postgres = library();
    let mut home = Home::new();
    let [(_, host), (_, port), (_, name), (_, user), (_, password)] = postgres.environment();
    let service = format!("[docs]\nhost={host}\nport={port}\ndbname={name}\nuser={user}\n");
    home.write("services", &service);
    home.write("secret", &password);
    let services = home.file("services").display().to_string();
    home.set("PGSERVICEFILE", services);
    let secret = home.file("secret").display().to_string();
    let section = format!("{{service: docs, password_command: [cat, '{secret}']}}");
    home.configure(&with_section(&postgres, &section));
    answers(&home);
    let section = "{service: docs, connect_command: [/bin/sh, -c, 'exit 7']}";
    home.configure(&with_section(&postgres, section));
    let ran = home.ran(&["-doctor"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let expected = format!("connect_command of '{name}' did not connect: exit status 7");
    assert!(ran.stdout.contains(&expected), "{ran:?}");
}

#[test]
fn variables_of_libpq_describe_the_database_of_the_first_pipeline() {
    let postgres = library();
    let mut home = Home::new();
    for (name, value) in postgres.environment() {
        home.set(name, value);
    }
    home.configure(&with_section(&postgres, "{}"));
    answers(&home);
}
