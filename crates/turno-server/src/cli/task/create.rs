//! `turno task create`.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::super::queue::read;
use crate::failure::Failure;
use crate::texts::message::Message;
use crate::texts::terminal::render;

/// Arguments of `turno task create`.
#[derive(Args, Debug)]
pub(super) struct Create {
    /// The title
    #[arg(long)]
    title: String,
    /// A line for a quantity of an article; may be repeated
    #[arg(long, value_name = "SKU=N", value_parser = quantity)]
    quantity: Vec<(String, u64)>,
    /// A line for units with serial numbers; may be repeated
    #[arg(long, value_name = "SKU=A,B,…", value_parser = serials)]
    serials: Vec<(String, Vec<String>)>,
    /// The movement of these lines
    #[arg(long, value_parser = ["in", "out"], default_value = "in")]
    movement: String,
    /// The lines as a JSON array in this file, or - for stdin; they come before the lines of flags
    #[arg(long, value_name = "FILE")]
    lines: Option<PathBuf>,
    /// Create the task ready; otherwise it is a draft
    #[arg(long)]
    ready: bool,
}

fn quantity(text: &str) -> Result<(String, u64), String> {
    let parsed = text.rsplit_once('=').and_then(|(sku, number)| Some((sku, number.parse().ok()?)));
    match parsed {
        Some((sku, number)) if !sku.is_empty() => Ok((sku.to_owned(), number)),
        _ => Err(render(&Message::new("argument-quantity"))),
    }
}

fn serials(text: &str) -> Result<(String, Vec<String>), String> {
    let (sku, list) = text.split_once('=').unwrap_or_default();
    let serials: Vec<String> = list.split(',').map(|one| one.trim().to_owned()).filter(|one| !one.is_empty()).collect();
    if sku.is_empty() || serials.is_empty() {
        return Err(render(&Message::new("argument-serials")));
    }
    Ok((sku.to_owned(), serials))
}

/// Returns the body of the request.
pub(super) fn body(args: &Create) -> Result<Value, Failure> {
    let mut lines: Vec<Value> = match &args.lines {
        Some(path) => serde_json::from_str(&read(path)?).map_err(|error| {
            let message = Message::new("task-lines-json").text("file", path.display()).text("cause", error);
            Failure::usage(message.text("example", "[{\"kind\":\"quantity\",\"sku\":\"TORN-8\",\"quantity\":40}]"))
        })?,
        None => Vec::new(),
    };
    let movement = &args.movement;
    lines.extend(
        args.quantity.iter().map(
            |(sku, quantity)| json!({ "kind": "quantity", "movement": movement, "sku": sku, "quantity": quantity }),
        ),
    );
    lines.extend(
        args.serials.iter().map(
            |(sku, serials)| json!({ "kind": "serialized", "movement": movement, "sku": sku, "serials": serials }),
        ),
    );
    let status = if args.ready { "ready" } else { "draft" };
    Ok(json!({ "title": args.title, "lines": lines, "status": status }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_parsed_from_sku_and_quantity_or_serials() {
        assert_eq!(quantity("A=B=40"), Ok(("A=B".to_owned(), 40)));
        assert_eq!(serials("ROUTER=A1, A2"), Ok(("ROUTER".to_owned(), vec!["A1".to_owned(), "A2".to_owned()])));
        for bad in ["A", "A=", "=4", "A=x", "A=-1"] {
            assert!(quantity(bad).is_err(), "{bad}");
        }
        for bad in ["A", "A=", "=4", "A=,"] {
            assert!(serials(bad).is_err(), "{bad}");
        }
    }
}
