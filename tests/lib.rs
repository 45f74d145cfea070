//! Runs the examples of the README as tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]
