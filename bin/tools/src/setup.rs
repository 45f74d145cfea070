//! Commands that write a configuration, of this server or of its clients. They start no server.

pub(crate) mod clients;
pub(crate) mod init;
