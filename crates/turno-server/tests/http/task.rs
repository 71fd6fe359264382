//! Tasks over HTTP.

use crate::cases;

cases![];
