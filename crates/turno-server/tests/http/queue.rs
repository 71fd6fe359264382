//! Queues over HTTP.

use crate::cases;

cases![];
