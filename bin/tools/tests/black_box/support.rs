//! Helpers for the tests: a database, a folder with the files of a server, the program itself, and
//! clients.

mod doors;
mod junction;
mod program;
pub(crate) mod records;
mod schema;
mod stdio;

pub(crate) use ziggurat_black_box::{
    Answer, Client, PATIENCE, Postgres, Program, Ran, connect, output, output_of, received, until,
};

pub(crate) use self::{
    doors::Doors,
    junction::{Junction, exchange},
    program::Home,
    schema::{assert_conforms, assert_plain},
    stdio::Talk,
};
