//! The machine and the databases of the measurement, as they describe themselves.

use crate::THREADS;
use crate::measure::Outcome;
use crate::site::{Database, Home};

/// Returns the description, line by line.
pub(crate) async fn describe(home: &Home) -> Outcome<Vec<String>> {
    let cores = std::thread::available_parallelism()?;
    let mut lines = vec![
        format!(
            "{cores} cores, {}; the load generator, Turno and the database share them ({THREADS} threads of a tokio runtime)",
            processor()
        ),
        format!("load average before: {} (whatever else runs here takes its part of the cores)", load_average()),
        format!("SQLite {}: write-ahead log, synchronous=FULL, in {}", rusqlite::version(), home.folder().display()),
    ];
    if let Ok(cluster) = home.cluster() {
        let site = home.fresh(Database::Postgres).await?;
        let client = site.client().await?;
        let mut settings = Vec::new();
        for name in ["fsync", "synchronous_commit", "full_page_writes", "shared_buffers", "max_wal_size"] {
            let row = client.query_one("select current_setting($1)", &[&name]).await?;
            settings.push(format!("{name}={}", row.get::<_, String>(0)));
        }
        let version: String = client.query_one("select current_setting('server_version')", &[]).await?.get(0);
        lines.push(format!(
            "PostgreSQL {version} over 127.0.0.1: {}, in {}",
            settings.join(", "),
            cluster.directory().display()
        ));
        drop(client);
        site.remove().await?;
    }
    Ok(lines)
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':').map(|(_, name)| name.trim().to_owned()));
    model.unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("unknown").to_owned()
}
