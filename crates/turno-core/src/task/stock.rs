//! The stock ledger: the built-in effect of a line. It can refuse a line, for example if there is not enough stock.

use super::line::{Goods, Line, LineError, Movement};
use crate::id::{Serial, Sku};
use crate::limits::QUANTITY_MAX;
use std::collections::BTreeSet;

/// The stock of one article, as far as a line needs it. The store reads it with the article locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stock {
    /// The article.
    pub sku: Sku,
    /// All units, including those with serial numbers.
    pub quantity: i64,
    /// How many units have serial numbers.
    pub serialized: i64,
    /// Those of the line's serial numbers that are in stock.
    pub serials: BTreeSet<Serial>,
}

/// The change that a line makes to the stock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posting {
    /// The article.
    pub sku: Sku,
    /// The change of the quantity.
    pub delta: i64,
    /// The serial numbers of units that come in.
    pub came: Vec<Serial>,
    /// The serial numbers of units that go out.
    pub went: Vec<Serial>,
}

/// Returns the change that a line makes to the stock, or the error that prevents it.
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
            // A line with a quantity cannot take units with serial numbers, because it does not say which ones.
            let available = if serials.is_empty() { stock.quantity - stock.serialized } else { stock.quantity };
            if available < units {
                return Err(LineError::NotEnough { available, wanted: units });
            }
            Ok(Posting { sku: line.sku.clone(), delta: -units, came: Vec::new(), went: serials })
        }
    }
}
