//! Who may what, over HTTP.

use crate::cases;

cases![];
