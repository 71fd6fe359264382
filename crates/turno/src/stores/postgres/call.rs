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
    ABSORBED_PURGE = "absorbed_purge",
    ABSORBED_REMOVE = "absorbed_remove",
    ABSORBER = "absorber",
    ANSWER_KEEP = "answer_keep",
    ANSWER_PURGE = "answer_purge",
    ANSWER_READ = "answer_read",
    ARRIVE = "arrive",
    AUDIT_ADD = "audit_add",
    AUDIT_AFTER = "audit_after",
    AUDIT_BEFORE = "audit_before",
    AUDIT_HEAD = "audit_head",
    AUDIT_HEAD_SAVE = "audit_head_save",
    AUDIT_LOCK = "audit_lock",
    BEGIN = "begin",
    BODY_ACTED = "body_acted",
    BODY_ADD = "body_add",
    BODY_FIND = "body_find",
    BODY_KNOWN = "body_known",
    BODY_READ = "body_read",
    BODY_REPLACE = "body_replace",
    CAME_BACK_ADD = "came_back_add",
    CAME_BACK_LIST = "came_back_list",
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
    CLOCK = "clock",
    COMMIT = "commit",
    COMPLETING = "completing",
    DELIVERED_PURGE = "delivered_purge",
    DESTINATION_LIST = "destination_list",
    DESTINATION_READ = "destination_read",
    DESTINATION_SAVE = "destination_save",
    DONE_ADD = "done_add",
    DONE_READ = "done_read",
    DONE_REMOVE = "done_remove",
    EFFECT_BEGIN = "effect_begin",
    EFFECT_END = "effect_end",
    EFFECT_UNDO = "effect_undo",
    EPOCH_RAISE = "epoch_raise",
    EPOCH_READ = "epoch_read",
    ERROR_ADD = "error_add",
    ERROR_LIST = "error_list",
    EVENT_ADD = "event_add",
    EVENT_LIST = "event_list",
    EVENT_LOCK = "event_lock",
    EVENT_PURGE = "event_purge",
    EVENT_SEQUENCE = "event_sequence",
    EVENT_SPAN = "event_span",
    HINT_LISTEN = "hint_listen",
    HINT_NOTIFY = "hint_notify",
    HISTORY_ADD = "history_add",
    HISTORY_AFTER = "history_after",
    HISTORY_LIST = "history_list",
    HISTORY_PURGE = "history_purge",
    HISTORY_READ = "history_read",
    HOT_ADD = "hot_add",
    HOT_EXPIRED = "hot_expired",
    HOT_FIRST = "hot_first",
    HOT_FIRST_LOCK = "hot_first_lock",
    HOT_FRONT = "hot_front",
    HOT_FRONT_LOCK = "hot_front_lock",
    HOT_FRONT_NAMED = "hot_front_named",
    HOT_HEAD_OF_ID = "hot_head_of_id",
    HOT_HEADS = "hot_heads",
    HOT_MEMBERS = "hot_members",
    HOT_NEXT = "hot_next",
    HOT_NEXT_EXPIRY = "hot_next_expiry",
    HOT_NEXT_LOOK = "hot_next_look",
    HOT_READ = "hot_read",
    HOT_REMOVE = "hot_remove",
    HOT_REQUEST = "hot_request",
    HOT_REQUEST_LOCK = "hot_request_lock",
    HOT_REQUESTED = "hot_requested",
    HOT_SAVE = "hot_save",
    INTAKE_LIST = "intake_list",
    INTAKE_LIST_ALL = "intake_list_all",
    INTAKE_LOCK = "intake_lock",
    INTAKE_LOOK = "intake_look",
    INTAKE_QUEUES = "intake_queues",
    INTAKE_READ = "intake_read",
    INTAKE_REFUSE = "intake_refuse",
    INTAKE_REMOVE = "intake_remove",
    ITEM_CANCELLED = "item_cancelled",
    ITEM_EXHAUSTED = "item_exhausted",
    ITEM_IN_PROCESS = "item_in_process",
    ITEM_LIST = "item_list",
    ITEM_OF_KEY = "item_of_key",
    ITEM_PROCESSED = "item_processed",
    ITEM_PURGE = "item_purge",
    ITEM_PURGE_COUNT = "item_purge_count",
    ITEM_PURGE_NAMED = "item_purge_named",
    ITEM_READ = "item_read",
    ITEM_WAITING = "item_waiting",
    LANE_LOCK = "lane_lock",
    LANE_LOCKS = "lane_locks",
    LANE_LOOK = "lane_look",
    LANE_NAMES = "lane_names",
    LEASE_DUE = "lease_due",
    LEASE_DUE_NEXT = "lease_due_next",
    LEASE_INSERT = "lease_insert",
    LEASE_LINES = "lease_lines",
    LEASE_LIST = "lease_list",
    LEASE_LOCK = "lease_lock",
    LEASE_LOCK_BEATS = "lease_lock_beats",
    LEASE_PIN = "lease_pin",
    LEASE_PURGE = "lease_purge",
    LEASE_READ = "lease_read",
    LEASE_SAVE = "lease_save",
    LEASE_WORK = "lease_work",
    LIFE_JUMP = "life_jump",
    LIFE_LOCK = "life_lock",
    LIFE_MOVE = "life_move",
    LIFE_NAME = "life_name",
    LIFE_READ = "life_read",
    LIFE_SAVE = "life_save",
    LINE_LOCK = "line_lock",
    LINE_REMOVE = "line_remove",
    LINE_SAVE = "line_save",
    LINK_ADD = "link_add",
    LINK_PURGE = "link_purge",
    LINK_READ = "link_read",
    LINK_REMOVE_OF = "link_remove_of",
    LINK_SPEND = "link_spend",
    MARK_SAVE = "mark_save",
    NOTE_ADD = "note_add",
    NOTE_LIST = "note_list",
    PERSON_ADMINS = "person_admins",
    PERSON_LIST = "person_list",
    PERSON_READ = "person_read",
    PERSON_REMOVE = "person_remove",
    PERSON_SAVE = "person_save",
    QUEUE_ADD = "queue_add",
    QUEUE_BUSY = "queue_busy",
    QUEUE_COUNTS = "queue_counts",
    QUEUE_FIND = "queue_find",
    QUEUE_LIST = "queue_list",
    QUEUE_LOCK = "queue_lock",
    QUEUE_LOOK_AGAIN = "queue_look_again",
    QUEUE_NAME = "queue_name",
    QUEUE_PARKED = "queue_parked",
    QUEUE_PAUSE = "queue_pause",
    QUEUE_PURGED = "queue_purged",
    QUEUE_RATES = "queue_rates",
    QUEUE_READ = "queue_read",
    QUEUE_SAVE = "queue_save",
    QUEUE_WAITS = "queue_waits",
    REBIRTH_NOTE = "rebirth_note",
    REBIRTH_READ = "rebirth_read",
    REPAIR_FIND = "repair_find",
    REPAIR_LOCK = "repair_lock",
    REPAIR_ROWS = "repair_rows",
    ROLLBACK = "rollback",
    SCHEMA_EXISTS = "schema_exists",
    SCHEMA_LOCK = "schema_lock",
    SCHEMA_READ = "schema_read",
    SCHEMA_SAVE = "schema_save",
    SERIAL_ADD = "serial_add",
    SERIAL_REMOVE = "serial_remove",
    SERVER = "server",
    SETTING_UNSAFE = "setting_unsafe",
    SETTLE_COMPLETED = "settle_completed",
    SETTLE_COMPLETING = "settle_completing",
    SETTLED = "settled",
    STOCK_INSERT = "stock_insert",
    STOCK_LOCK = "stock_lock",
    STOCK_MOVE_ADD = "stock_move_add",
    STOCK_OF_LINE = "stock_of_line",
    STOCK_READ = "stock_read",
    STOCK_REMOVE = "stock_remove",
    STOCK_SAVE = "stock_save",
    SYNC_BEGIN = "sync_begin",
    SYNC_DELIVERED = "sync_delivered",
    SYNC_FUNCTION = "sync_function",
    SYNC_MARKED = "sync_marked",
    SYNC_REFUSED = "sync_refused",
    SYNC_TABLE = "sync_table",
    SYNC_TRIGGERS = "sync_triggers",
    SYNC_UNFINISHED = "sync_unfinished",
    TASK_LEASE_INSERT = "task_lease_insert",
    TASK_LIST = "task_list",
    TASK_LOCK = "task_lock",
    TASK_NUMBER = "task_number",
    TASK_ONCE = "task_once",
    TASK_READ = "task_read",
    TASK_SAVE = "task_save",
    TASK_SHARE = "task_share",
    TASK_STATUS = "task_status",
    TOKEN_ADD = "token_add",
    TOKEN_CONSOLES = "token_consoles",
    TOKEN_COUNT = "token_count",
    TOKEN_FIND = "token_find",
    TOKEN_LIST = "token_list",
    TOKEN_PURGE = "token_purge",
    TOKEN_READ = "token_read",
    TOKEN_REMOVE = "token_remove",
    TOKEN_REMOVE_OF = "token_remove_of",
    TOKEN_RENEW = "token_renew",
    TOKEN_TOUCH = "token_touch",
    TYPING_READ = "typing_read",
    TYPING_REMOVE = "typing_remove",
    TYPING_SAVE = "typing_save",
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
