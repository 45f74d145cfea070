//! Ollama: `POST /api/chat`.

mod reading;
mod request;
mod think;

#[cfg(test)]
mod tests;

pub(super) use self::{
    reading::{Reader, reply},
    request::request,
};
