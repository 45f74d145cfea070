//! The examples of the README, which are tests as well.
#![doc = include_str!("../README.md")]
