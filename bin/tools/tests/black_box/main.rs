//! The program as its users meet it, by the sections of the specification.

mod first_minutes;
mod framing;
mod methods;

mod support;
