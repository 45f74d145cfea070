//! Tests of network faults, one at a time, between the program and a working server.

use crate::{
    server::{Reply, Server},
    support::{User, ends, fails, silence},
};

const ID: &str = "6a8a4b3e-0000-4000-8000-000000000001";

/// Starts a platform that issues tokens, and answers all other requests like this.
fn broken(reply: Reply) -> (Server, User) {
    let server = Server::platform(move |_| reply.clone());
    let user = User::of(&server);
    (server, user)
}

fn bytes(text: &str) -> Reply {
    Reply::Bytes(text.as_bytes().to_vec())
}

#[test]
fn an_answer_that_breaks_off_is_exit_1_whatever_it_breaks_off_in() {
    for (what, reply) in [
        ("nothing", Reply::Close),
        ("the status line", bytes("HTTP/1.")),
        ("the headers", bytes("HTTP/1.1 200 OK\r\nContent-Len")),
        (
            "the body",
            bytes("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n["),
        ),
        (
            "a chunk",
            bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n["),
        ),
        (
            "a chunk's length",
            bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        ),
        ("another protocol", bytes("SSH-2.0-OpenSSH_9.9\r\n")),
        ("noise", Reply::Bytes(vec![0, 159, 146, 150, 10])),
    ] {
        let (server, user) = broken(reply);
        let ran = user.platform(&["tenant", "list", "--retries", "0"]);
        let url = format!("{}/account/v1/tenants", server.url());
        fails(&ran, 1, &format!("list tenants: Get \"{url}\": "));
        assert_eq!(ran.stderr.lines().count(), 1, "{what}: {ran:?}");
        let ran = user.platform(&["tenant", "update", ID, "--name", "x"]);
        let url = format!("{url}/{ID}");
        fails(&ran, 1, &format!("update tenant: Patch \"{url}\": "));
        assert_eq!(server.calls().len(), 2, "{what}: a write is sent once");
    }
}

#[test]
fn silence_is_exit_3_when_the_deadline_is_over_and_is_not_tried_again() {
    let (server, user) = silence();
    let ran = user.platform(&["tenant", "list", "--timeout", "2s"]);
    let url = format!("{}/account/v1/tenants", server.url());
    let message = format!("list tenants: Get \"{url}\": no response within 2s\n");
    fails(&ran, 3, &message);
    assert_eq!(server.calls().len(), 2, "one to get a token, and one");
}

#[test]
fn an_answer_may_come_in_pieces_of_any_size() {
    let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n[\r\n1\r\n]\r\n0\r\n\r\n";
    let (_, user) = broken(bytes(text));
    ends(
        &user.platform(&["tenant", "list", "-o", "json"]),
        0,
        "[]\n",
        "",
    );
    // Without a length, the end of the connection is the end of the body.
    let (_, user) = broken(bytes("HTTP/1.1 200 OK\r\n\r\n[]"));
    ends(
        &user.platform(&["tenant", "list", "-o", "json"]),
        0,
        "[]\n",
        "",
    );
}

#[test]
fn an_answer_without_end_is_not_read_to_its_end() {
    let length = 65 * 1024 * 1024;
    let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n[");
    let (server, user) = broken(bytes(&text));
    let ran = user.platform(&["tenant", "list"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.ends_with("the response is larger than 64 MiB\n"),
        "{ran:?}"
    );
    assert_eq!(server.calls().len(), 1);
}

#[test]
fn a_connection_the_server_closes_unasked_does_not_matter() {
    // Both responses promise to keep the connection open, but it is closed.
    let kept = bytes("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]");
    let (server, user) = broken(kept);
    let ran = user.platform(&["auth", "whoami", "--retries", "0"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(server.calls().len(), 2);
}

#[test]
fn an_unknown_status_is_still_classified() {
    let (_, user) = broken(bytes("HTTP/1.1 799 Odd\r\nContent-Length: 3\r\n\r\nodd"));
    fails(
        &user.platform(&["tenant", "list"]),
        1,
        "API error (799): odd\n",
    );
}
