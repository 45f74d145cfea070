//! Tunnels of `DBHub`, which `ssh -W` replaces.

use crate::{
    database::{Database, Reading},
    tree::Node,
    variables::{self, Filled},
};

/// Reads the keys of a tunnel, and sets the command that carries the connection.
pub(super) fn read(node: &Node, database: &mut Database, reading: &mut Reading<'_>) {
    for (key, what) in [
        ("ssh_password", "ssh_password: use a key"),
        ("ssh_passphrase", "ssh_passphrase: use an agent"),
    ] {
        if node.find(key).is_some() {
            reading.missing(what);
        }
    }
    if node.find("ssh_host").is_none() {
        return;
    }
    let mut words = |key: &str, value: &dyn Fn(String) -> Vec<String>| {
        let Some(written) = node.find_text(key) else {
            return Some(Vec::new());
        };
        match variables::fill(&written, reading.surroundings.variable) {
            // A word that begins with a dash would be an option of ssh.
            Filled::Text(text) | Filled::Default(text, _) if is_word(&text) => Some(value(text)),
            _ => {
                reading.missing(format!("{key}: write connect_command yourself"));
                None
            }
        }
    };
    let owned = |words: &[&str]| words.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
    let mut command = owned(&[
        "ssh",
        "-o",
        "BatchMode=yes",
        "-o",
        "StrictHostKeyChecking=yes",
    ]);
    let parts = [
        words("ssh_keepalive_interval", &|it| {
            owned(&["-o", &format!("ServerAliveInterval={it}")])
        }),
        words("ssh_keepalive_count_max", &|it| {
            owned(&["-o", &format!("ServerAliveCountMax={it}")])
        }),
        words("ssh_port", &|it| owned(&["-p", &it])),
        words("ssh_key", &|it| owned(&["-i", &it])),
        words("ssh_proxy_jump", &|it| owned(&["-J", &it])),
        words("ssh_user", &|it| owned(&["-l", &it])),
        Some(owned(&["-W", "{host}:{port}"])),
        words("ssh_host", &|it| vec![it]),
    ];
    // The host of a tunnel without one of its parts would be another one.
    let Some(parts) = parts.into_iter().collect::<Option<Vec<_>>>() else {
        database.lacks_host = true;
        return;
    };
    command.extend(parts.concat());
    if command.iter().any(|word| word.starts_with("~/")) {
        reading.changed("ssh_key: write the path in connect_command without ~");
    }
    reading.changed("the tunnel is connect_command: ssh has to know the key of the host");
    database.set_command(command);
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('-') && !text.contains(char::is_whitespace)
}
