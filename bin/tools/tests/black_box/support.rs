//! Helpers for the tests: a database, a folder with the files of a server, the program itself, and
//! clients.

mod program;
pub(crate) mod records;
mod schema;
mod stdio;
mod tcp_proxy;
mod transports;

pub(crate) use ziggurat_black_box::{
    Answer, Browser, Client, OAuthClient, PATIENCE, Postgres, Program, Ran, claims, connect,
    granted, output, output_of, received, until,
};

pub(crate) use self::{
    program::{Home, memory},
    schema::{assert_conforms, assert_plain},
    stdio::StdioClient,
    tcp_proxy::{TcpProxy, exchange},
    transports::Transports,
};
