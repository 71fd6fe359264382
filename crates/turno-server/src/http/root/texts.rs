//! The page's words. Both languages have the same fields, so that none can lack a sentence.

use crate::texts::Language;

pub(super) struct Texts {
    title: &'static str,
    motto: &'static str,
    running: &'static str,
    version_label: &'static str,
    database_label: &'static str,
    place_label: &'static str,
    uptime_label: &'static str,
    /// Of the table of queues: its name and four states.
    pub(super) columns: [&'static str; 5],
    early: &'static str,
    works_label: &'static str,
    pub(super) works: &'static [&'static str],
    to_come_label: &'static str,
    pub(super) to_come: &'static [&'static str],
    health: &'static str,
}

impl Texts {
    /// A sentence by its name in the template; empty if there is none, which a test refuses.
    pub(super) fn get(&self, name: &str) -> &'static str {
        match name {
            "title" => self.title,
            "motto" => self.motto,
            "running" => self.running,
            "version_label" => self.version_label,
            "database_label" => self.database_label,
            "place_label" => self.place_label,
            "uptime_label" => self.uptime_label,
            "early" => self.early,
            "works_label" => self.works_label,
            "to_come_label" => self.to_come_label,
            "health" => self.health,
            _ => "",
        }
    }
}

pub(super) fn of(language: Language) -> &'static Texts {
    match language {
        Language::Spanish => &SPANISH,
        Language::English => &ENGLISH,
    }
}

const SPANISH: Texts = Texts {
    title: "Turno está en marcha",
    motto: "De a uno, por turno, sin perder nada.",
    running: "En marcha",
    version_label: "Versión",
    database_label: "Base de datos",
    place_label: "Dónde está",
    uptime_label: "Tiempo en marcha",
    columns: ["Cola", "En espera", "En proceso", "Con error", "Procesados"],
    early: "Es una versión temprana. Esto es lo que hay y lo que todavía no.",
    works_label: "Ya se puede",
    works: &[
        "Iniciar este servidor, ver esta página y detenerlo de forma ordenada.",
        "Usar bloqueos, colas, trabajadores, tareas, permisos y auditoría como biblioteca de Rust, sobre SQLite o PostgreSQL.",
        "Ver en la demostración un chat por turnos y una bandeja repartida entre dos procesos.",
    ],
    to_come_label: "Todavía no",
    to_come: &[
        "La API HTTP, los eventos en vivo por HTTP y el ingreso de personas.",
        "La consola con tareas, bloqueos, colas, sincronización y auditoría.",
    ],
    health: "Estado para máquinas",
};

const ENGLISH: Texts = Texts {
    title: "Turno is running",
    motto: "One at a time, in turn, nothing lost.",
    running: "Running",
    version_label: "Version",
    database_label: "Database",
    place_label: "Where it is",
    uptime_label: "Running for",
    columns: ["Queue", "Waiting", "In process", "Failed", "Processed"],
    early: "This is an early version. Here is what there is, and what there is not yet.",
    works_label: "What works",
    works: &[
        "Starting this server, reading this page, and stopping it in an orderly way.",
        "Using leases, queues, workers, tasks, permissions and audit as a Rust library, on SQLite or PostgreSQL.",
        "Watching, in the demo, a chat served in turn and an inbox shared by two processes.",
    ],
    to_come_label: "Not yet",
    to_come: &[
        "The HTTP API, live events over HTTP and signing in.",
        "The console with tasks, locks, queues, synchronisation and audit.",
    ],
    health: "Health, for machines",
};
