//! Nothing here: every test binary lists its own modules.
