//! One request after another over a connection.

use std::{
    io::{self, Read as _, Write as _},
    net::TcpStream,
};

/// Sends a request, and returns the status and the body of the answer.
///
/// # Errors
/// Fails when the connection breaks, or the answer is not HTTP.
pub fn exchange(stream: &mut TcpStream, request: &[u8]) -> io::Result<(u16, String)> {
    stream.write_all(request)?;
    let mut answer = String::new();
    let mut piece = [0; 4096];
    loop {
        let read = stream.read(&mut piece)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        answer.push_str(&String::from_utf8_lossy(&piece[..read]));
        let Some((head, body)) = answer.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head.split("content-length: ").nth(1);
        let length = length.and_then(|rest| rest.lines().next()?.parse::<usize>().ok());
        let is_whole = length.map_or_else(
            || body.ends_with("0\r\n\r\n"),
            |length| body.len() >= length,
        );
        if is_whole {
            let status = head.split(' ').nth(1).and_then(|text| text.parse().ok());
            let status = status.ok_or(io::ErrorKind::InvalidData)?;
            return Ok((status, body.to_owned()));
        }
    }
}
