//! Tests of people who sign in.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, Stdio},
};

use ziggurat_black_box::{Answer, Browser, Client, OAuthClient, output_of};

use crate::support::{Done, Machine, Platform};

const MANUAL: &str = include_str!("../../../../docs/src/cli.md");

const EMAIL: &str = "ann@shop.example";

const PASSWORD: &str = "correct horse battery";

/// A login that waits for a person.
struct Login {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
}

// === impl Login ===

impl Login {
    fn begin(platform: &Platform, machine: &Machine, line: &str) -> Self {
        let line = format!("{line} --api-url {}", platform.url());
        let mut command = machine.command(&line);
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        Self { child, stderr }
    }

    /// Returns the line with this text.
    fn line(&mut self, text: &str) -> String {
        let lines = self.stderr.by_ref().lines().map_while(Result::ok);
        let mut seen = Vec::new();
        for line in lines {
            if line.contains(text) {
                return line;
            }
            seen.push(line);
        }
        panic!("{text} in {seen:?}");
    }

    fn ended(mut self) -> Done {
        let rest = self.stderr.by_ref().lines().map_while(Result::ok);
        let stderr = rest.map(|line| line + "\n").collect();
        let output = output_of(self.child);
        Done {
            exit: output.status.code().expect("it ended by itself"),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr,
        }
    }
}

/// Returns the path and the query of an address.
fn path(url: &str) -> &str {
    let (_, rest) = url.split_once("://").expect("a scheme");
    &rest[rest.find('/').expect("a path")..]
}

/// A platform at which one member has a password.
fn platform(test: &str) -> (Platform, Client) {
    let platform = Platform::with_people(test);
    let client = Client::new(platform.url().trim_start_matches("http://").to_owned());
    let made = platform.administer(&["user", "create", "-email", EMAIL]);
    let browser = Browser::new(&client);
    let page = browser.open(path(made["reset_url"].as_str().expect("an address")));
    let done = browser.submit(&page, "/oauth/reset", &[("password", PASSWORD)]);
    assert_eq!(done.status, 200, "{done:?}");
    (platform, client)
}

/// Decides on the page of a login, and follows its link back.
fn decide(client: &Client, address: &str, decision: &str) -> Answer {
    let browser = Browser::new(client);
    let page = browser.sign_in(path(address), EMAIL, PASSWORD);
    let end = browser.submit(&page, "/oauth/consent", &[("decision", decision)]);
    let link = end.body.split("<a href=\"").nth(1).expect("a link");
    let link = link
        .split('"')
        .next()
        .expect("its end")
        .replace("&amp;", "&");
    let (_, rest) = link.split_once("://").expect("a scheme");
    let (host, _) = rest.split_once('/').expect("a path");
    let back = Client::new(host.to_owned());
    assert_eq!(back.get("/other?state=x").status, 404);
    let stranger = back.get("/callback?code=zac_x&state=guessed");
    assert_eq!(stranger.status, 404, "the state is of another sign-in");
    back.get(path(&link))
}

/// Returns the command of the manual that begins with these words.
fn told(words: &str) -> &'static str {
    let mut commands = MANUAL
        .lines()
        .filter_map(|line| line.strip_prefix("$ ziggurat "));
    let told = commands.find(|command| command.starts_with(words));
    told.expect("the manual has it")
}

fn signed_in(platform: &Platform, client: &Client) -> Machine {
    let machine = Machine::new();
    let mut login = Login::begin(platform, &machine, told("platform auth login --browser"));
    let address = login.line("/oauth/authorize");
    let page = decide(client, &address, "allow");
    assert!(page.body.contains("You are signed in."), "{page:?}");
    let done = login.ended();
    assert_eq!(done.exit, 0, "{}", done.stderr);
    machine
}

#[test]
fn a_person_signs_in_with_a_browser_and_out_again() {
    let (platform, client) = platform("person_browser");
    let machine = signed_in(&platform, &client);
    let config = fs::read_to_string(machine.home().join(".ziggurat/config.yaml"));
    let config = config.expect("written");
    assert!(config.contains("auth: person"), "{config}");
    assert!(config.contains("client_secret: zrt_"), "{config}");
    let status = machine.json("platform auth status");
    assert_eq!(status["auth"], "person");
    assert_eq!(status["token_valid"], true);
    let me = machine.json(told("platform auth whoami"));
    assert_eq!(me["user_email"], EMAIL);
    assert_eq!(me["tenant_id"], platform.made("tenant_id"));

    let invited = machine.json(told("platform invite create"));
    let token = invited["token"].as_str().expect("a token");
    let id = invited["id"].as_str().expect("an id");
    let page = machine.done(&format!("platform invite accept {id} --token {token}"));
    assert_eq!(page.trim_end(), invited["accept_url"]);

    let refresh = config
        .split("client_secret: ")
        .nth(1)
        .and_then(|it| it.lines().next());
    let refresh = refresh.expect("a token").to_owned();
    machine.done("platform auth logout");
    assert_eq!(machine.run("platform auth whoami").exit, 5);
    let line = OAuthClient::of(&client, "ziggurat-cli");
    let refused = line.refresh(&refresh).json();
    assert_eq!(refused["error"], "invalid_grant", "the grant has ended");
}

#[test]
fn commands_at_the_same_time_use_a_refresh_token_once() {
    let (platform, client) = platform("person_refresh");
    let machine = signed_in(&platform, &client);
    let cache = machine.home().join(".ziggurat");
    let forget = || {
        for file in files(&cache) {
            if file.to_string_lossy().ends_with("default-platform.json") {
                fs::remove_file(file).expect("removed");
            }
        }
    };
    for _ in 0..3 {
        forget();
        std::thread::scope(|scope| {
            let runs: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| machine.run("platform auth whoami")))
                .collect();
            for run in runs {
                let done = run.join().expect("it ends");
                assert_eq!(done.exit, 0, "{}", done.stderr);
            }
        });
    }
    forget();
    let shown = machine.run("platform auth whoami --debug");
    assert!(shown.stderr.contains("refresh_token"), "{}", shown.stderr);
    for secret in ["zrt_", "eyJ"] {
        assert!(!shown.stderr.contains(secret), "{}", shown.stderr);
    }
    let grants = machine.done("platform api GET /account/v1/grants");
    let grants: serde_json::Value = serde_json::from_str(&grants).expect("JSON");
    let id = grants[0]["id"].as_str().expect("an id");
    machine.done(&format!("platform api DELETE /account/v1/grants/{id}"));
    for _ in 0..2 {
        let refused = machine.run("platform auth whoami");
        assert_eq!(refused.exit, 5);
        let said = "sign in again with 'ziggurat platform auth login --browser'";
        assert!(refused.stderr.contains(said), "{}", refused.stderr);
        forget();
    }
}

fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let found = entries.flat_map(|entry| {
        let path = entry.path();
        if path.is_dir() {
            files(&path)
        } else {
            vec![path]
        }
    });
    found.collect()
}

#[test]
fn a_person_who_denies_is_not_signed_in() {
    let (platform, client) = platform("person_denied");
    let machine = Machine::new();
    let mut login = Login::begin(&platform, &machine, told("platform auth login --browser"));
    let address = login.line("/oauth/authorize");
    decide(&client, &address, "deny");
    let done = login.ended();
    assert_eq!((done.exit, done.stdout.as_str()), (5, ""));
    assert!(
        done.stderr.contains("refused on the page"),
        "{}",
        done.stderr
    );
    assert_eq!(machine.run("platform auth status").exit, 5);
}

#[test]
fn a_person_signs_in_with_a_code_on_another_device() {
    let (platform, client) = platform("person_device");
    let machine = Machine::new();
    let mut login = Login::begin(&platform, &machine, "platform auth login --device");
    let line = login.line("type this code");
    let code = line.rsplit(' ').next().expect("a code").to_owned();
    let browser = Browser::new(&client);
    let page = browser.open("/oauth/device");
    let page = browser.submit(&page, "/oauth/device", &[("user_code", &code)]);
    let fields = [("name", EMAIL), ("password", PASSWORD)];
    let page = browser.submit(&page, "/oauth/login", &fields);
    let end = browser.submit(&page, "/oauth/consent", &[("decision", "allow")]);
    assert!(end.body.contains("The device can go on."), "{end:?}");
    let done = login.ended();
    assert_eq!(done.exit, 0, "{}", done.stderr);
    assert_eq!(machine.json("platform auth whoami")["user_email"], EMAIL);
}

#[test]
fn a_sign_in_that_cannot_begin_says_why() {
    let without = Platform::of("person_off");
    let url = without.url();
    let machine = Machine::new();
    for (line, exit, said) in [
        (
            "--browser --client-id a --client-secret b",
            2,
            "--browser signs a person in",
        ),
        (
            "--device --client-id a --client-secret b",
            2,
            "--device signs a person in",
        ),
        ("--browser --device", 2, "exclude each other"),
        ("--browser", 1, "people do not sign in at"),
    ] {
        let done = machine.run(&format!("platform auth login --api-url {url} {line}"));
        assert_eq!(done.exit, exit, "{line}: {}", done.stderr);
        assert!(done.stderr.contains(said), "{line}: {}", done.stderr);
    }
    // Another name of the same service: its pages could belong to another one.
    let (platform, _) = platform("person_name");
    let other = platform.url().replace("127.0.0.1", "localhost");
    let done = machine.run(&format!("platform auth login --browser --api-url {other}"));
    assert_eq!(done.exit, 1);
    assert!(done.stderr.contains("calls itself"), "{}", done.stderr);
}
