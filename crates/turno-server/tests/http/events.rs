//! Live events over HTTP.

use crate::cases;

cases![];
