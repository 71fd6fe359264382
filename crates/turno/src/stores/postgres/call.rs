//! Every statement by name, and calls: a statement with its parameters, as data.
//!
//! A trip is a list of calls. Parameters carry their types, so that the same call can be sent as a prepared statement
//! or, behind a pooler that keeps none, as text.

use tokio_postgres::types::{ToSql, Type};

/// A statement: its name and its text, both from its file.
#[derive(Debug)]
pub(super) struct Sql {
    pub(super) name: &'static str,
    pub(super) text: &'static str,
}

impl Sql {
    /// Returns whether the text cannot be prepared: it has several statements without parameters, or it must run while
    /// the transaction is aborted, when nothing can be prepared.
    pub(super) fn is_script(&self) -> bool {
        [&BEGIN, &EFFECT_BEGIN, &EFFECT_END, &EFFECT_UNDO, &SYNC_BEGIN].iter().any(|script| script.name == self.name)
    }
}

/// A macro, because a function cannot include a file. The name is written once for constant and file.
macro_rules! statements {
    ($($constant:ident = $name:literal,)*) => {
        $(pub(super) static $constant: Sql = Sql { name: $name, text: include_str!(concat!("sql/", $name, ".sql")) };)*

        /// All statements: a test prepares each one and compares the list with the folder.
        #[cfg(test)]
        pub(super) static ALL: &[&Sql] = &[$(&$constant),*];
    };
}

statements! {
    ABSORBED_ADD = "absorbed_add",
    ABSORBED_REMOVE = "absorbed_remove",
    ABSORBER = "absorber",
    ADMIN_COUNT = "admin_count",
    ANSWER = "answer",
    ANSWER_KEEP = "answer_keep",
    ARRIVE = "arrive",
    AUDIT_ADD = "audit_add",
    AUDIT_AFTER = "audit_after",
    AUDIT_HEAD = "audit_head",
    AUDIT_LOCK = "audit_lock",
    AUDIT_MOVE = "audit_move",
    AUDIT_NEWEST = "audit_newest",
    BEGIN = "begin",
    BODY_ACTED = "body_acted",
    BODY_ADD = "body_add",
    BODY_KNOWN = "body_known",
    BODY_REPLACE = "body_replace",
    CAME_BACK_ADD = "came_back_add",
    CHECK_CONDITIONS = "check_conditions",
    CHECK_DELIVERIES = "check_deliveries",
    CHECK_ERRORS_KEPT = "check_errors_kept",
    CHECK_FENCE_AHEAD = "check_fence_ahead",
    CHECK_FENCE_REUSED = "check_fence_reused",
    CHECK_FENCES_OF_LINES = "check_fences_of_lines",
    CHECK_FINISHED_TWICE = "check_finished_twice",
    CHECK_GROUPS = "check_groups",
    CHECK_HEADS = "check_heads",
    CHECK_HISTORY_OVERLAP = "check_history_overlap",
    CHECK_LOST = "check_lost",
    CHECK_MOVES = "check_moves",
    CHECK_POSITIONS = "check_positions",
    CHECK_REVISIONS = "check_revisions",
    CHECK_SECRETS = "check_secrets",
    CHECK_STOCK = "check_stock",
    CHECK_STUCK = "check_stuck",
    CHECK_SYNC_DOUBLES = "check_sync_doubles",
    CLAIM_BODIES = "claim_bodies",
    CLAIM_FRONTS = "claim_fronts",
    CLAIM_HEADS = "claim_heads",
    CLAIM_ITEM = "claim_item",
    CLAIM_QUEUE = "claim_queue",
    CLAIM_REQUEST = "claim_request",
    CLAIM_REQUEST_LOCK = "claim_request_lock",
    CLAIM_TYPING = "claim_typing",
    CLOCK = "clock",
    COMMIT = "commit",
    COMPLETING = "completing",
    CONSOLES = "consoles",
    DESTINATION = "destination",
    DESTINATION_SAVE = "destination_save",
    DESTINATIONS = "destinations",
    DONE_ADD = "done_add",
    DONE_REMOVE = "done_remove",
    EFFECT_BEGIN = "effect_begin",
    EFFECT_END = "effect_end",
    EFFECT_UNDO = "effect_undo",
    EPOCH = "epoch",
    EPOCH_RAISE = "epoch_raise",
    ERROR_ADD = "error_add",
    EVENT_ADD = "event_add",
    EVENT_LIST = "event_list",
    EVENT_LOCK = "event_lock",
    EVENT_PURGE = "event_purge",
    EVENT_SEQUENCE = "event_sequence",
    EVENT_SPAN = "event_span",
    EXPIRED = "expired",
    EXPIRY_NEXT = "expiry_next",
    HINT_LISTEN = "hint_listen",
    HINT_NOTIFY = "hint_notify",
    HOT_ADD = "hot_add",
    HOT_REMOVE = "hot_remove",
    HOT_REQUEST = "hot_request",
    HOT_SAVE = "hot_save",
    INTAKE_LIST = "intake_list",
    INTAKE_LIST_ALL = "intake_list_all",
    INTAKE_LOCK = "intake_lock",
    INTAKE_LOOK = "intake_look",
    INTAKE_QUEUES = "intake_queues",
    INTAKE_READ = "intake_read",
    INTAKE_REFUSE = "intake_refuse",
    INTAKE_REMOVE = "intake_remove",
    ITEM = "item",
    ITEM_ERRORS = "item_errors",
    ITEMS = "items",
    ITEMS_CAME_BACK = "items_came_back",
    ITEMS_CANCELLED = "items_cancelled",
    ITEMS_EXHAUSTED = "items_exhausted",
    ITEMS_IN_PROCESS = "items_in_process",
    ITEMS_OF_KEY = "items_of_key",
    ITEMS_PROCESSED = "items_processed",
    ITEMS_WAITING = "items_waiting",
    LANE_FRONTS = "lane_fronts",
    LANE_HEADS_LOCK = "lane_heads_lock",
    LANE_LOCK = "lane_lock",
    LANE_LOCKS = "lane_locks",
    LANE_LOOK = "lane_look",
    LANE_NAMES = "lane_names",
    LEASE_DUE = "lease_due",
    LEASE_DUE_NEXT = "lease_due_next",
    LEASE_END = "lease_end",
    LEASE_ENDING = "lease_ending",
    LEASE_HISTORY = "lease_history",
    LEASE_HISTORY_AFTER = "lease_history_after",
    LEASE_INSERT = "lease_insert",
    LEASE_LINES = "lease_lines",
    LEASE_LIST = "lease_list",
    LEASE_LOCK = "lease_lock",
    LEASE_LOCK_BEATS = "lease_lock_beats",
    LEASE_PEEK = "lease_peek",
    LEASE_PIN = "lease_pin",
    LEASE_SAVE = "lease_save",
    LEASE_WORK = "lease_work",
    LIFE = "life",
    LIFE_JUMP = "life_jump",
    LIFE_LOCK = "life_lock",
    LIFE_MOVE = "life_move",
    LIFE_READ = "life_read",
    LIFE_SAVE = "life_save",
    LINE_LOCK = "line_lock",
    LINE_REMOVE = "line_remove",
    LINE_SAVE = "line_save",
    LINK = "link",
    LINK_ADD = "link_add",
    LINK_SPEND = "link_spend",
    LINKS_REMOVE = "links_remove",
    MANAGE_DONE = "manage_done",
    MANAGE_FIND = "manage_find",
    MANAGE_ITEM = "manage_item",
    MARK_RAISE = "mark_raise",
    MOVE_ADD = "move_add",
    NEXT_LOOK = "next_look",
    NOTE_ADD = "note_add",
    PEOPLE = "people",
    PERSON = "person",
    PERSON_REMOVE = "person_remove",
    PERSON_SAVE = "person_save",
    PURGE_ABSORBED = "purge_absorbed",
    PURGE_ANSWERS = "purge_answers",
    PURGE_DELIVERED = "purge_delivered",
    PURGE_HISTORY = "purge_history",
    PURGE_COUNT = "purge_count",
    PURGE_ITEMS = "purge_items",
    PURGE_LEASES = "purge_leases",
    PURGE_LINKS = "purge_links",
    PURGE_NAMED = "purge_named",
    PURGE_TOKENS = "purge_tokens",
    QUEUE_ADD = "queue_add",
    QUEUE_BUSY = "queue_busy",
    QUEUE_CHANGE = "queue_change",
    QUEUE_COUNTS = "queue_counts",
    QUEUE_GET = "queue_get",
    QUEUE_LIST = "queue_list",
    QUEUE_LOCK = "queue_lock",
    QUEUE_LOOK_AGAIN = "queue_look_again",
    QUEUE_NAME = "queue_name",
    QUEUE_PARKED = "queue_parked",
    QUEUE_PAUSE = "queue_pause",
    QUEUE_PURGED = "queue_purged",
    QUEUE_RATES = "queue_rates",
    QUEUE_WAITS = "queue_waits",
    REBIRTH_NOTE = "rebirth_note",
    REBIRTH_READ = "rebirth_read",
    REPAIR_FIND = "repair_find",
    REPAIR_LOCK = "repair_lock",
    REPAIR_ROWS = "repair_rows",
    ROLLBACK = "rollback",
    SCHEMA_EXISTS = "schema_exists",
    SCHEMA_LOCK = "schema_lock",
    SCHEMA_NOTE = "schema_note",
    SCHEMA_READ = "schema_read",
    SETTING_UNSAFE = "setting_unsafe",
    SERIAL_ADD = "serial_add",
    SERIAL_REMOVE = "serial_remove",
    SERVER = "server",
    SETTLE_COMPLETED = "settle_completed",
    SETTLE_COMPLETING = "settle_completing",
    SETTLE_ITEMS = "settle_items",
    SETTLE_ITEMS_LOCK = "settle_items_lock",
    SETTLE_LANES = "settle_lanes",
    SETTLE_NEXT = "settle_next",
    SETTLED = "settled",
    STOCK = "stock",
    STOCK_CHANGE = "stock_change",
    STOCK_INSERT = "stock_insert",
    STOCK_LOCK = "stock_lock",
    STOCK_OF_LINE = "stock_of_line",
    STOCK_REMOVE = "stock_remove",
    SYNC_BEGIN = "sync_begin",
    SYNC_DELIVERED = "sync_delivered",
    SYNC_FUNCTION = "sync_function",
    SYNC_MARKED = "sync_marked",
    SYNC_REFUSED = "sync_refused",
    SYNC_TABLE = "sync_table",
    SYNC_TRIGGERS = "sync_triggers",
    SYNC_UNFINISHED = "sync_unfinished",
    TASK = "task",
    TASK_LEASE_INSERT = "task_lease_insert",
    TASK_LOCK = "task_lock",
    TASK_NOTES = "task_notes",
    TASK_NUMBER = "task_number",
    TASK_ONCE = "task_once",
    TASK_SAVE = "task_save",
    TASK_SHARE = "task_share",
    TASK_STATUS = "task_status",
    TASKS = "tasks",
    TOKEN = "token",
    TOKEN_ADD = "token_add",
    TOKEN_COUNT = "token_count",
    TOKEN_FIND = "token_find",
    TOKEN_RENEW = "token_renew",
    TOKEN_REVOKE = "token_revoke",
    TOKEN_TOUCH = "token_touch",
    TOKENS = "tokens",
    TOKENS_REMOVE = "tokens_remove",
    TYPING_CLEAR = "typing_clear",
    TYPING_SET = "typing_set",
    XACT_STATUS = "xact_status",
}

/// A parameter and its type.
pub(super) type Param<'a> = (Box<dyn ToSql + Sync + Send + 'a>, Type);

/// A statement with its parameters, in order.
pub(super) struct Call<'a> {
    pub(super) sql: &'static Sql,
    pub(super) params: Vec<Param<'a>>,
}

impl<'a> Call<'a> {
    pub(super) fn new(sql: &'static Sql) -> Call<'a> {
        Call { sql, params: Vec::new() }
    }

    fn with(mut self, value: impl ToSql + Sync + Send + 'a, kind: Type) -> Call<'a> {
        self.params.push((Box::new(value), kind));
        self
    }

    pub(super) fn int(self, value: i32) -> Call<'a> {
        self.with(value, Type::INT4)
    }

    pub(super) fn big(self, value: i64) -> Call<'a> {
        self.with(value, Type::INT8)
    }

    pub(super) fn flag(self, value: bool) -> Call<'a> {
        self.with(value, Type::BOOL)
    }

    pub(super) fn text(self, value: &'a str) -> Call<'a> {
        self.with(value, Type::TEXT)
    }

    pub(super) fn maybe_text(self, value: Option<&'a str>) -> Call<'a> {
        self.with(value, Type::TEXT)
    }

    pub(super) fn made_text(self, value: Option<String>) -> Call<'a> {
        self.with(value, Type::TEXT)
    }

    pub(super) fn maybe_big(self, value: Option<i64>) -> Call<'a> {
        self.with(value, Type::INT8)
    }

    pub(super) fn bytes(self, value: &'a [u8]) -> Call<'a> {
        self.with(value, Type::BYTEA)
    }

    pub(super) fn maybe_bytes(self, value: Option<&'a [u8]>) -> Call<'a> {
        self.with(value, Type::BYTEA)
    }

    pub(super) fn many_bytes(self, values: impl Iterator<Item = &'a [u8]>) -> Call<'a> {
        self.with(values.collect::<Vec<_>>(), Type::BYTEA_ARRAY)
    }

    pub(super) fn maybe_ints(self, values: impl Iterator<Item = Option<i32>>) -> Call<'a> {
        self.with(values.collect::<Vec<_>>(), Type::INT4_ARRAY)
    }

    pub(super) fn smalls(self, values: impl Iterator<Item = i16>) -> Call<'a> {
        self.with(values.collect::<Vec<_>>(), Type::INT2_ARRAY)
    }

    pub(super) fn maybe_smalls(self, values: impl Iterator<Item = Option<i16>>) -> Call<'a> {
        self.with(values.collect::<Vec<_>>(), Type::INT2_ARRAY)
    }

    pub(super) fn ints(self, values: impl Iterator<Item = i32>) -> Call<'a> {
        self.with(values.collect::<Vec<_>>(), Type::INT4_ARRAY)
    }

    pub(super) fn bigs(self, values: impl Iterator<Item = i64>) -> Call<'a> {
        self.with(values.collect::<Vec<_>>(), Type::INT8_ARRAY)
    }

    pub(super) fn maybe_bigs(self, values: impl Iterator<Item = Option<i64>>) -> Call<'a> {
        self.with(values.collect::<Vec<_>>(), Type::INT8_ARRAY)
    }

    pub(super) fn flags(self, values: impl Iterator<Item = bool>) -> Call<'a> {
        self.with(values.collect::<Vec<_>>(), Type::BOOL_ARRAY)
    }

    pub(super) fn maybe_flags(self, values: impl Iterator<Item = Option<bool>>) -> Call<'a> {
        self.with(values.collect::<Vec<_>>(), Type::BOOL_ARRAY)
    }

    pub(super) fn texts(self, values: impl Iterator<Item = &'a str>) -> Call<'a> {
        self.with(values.collect::<Vec<_>>(), Type::TEXT_ARRAY)
    }

    pub(super) fn maybe_texts(self, values: impl Iterator<Item = Option<&'a str>>) -> Call<'a> {
        self.with(values.collect::<Vec<_>>(), Type::TEXT_ARRAY)
    }

    /// Texts that the call owns.
    pub(super) fn made_texts(self, values: impl Iterator<Item = Option<String>>) -> Call<'a> {
        self.with(values.collect::<Vec<_>>(), Type::TEXT_ARRAY)
    }
}
