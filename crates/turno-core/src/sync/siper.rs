//! The example source of the specification: a table of users, in which each person has one principal row.
//!
//! The server's `preset = "siper"` uses this source. Tests and examples start from it and change single fields.

use super::{OnLeave, Relation, Source};
use crate::id::QueueName;

impl Source {
    /// Returns the source of `preset = "siper"`.
    pub fn siper() -> Source {
        let texts = |all: &[&str]| all.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        Source {
            name: "usuarios".to_owned(),
            queue: QueueName::new("usuarios_modulo").expect("it is short and has letters only"),
            table: Relation::parse("siper.usuarios"),
            key: "idper".to_owned(),
            watch: texts(&["nombre", "apellido", "activo", "hashpass", "idper", "principal"]),
            current_when: Some("principal".to_owned()),
            enqueue_when: Some("idper is not null and algoritmo_pass = 'PG-SHA256'".to_owned()),
            on_leave: OnLeave::Ignore,
            one_current_per_key: true,
            trigger: "tr_sincro_usuarios_modulo_global".to_owned(),
            view: Some(Relation::parse("siper.cola_sincronizacion_usuarios_modulo")),
            update: "ACTUALIZAR".to_owned(),
            deactivate: "DESACTIVAR".to_owned(),
            payload: texts(&["idper", "nombre", "apellido", "activo", "hashpass"]),
        }
    }
}
