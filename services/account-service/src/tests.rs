//! The rules of the account interface, on both stores.

mod clients;
mod counts;
mod exchange;
mod members;
mod people;
mod roles;
mod trust;
mod verification;
