//! Anthropic: `POST /messages`.

mod reading;
mod request;

#[cfg(test)]
mod tests;

pub(super) use self::{
    reading::{Reader, reply},
    request::request,
};
