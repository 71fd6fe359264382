//! Every message of the errors has its data, and the reverse: no message is left without code.

use super::*;
use crate::texts::{Language, Texts};
use std::path::{Path, PathBuf};
use turno::core::id::{Resource, UserId};
use turno::core::sync::SourceRefused;
use turno::core::task::Status;

fn spanish(error: &impl Cause) -> String {
    message(error).render(&Texts::load(), Language::Spanish)
}

#[test]
fn errors_of_the_library_are_rendered_in_the_readers_language() {
    let empty = Resource::new("").expect_err("a resource is not empty");
    assert_eq!(spanish(&empty), "el recurso está vacío; dele de 1 a 200 caracteres");
    assert_eq!(message(&empty).render(&Texts::load(), Language::English), empty.to_string());
    let control = UserId::new("a\nb").expect_err("a name has no line break");
    assert_eq!(spanish(&Error::from(control)), "el usuario contiene un carácter de control; quítelo");
    let status = "x".parse::<Status>().expect_err("there is no such status");
    assert!(spanish(&status).starts_with("\"x\" no es un estado de una tarea; elija entre draft, ready"));
}

#[test]
fn the_refusal_of_a_source_and_its_next_step_are_in_one_language() {
    let taken = SourceRefused::Taken { what: "table", name: "siper.cola".to_owned() };
    assert_eq!(spanish(&taken), "la tabla siper.cola ya existe y no es de esta fuente");
    assert_eq!(spanish(&taken.message().next()), "elija otro nombre en la fuente, o quite lo que hay");
}

#[test]
fn every_message_of_an_error_is_used() {
    assert_eq!(unused(include_str!("../../../locales/errors.en.ftl")), Vec::<String>::new());
}

/// Returns the messages of a locale file that no source names.
pub(in crate::texts) fn unused(locale: &str) -> Vec<String> {
    let code = sources();
    let ids = locale.lines().filter(|line| line.starts_with(|one: char| one.is_ascii_lowercase()));
    let ids = ids.filter_map(|line| line.split_once(" = ")).map(|(id, _)| id.to_owned());
    ids.filter(|id| !code.contains(&format!("\"{id}\""))).collect()
}

/// Returns the sources of this crate, without tests.
fn sources() -> String {
    let all = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    all.iter().map(|file| std::fs::read_to_string(file).expect("a source")).collect()
}

pub(in crate::texts) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of sources");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let (folders, files): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
    let own = files.into_iter().filter(|file| file.extension().is_some_and(|kind| kind == "rs"));
    let own = own.filter(|file| !file.ends_with("tests.rs"));
    own.chain(folders.iter().flat_map(|folder| self::files(folder))).collect()
}
