//! What goes wrong around a running server, and how little of it its clients notice.
//!
//! The numbers are those of a test that has to be quick. `ZIGGURAT_FAULTS_SCALE=10` makes every
//! test here do ten times as much.

mod clients;
mod load;
mod logins;
mod mortal;
mod postgres;
mod storms;
mod token_file;
mod wire;
mod writes;

/// So many times as much as a quick test does.
fn scaled(number: usize) -> usize {
    let scale = std::env::var("ZIGGURAT_FAULTS_SCALE").ok();
    let scale = scale.and_then(|scale| scale.parse::<usize>().ok());
    number * scale.unwrap_or(1).max(1)
}
