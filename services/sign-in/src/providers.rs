//! Other directories: providers that know the people of a company.

pub(crate) mod configured;
