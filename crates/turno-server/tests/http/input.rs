//! Bad input over HTTP.

use crate::cases;

cases![];
