//! What every test here needs: a database, a folder with the files of a server, the program
//! itself, and somebody to talk to it.

mod doors;
mod http;
mod postgres;
mod program;
pub(crate) mod records;
mod stdio;
mod waiting;

pub(crate) use self::{
    doors::Doors,
    http::{Answer, Client},
    postgres::Postgres,
    program::{Home, PATIENCE, Program, Ran},
    stdio::Talk,
    waiting::until,
};
