//! Scripts for the model of tests and of the command line.
