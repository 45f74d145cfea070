//! Tests of failures around a running server, and of their effect on other clients.
//!
//! The numbers are small, so that the tests are quick. `ZIGGURAT_FAULTS_SCALE=10` multiplies the
//! work of every test here by ten.

mod clients;
mod load;
mod logins;
mod mortal;
mod postgres;
mod storms;
mod token_file;
mod wire;
mod writes;

/// Multiplies a number by the scale.
fn scaled(number: usize) -> usize {
    let scale = std::env::var("ZIGGURAT_FAULTS_SCALE").ok();
    let scale = scale.and_then(|scale| scale.parse::<usize>().ok());
    number * scale.unwrap_or(1).max(1)
}
