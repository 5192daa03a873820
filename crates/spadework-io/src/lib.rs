//! Array files and data sets.
