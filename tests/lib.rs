//! The examples of the README, which are tests as well.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]
