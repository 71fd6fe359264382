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
        "Usar bloqueos, tareas, colas, eventos en vivo, personas y auditoría por la API HTTP, descrita en /docs.",
        "Lo mismo desde la línea de comandos, y como biblioteca de Rust, sobre SQLite o PostgreSQL.",
        "Entrar en /sign-in; ver en la demostración tareas con colegas, un chat por turnos y una bandeja repartida.",
    ],
    to_come_label: "Todavía no",
    to_come: &[
        "La consola con tareas, bloqueos, colas, sincronización y auditoría.",
        "Las entregas a direcciones HTTP y la sincronización de tablas por triggers.",
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
        "Using leases, tasks, queues, live events, people and audit through the HTTP API, described at /docs.",
        "The same on the command line, and as a Rust library, on SQLite or PostgreSQL.",
        "Signing in at /sign-in; watching, in the demo, tasks with colleagues, a chat served in turn and a shared inbox.",
    ],
    to_come_label: "Not yet",
    to_come: &[
        "The console with tasks, locks, queues, synchronisation and audit.",
        "Deliveries to HTTP endpoints, and synchronisation of tables by triggers.",
    ],
    health: "Health, for machines",
};
