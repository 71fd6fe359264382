//! The words of the page. Both languages are values of one struct, so that neither can lack a word.

use crate::texts::Language;

pub(super) struct Words {
    pub(super) title: &'static str,
    pub(super) home: &'static str,
    pub(super) contents: &'static str,
    pub(super) first: &'static str,
    pub(super) introduction: &'static [&'static str],
    pub(super) who: &'static str,
    pub(super) public: &'static str,
    pub(super) token: &'static str,
    pub(super) permission: &'static str,
    pub(super) parameters: &'static str,
    pub(super) body: &'static str,
    pub(super) answers: &'static str,
    pub(super) example: &'static str,
    pub(super) name: &'static str,
    pub(super) kind: &'static str,
    pub(super) meaning: &'static str,
    pub(super) required: &'static str,
    pub(super) empty: &'static str,
    pub(super) fields: &'static str,
    pub(super) problems: &'static str,
    pub(super) problems_about: &'static str,
    tags: &'static [(&'static str, &'static str)],
}

impl Words {
    /// Returns the heading of a tag, or the tag itself if it has none.
    pub(super) fn tag<'a>(&'a self, tag: &'a str) -> &'a str {
        self.tags.iter().find(|(known, _)| *known == tag).map_or(tag, |(_, heading)| heading)
    }
}

pub(super) fn words(language: Language) -> &'static Words {
    match language {
        Language::Spanish => &SPANISH,
        Language::English => &ENGLISH,
    }
}

const SPANISH: Words = Words {
    title: "API de Turno",
    home: "Inicio",
    contents: "Contenido",
    first: "Antes de empezar",
    introduction: &[
        "Todo es JSON en snake_case; las horas son RFC 3339 en UTC con milisegundos.",
        "Quien llama se identifica con «Authorization: Bearer TOKEN»; sin eso la respuesta es 401, y sin el permiso, 403.",
        "Cada error es un problema (RFC 9457) con un código que no cambia y una frase en el idioma de Accept-Language.",
        "Las listas llevan ?limit= y ?cursor=, y responden items y next_cursor.",
        "Los campos desconocidos se rechazan con su nombre, y no se guarda nada.",
        "Las descripciones de las operaciones están en inglés, como el código.",
    ],
    who: "Quién puede",
    public: "Cualquiera, sin token",
    token: "Cualquiera con un token",
    permission: "Quien tenga el permiso",
    parameters: "Parámetros",
    body: "Cuerpo",
    answers: "Respuestas",
    example: "Ejemplo",
    name: "Nombre",
    kind: "Tipo",
    meaning: "Significado",
    required: "obligatorio",
    empty: "sin cuerpo",
    fields: "Campos",
    problems: "Códigos de problema",
    problems_about: "Lo que cada código quiere decir. Entre ‹ › va lo que la respuesta nombra.",
    tags: &[
        ("access", "Personas y tokens"),
        ("audit", "Auditoría"),
        ("events", "Eventos en vivo"),
        ("leases", "Bloqueos"),
        ("locks", "Bloqueos de filas de espera"),
        ("operation", "Operación"),
        ("people", "Personas"),
        ("queues", "Colas"),
        ("sessions", "Sesiones"),
        ("sign-in", "Ingreso"),
        ("stock", "Existencias"),
        ("sync", "Sincronización"),
        ("tasks", "Tareas"),
        ("tokens", "Tokens"),
        ("users", "Personas"),
    ],
};

const ENGLISH: Words = Words {
    title: "Turno API",
    home: "Home",
    contents: "Contents",
    first: "Before you begin",
    introduction: &[
        "Everything is JSON in snake_case; times are RFC 3339 in UTC with milliseconds.",
        "Callers identify themselves with “Authorization: Bearer TOKEN”; without it the answer is 401, and without the permission 403.",
        "Every error is a problem (RFC 9457) with a code that never changes and a sentence in the language of Accept-Language.",
        "Lists take ?limit= and ?cursor=, and answer items and next_cursor.",
        "Unknown fields are refused by name, and nothing is stored.",
    ],
    who: "Who may",
    public: "Every caller, without a token",
    token: "Every caller with a token",
    permission: "Callers with the permission",
    parameters: "Parameters",
    body: "Body",
    answers: "Answers",
    example: "Example",
    name: "Name",
    kind: "Type",
    meaning: "Meaning",
    required: "required",
    empty: "no body",
    fields: "Fields",
    problems: "Problem codes",
    problems_about: "What each code means. Between ‹ › stands what the answer names.",
    tags: &[
        ("access", "People and tokens"),
        ("audit", "Audit"),
        ("events", "Live events"),
        ("leases", "Leases"),
        ("locks", "Locks of lanes"),
        ("operation", "Operation"),
        ("people", "People"),
        ("queues", "Queues"),
        ("sessions", "Sessions"),
        ("sign-in", "Signing in"),
        ("stock", "Stock"),
        ("sync", "Synchronisation"),
        ("tasks", "Tasks"),
        ("tokens", "Tokens"),
        ("users", "People"),
    ],
};
