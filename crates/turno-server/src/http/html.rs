//! Pages made of a template and texts. What comes from outside is text and nothing else.

/// Replaces each `{{name}}` once. Values are not looked at again, so that no value can name another.
pub(super) fn fill(template: &str, value: impl Fn(&str) -> String) -> String {
    let mut pieces = template.split("{{");
    let mut page = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        let (name, rest) = piece.split_once("}}").unwrap_or((piece, ""));
        page.push_str(&value(name.trim()));
        page.push_str(rest);
    }
    page
}

/// A text that cannot become markup.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for one in text.chars() {
        match one {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}
