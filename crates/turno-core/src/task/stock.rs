//! The stock ledger: the built-in effect of a line, which can really refuse.

use super::line::{Goods, Line, LineError, Movement};
use crate::id::{Serial, Sku};
use crate::limits::QUANTITY_MAX;
use std::collections::BTreeSet;

/// What is in stock of one article, as far as a line needs to know; read with the article locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stock {
    /// Which article.
    pub sku: Sku,
    /// All units, those with serial numbers included.
    pub quantity: i64,
    /// How many of them have serial numbers.
    pub serialized: i64,
    /// Which of the line's serial numbers are in stock.
    pub serials: BTreeSet<Serial>,
}

/// What a line does to the stock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posting {
    /// Which article.
    pub sku: Sku,
    /// By how much all units change.
    pub delta: i64,
    /// Units that came in.
    pub came: Vec<Serial>,
    /// Units that went out.
    pub went: Vec<Serial>,
}

/// Decides what a line does to the stock, or why it cannot.
pub fn post(line: &Line, stock: &Stock) -> Result<Posting, LineError> {
    let units = line.goods.units();
    let serials = line.goods.serials().to_vec();
    if matches!(&line.goods, Goods::Serialized(serials) if serials.is_empty()) {
        return Err(LineError::Incomplete);
    }
    match line.movement {
        Movement::In => {
            if let Some(serial) = serials.iter().find(|serial| stock.serials.contains(*serial)) {
                return Err(LineError::DuplicateSerial { serial: serial.clone() });
            }
            if stock.quantity + units > QUANTITY_MAX {
                return Err(LineError::TooMuch);
            }
            Ok(Posting { sku: line.sku.clone(), delta: units, came: serials, went: Vec::new() })
        }
        Movement::Out => {
            if let Some(serial) = serials.iter().find(|serial| !stock.serials.contains(*serial)) {
                return Err(LineError::UnknownSerial { serial: serial.clone() });
            }
            // Units with serial numbers only leave by name.
            let available = if serials.is_empty() { stock.quantity - stock.serialized } else { stock.quantity };
            if available < units {
                return Err(LineError::NotEnough { available, wanted: units });
            }
            Ok(Posting { sku: line.sku.clone(), delta: -units, came: Vec::new(), went: serials })
        }
    }
}
