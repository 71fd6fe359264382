//! The example of the specification: users of whom one per person is the principal, and a module that must know them.
//!
//! The server's `preset = "siper"` is this; tests and examples start from it and say only what is different.

use super::{OnLeave, Relation, Source};
use crate::id::QueueName;

impl Source {
    /// The source of `preset = "siper"`.
    pub fn siper() -> Source {
        let texts = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect::<Vec<_>>();
        Source {
            name: "usuarios".to_owned(),
            queue: QueueName::new("usuarios_modulo").expect("it is short and has letters only"),
            table: Relation::of("siper.usuarios"),
            key: "idper".to_owned(),
            watch: texts(&["nombre", "apellido", "activo", "hashpass", "idper", "principal"]),
            current_when: Some("principal".to_owned()),
            enqueue_when: Some("idper is not null and algoritmo_pass = 'PG-SHA256'".to_owned()),
            on_leave: OnLeave::Ignore,
            one_current_per_key: true,
            trigger: "tr_sincro_usuarios_modulo_global".to_owned(),
            view: Some(Relation::of("siper.cola_sincronizacion_usuarios_modulo")),
            update: "ACTUALIZAR".to_owned(),
            deactivate: "DESACTIVAR".to_owned(),
            payload: texts(&["idper", "nombre", "apellido", "activo", "hashpass"]),
        }
    }
}
