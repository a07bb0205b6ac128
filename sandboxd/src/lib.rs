#![doc = include_str!("../README.md")]

pub mod launch;
pub mod prepare;
pub mod protect;
pub mod sys;
