//! Tests of the layers over real sockets.

mod addresses;
mod attacks;
mod bodies;
mod calls;
mod connections;
mod server;
