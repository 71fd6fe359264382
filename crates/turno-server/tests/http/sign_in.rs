//! Signing in, people, tokens, sessions.

use crate::cases;

cases![];
