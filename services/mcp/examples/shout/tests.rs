use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::oneshot,
};

use super::*;

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"shout","arguments":{"words":"hello"}}}"#;

const ANSWER: &str =
    r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"HELLO"}]}}"#;

#[tokio::test]
async fn the_example_answers_a_call_over_http() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = serve(listener, async { drop(stopped.await) });
    let asking = async {
        let mut stream = TcpStream::connect(address).await.expect("a server");
        let length = CALL.len();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\nconnection: close\r\n\r\n{CALL}"
        );
        let sent = stream.write_all(request.as_bytes()).await;
        sent.expect("a server that reads");
        let mut response = String::new();
        let read = stream.read_to_string(&mut response).await;
        read.expect("a response");
        drop(stop);
        response
    };
    let (served, response) = tokio::join!(serving, asking);
    served.expect("served until it was stopped");
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    assert!(response.ends_with(ANSWER), "{response}");
}
