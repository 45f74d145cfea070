//! What every test here needs: a database, a folder with the files of a server, the program
//! itself, and somebody to talk to it.

mod doors;
mod http;
mod junction;
mod postgres;
mod program;
pub(crate) mod records;
mod stdio;
mod waiting;

pub(crate) use self::{
    doors::Doors,
    http::{Answer, Client},
    junction::{Junction, exchange},
    postgres::Postgres,
    program::{Home, PATIENCE, Program, Ran},
    stdio::Talk,
    waiting::until,
};
