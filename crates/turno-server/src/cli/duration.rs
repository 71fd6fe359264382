//! Durations as people write them: `30s`, `5m`, `1h30m`, `7d`, `500ms`.

use std::time::Duration;

use crate::texts::message::Message;
use crate::texts::terminal::render;

/// The units. `ms` comes first, so that it is not parsed as `m`.
const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Parses a duration, for clap.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || render(&Message::new("argument-duration"));
    let (mut rest, mut total) = (text.trim(), 0_u64);
    if rest.is_empty() {
        return Err(wrong());
    }
    if rest.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(render(&Message::new("argument-unit").text("number", rest)));
    }
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = &rest[digits..];
        let (unit, ms) = UNITS.into_iter().find(|(unit, _)| rest.starts_with(unit)).ok_or_else(wrong)?;
        rest = &rest[unit.len()..];
        let part = number.checked_mul(ms).ok_or_else(wrong)?;
        total = total.checked_add(part).ok_or_else(wrong)?;
    }
    Ok(Duration::from_millis(total))
}

/// Renders a duration as a person would type it: `30s`, `1h30m`.
pub(crate) fn typed(ms: u64) -> String {
    let (mut left, mut text) = (ms, String::new());
    // From the largest unit to the smallest. `ms` is first in `UNITS` and last here.
    for (unit, size) in UNITS[1..].iter().rev().chain(&UNITS[..1]) {
        if left >= *size {
            text.push_str(&format!("{}{unit}", left / size));
            left %= size;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

/// Returns the milliseconds, as the API takes them.
pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_and_rendered_alike() {
        for (text, ms) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("5m", 300_000),
            ("2h", 7_200_000),
            ("7d", 604_800_000),
            ("1h30m", 5_400_000),
            ("1d2h3m4s5ms", 93_784_005),
            (" 0s ", 0),
        ] {
            assert_eq!(parse(text).map(millis), Ok(ms), "{text}");
            assert_eq!(typed(ms.unsigned_abs()), text.trim(), "it is rendered the same");
        }
    }

    #[test]
    fn an_invalid_duration_is_refused_with_an_example() {
        for text in ["", "s", "-5s", "1.5h", "5 m", "5x", "1h30", "99999999999999999999s", "18446744073709551615d"] {
            let refused = parse(text).expect_err(text);
            assert!(refused.contains("30s"), "{text}: {refused}");
        }
        assert_eq!(parse("30"), Err("a unit is missing: 30s, 30m, 30h or 30ms?".to_owned()));
    }
}
