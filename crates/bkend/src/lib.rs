//! (module documentation follows with the first code)
