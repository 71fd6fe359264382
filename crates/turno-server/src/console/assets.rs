//! Static files: embedded, and named after their content, so that browsers can cache them for ever.

use std::sync::LazyLock;

use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::http::{Code, Path, Problem};

const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const IMAGE: &str = "image/svg+xml";

/// Name, content type and content of each file.
const FILES: &[(&str, &str, &str)] = &[
    ("console.css", STYLE, include_str!("../../../../web/console/console.css")),
    ("console.js", SCRIPT, include_str!("../../../../web/console/console.js")),
    ("process.js", SCRIPT, include_str!("../../../../web/console/process.js")),
    ("focus.js", SCRIPT, include_str!("../../../../web/console/focus.js")),
    ("reading.js", SCRIPT, include_str!("../../../../web/console/reading.js")),
    ("line.js", SCRIPT, include_str!("../../../../web/console/line.js")),
    ("lines.js", SCRIPT, include_str!("../../../../web/console/lines.js")),
    ("select.js", SCRIPT, include_str!("../../../../web/console/select.js")),
    ("said.js", SCRIPT, include_str!("../../../../web/console/said.js")),
    ("turns.js", SCRIPT, include_str!("../../../../web/console/turns.js")),
    ("typed.js", SCRIPT, include_str!("../../../../web/console/typed.js")),
    ("slot.js", SCRIPT, include_str!("../../../../web/console/slot.js")),
    ("draft.js", SCRIPT, include_str!("../../../../web/console/draft.js")),
    ("tasks.css", STYLE, include_str!("../../../../web/console/tasks.css")),
    ("htmx.js", SCRIPT, include_str!("../../../../web/console/vendor/htmx/htmx.min.js")),
    ("uplot.js", SCRIPT, include_str!("../../../../web/console/vendor/uplot/uPlot.iife.min.js")),
    ("uplot.css", STYLE, include_str!("../../../../web/console/vendor/uplot/uPlot.min.css")),
    ("turno.css", STYLE, include_str!("../http/root/turno.css")),
    ("docs.css", STYLE, include_str!("../http/root/docs.css")),
    ("turno.svg", IMAGE, include_str!("../http/root/turno.svg")),
];

struct Asset {
    name: &'static str,
    /// The name with the hash: `console.0123456789ab.css`.
    hashed: String,
    kind: &'static str,
    content: &'static str,
}

static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let asset = |&(name, kind, content): &(&'static str, &'static str, &'static str)| {
        let hash = blake3::hash(content.as_bytes()).to_hex();
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
        Asset { name, hashed: format!("{stem}.{}.{extension}", &hash[..12]), kind, content }
    };
    FILES.iter().map(asset).collect()
});

/// Returns the address of a file. Returns the plain name if the file does not exist, which a test refuses.
pub(super) fn address(name: &str) -> String {
    let found = ASSETS.iter().find(|asset| asset.name == name);
    format!("/assets/{}", found.map_or(name, |asset| &asset.hashed))
}

/// Serves a file. The hashed name may be cached for ever, the plain name must be revalidated.
pub(super) async fn asset(Path(file): Path<String>) -> Result<Response, Problem> {
    let found = ASSETS.iter().find(|asset| asset.hashed == file || asset.name == file);
    let found = found.ok_or_else(|| Problem::new(Code::NotFound).arg("thing", &file))?;
    let keep = if found.hashed == file { "public, max-age=31536000, immutable" } else { "no-cache" };
    Ok(([(header::CONTENT_TYPE, found.kind), (header::CACHE_CONTROL, keep)], found.content).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::Digest;

    #[test]
    fn vendored_files_match_their_checksums() {
        let vendor = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/console/vendor/");
        let sums = std::fs::read_to_string(format!("{vendor}SHA256SUMS")).expect("the checksums exist");
        let mut seen = 0;
        for line in sums.lines() {
            let (sum, file) = line.split_once("  ").expect("a line has a checksum and a file");
            let content = std::fs::read(format!("{vendor}{file}")).expect("the file exists");
            let hash: String = sha2::Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hash, sum, "{file}");
            seen += 1;
        }
        assert_eq!(seen, 5, "two libraries with their licences");
    }

    #[test]
    fn a_hashed_name_changes_with_the_content() {
        let address = address("console.css");
        assert!(address.starts_with("/assets/console.") && address.ends_with(".css"), "{address}");
        assert_eq!(address.len(), "/assets/console..css".len() + 12);
        assert_eq!(super::address("none.css"), "/assets/none.css");
    }
}
