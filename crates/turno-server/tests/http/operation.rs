//! Health, stopping, overload, metrics.

use crate::cases;

cases![];
