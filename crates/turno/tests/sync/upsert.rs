//! upsert
