//! The layers over real sockets: what a unit test cannot show.

mod addresses;
mod bodies;
mod calls;
mod connections;
mod server;
