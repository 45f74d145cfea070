//! The program as its users meet it, by the sections of the specification.

mod first;
mod support;
mod trust;
