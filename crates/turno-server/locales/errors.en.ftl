# Errors of the library, by variant; see src/texts/causes.rs. They are fragments that fit after "failed: ".

error-text = { $text }
error-with-next = { $cause }; { $next }
error-instance-required = a machine's token must name its instance; add one
error-wrong-status = task { $task } is { $status }, and cannot be locked
error-unknown = { $thing } is not known
error-overloaded = overloaded; nothing was stored, try again in a moment
error-closed = closed; open it again
error-no-randomness = the system has no randomness: { $cause }
error-bug = an error of Turno: { $what }; please report it
error-trusted-only = a handle that acts for a caller cannot go around the rules
error-not-authenticated = only an authenticated caller can act for another user; authenticate first
error-other-holder = { $caller } cannot hold anything as { $holder }; act on their behalf instead
error-full-admin-only = only a full administrator's token can copy the database
error-expel = disable the user instead; their leases end with that
error-look = the engine looks at leases itself, when they are due
error-no-key = a delivery without a key belongs to no source
error-database-url = the database must be given as sqlite:PATH or postgres://USER@HOST/DATABASE
error-url = { $fault ->
        [unknown] the parameter { $name } is unknown
        [value] the value of { $name } is invalid
        [read_only] target_session_attrs demands a read-only server, and Turno writes; use read-write
        [system_roots] sslrootcert=system needs sslmode=verify-full
        [no_roots] sslmode=verify-ca needs sslrootcert=FILE
       *[half_client] sslcert and sslkey belong together; give both
    }

# Things that a call names.

thing-token = token { $id }
thing-link = the link
thing-queue = queue { $queue }
thing-source = source { $source }
thing-task = task { $task }
thing-task-line = line { $line } of task { $task }
thing-line = line { $line }

# Fields.

error-field = { $field }: { $fault }
error-bounds = must be between { $min } and { $max }
error-zero-or-more = must be 0 or more
error-keep-and-grace = cannot be combined with grace_ms
error-length = must have 1 to { $max } characters, without control characters
error-too-many = at most { $max }, not { $given }; split it
error-too-many-resources = at most { $max }; give the beginnings that they share
error-too-large = larger than { $max } bytes; shorten it
error-too-deep = nested deeper than { $max } levels; flatten it, or send it as a text
error-bidi = contains a character that changes the direction of text; remove it
error-nul = contains a NUL character; remove it
error-not-json = cannot be written as JSON: { $cause }
error-key-required = a lane or sync queue needs to know whose item it is
error-key-or-all = give either key, or all
error-no-lines = a task that can be claimed has at least one line
error-twice = { $serial } is there twice
error-cursor = pass on the next_cursor of the page before, unchanged
error-true-or-false = must be true or false
error-reason-empty = it is empty; say why, for the readers of the audit
error-own-password = only the person can change the password
error-row-is-delivered = the delivery contains the row in { $table }; correct it there, and retry without a payload
error-line-serials-only = a serialized line has serials, and no quantity
error-line-no-serials = a serialized line needs its serials
error-line-empty-serials = at least one is needed
error-line-quantity-only = a line by quantity has a quantity, and no serials
error-line-no-quantity = a line by quantity needs its quantity
error-export-format = "{ $given }" is not known; use csv or json
error-unknown-word = "{ $given }" is { $vocabulary ->
        [item_state] no state of an item
        [task_status] no status of a task
        [permission] no permission
        [role] no role
       *[topic] no topic
    }; use { $known }

# The audit's chain.

error-head = "{ $given }" is not a head of the audit; expected NUMBER:HASH as `audit verify` prints it
error-chain-gap = entry { $found } stands where entry { $expected } belongs
error-chain-altered = entry { $n } is not what it was when it was written
error-chain-cut = the chain ends at entry { $found }, its head says { $expected }
error-chain-rewritten = entry { $n } has another hash than the head kept elsewhere; the chain was rewritten

# JSON bodies and queries.

json-missing = the field { $field } is missing
json-unknown = the field { $field } is not known; the fields are { $known }
json-duplicate = the field { $field } is there twice
json-word = "{ $given }" is not known; use one of { $known }
json-type = must be { $expected }
json-control = contains a control character; remove it
json-cut = it ends too early, at line { $line } column { $column }
json-syntax = it is not valid JSON at line { $line } column { $column }
json-other = the value cannot be used
json-broke-off = the body broke off before its end; send all of it
json-form = the fields of the form cannot be read
expected-value = a value of another type
expected-boolean = true or false
expected-integer = a whole number
expected-unsigned = a whole number, from 0
expected-number = a number
expected-text = a text
expected-list = a list
expected-object = an object
expected-word = one of the known words, as a text

# Names and policies.

error-name-empty = { $name } is empty; give it 1 to { $max } characters
error-name-long = { $name } has more than { $max } characters; shorten it
error-name-control = { $name } contains a control character; remove it
error-name-dots = { $name } cannot be . or ..; choose another
error-name-kind = { $kind ->
        [user_id] user id
        [queue_name] queue name
        [item_id] item id
        [request_id] request id
        [serial_number] serial number
        [action] action
        [instance] instance
        [key] key
        [resource] resource
        [scope] scope
       *[sku] sku
    }
error-policy = { $field } must be between { $min } and { $max }

# Access.

error-unauthenticated = the token is not valid (any more); sign in again or ask for a new one
error-forbidden = this needs the permission { $permission }; ask an administrator for it
error-other-resource = this token is not for { $resource }; use one whose resources or queues include it
error-more-than-held = you do not hold { $permission } yourself, so you cannot grant or take it; ask a person who does
error-last-admin = { $user } is the last administrator; make another person administrator first
error-limited-token = a token for some resources or queues cannot manage people
error-restricted-token = only a full token of your own can change your account
error-role-lacks = { $user } is { $role } and may not { $permission }, so no token of theirs can; change the role first
error-token-expired = the token would have expired already; give it a later time
error-too-many-tokens = { $user } has { $max } tokens, which is the most; revoke some first
error-session-ttl = a session lives 1 to { $max } seconds
error-link-ttl = a link lives 1 to { $max } seconds
error-not-for-sessions = a session cannot hold { $permission }; use a token of its own
error-outlives = this token cannot make one that outlives it or is of another kind
error-reaches-further = a token cannot reach further than the one that makes it
error-program-only = only the program that embeds Turno signs users in, and makes and uses links
error-has-admin = there is an administrator already; ask them, or make a sign-in link for a user
error-identity-linked = this identity is linked to { $user } already; remove that link first
error-overlap = the old token stays valid for at most { $max } seconds
error-user-exists = { $user } exists already; change it, or choose another id

# Leases.

error-lease-held = held by { $holder }
error-lease-offered = reserved for { $holder }
error-lease-pinned = an open transaction relies on the lease; try again in a moment
error-line-full = the waiting line is full; try again later
error-already-holder = the holder cannot wait for its own lease
error-idle-required = this lease has an idle guard; the heartbeat must say for how long the person has been idle
error-keep = a lease can be kept for at most { $max } ms
error-ttl = the ttl must be between { $min } and { $max } ms
error-lease-lost = the lease was lost: { $cause ->
        [no_heartbeat] no heartbeat arrived in time
        [idle] its holder was idle
        [rolling_timeout] its holder did no work for too long
        [override] another user took it over
        [user_disabled] its holder was disabled
        [released] it was released
        [expired] it has expired
        [unreachable] the database could not be reached in time
        [denied] the permission was taken away
       *[unknown] the fence is stale
    }

# Stores. $cause is the database's own text.

error-store-unavailable = the database is not reachable: { $cause }
error-tls = { $fault ->
        [refused] the server offers no TLS, and sslmode demands it
        [unknown_issuer] the server's certificate was issued by an unknown authority
        [wrong_name] the server's certificate is not for { $host }; it names { $names }
        [expired] the server's certificate has expired
        [not_yet_valid] the server's certificate is not valid yet
        [certificate] the server's certificate cannot be used: { $cause }
        [client_required] the server demands a client certificate
        [client_refused] the server refuses the client certificate
       *[handshake] the TLS handshake failed: { $cause }
    }
error-tls-file = { $parameter } { $path } { $problem ->
        [no_certificate] has no certificate
        [no_key] has no unencrypted private key
        [exposed] can be read by other users; run chmod 600
        [mismatch] does not belong to the certificate
       *[unreadable] cannot be read
    }
error-store-unknown = the outcome of the commit is unknown: { $cause }
error-store-conflict = another transaction came in between: { $cause }
error-store-rejected = the database refused: { $cause }
error-access-changed = the caller's permissions have changed; try again
error-queue-gone = a queue of the call does not exist any more; try again
error-schema-missing = the database has no schema yet, and this program needs { $wanted }; run turno migrate
error-schema-old = the database has schema { $found }, and this program needs { $wanted }; run turno migrate
error-schema-new = the database has schema { $found }, which needs a newer program; this one knows { $wanted }: upgrade it
error-kind-stays = queue { $name } has unfinished or exhausted items, so it stays of kind { $kind }; empty it first, or use another name
error-file = { $fault ->
        [gone] the database file was deleted or moved; stop the server and put the file or a backup in its place
        [replaced] the database file was replaced by another one; restart the server to use that, or put the first one back
        [cut_short] the database file was cut short; stop the server and put a backup in its place
        [log_gone] the log beside the database file (-wal) was deleted or replaced; stop the server and put a backup in its place
        [damaged] the database file is damaged; stop the server and put a backup in its place
        [not_a_database] the file is not a SQLite database; give another path
       *[unwritable] the database file cannot be written, see whether the disk is full or read-only: { $cause }
    }

# Sources, each with the next step.

error-source-no-triggers = triggers need PostgreSQL; on SQLite a sync queue is fed through the API
    .next = put changes into the queue with `turno queue enqueue` or { $route }, or use PostgreSQL
error-source-no-table = there is no table { $table }
    .next = create it first, or correct `table` of the source: capitals count, and it is written without quotes
error-source-not-a-table = { $table } is not a table
    .next = name an ordinary or a partitioned table
error-source-no-columns = { $count ->
        [one] table { $table } has no column { $columns }
       *[other] table { $table } lacks the columns { $columns }
    }
    .next = correct `key`, `watch` and `payload` of the source; capitals count
error-source-key-type = column { $column } is of type { $type }, which cannot be a key
    .next = choose a column of whole numbers, numeric, text, uuid or an enum
error-source-not-a-key = this cannot be a key of column { $column }: { $cause }
    .next = pass a value of { $column } as it stands in the table
error-source-unreadable = { $role } may not read { $table }
    .next = grant usage on its schema, and select on { $table }, to { $role }
error-source-hidden = row security of { $table } hides rows from { $role }, which would look as if they were gone
    .next = give { $role } bypassrls, or a policy for all rows
error-source-condition = the conditions cannot be used: { $cause }
    .next = correct `current_when` and `enqueue_when`; names outside pg_catalog need their schema
error-source-no-queue = there is no queue { $queue } of kind sync
    .next = create it, or let `turno sync install` do it
error-source-taken = { $kind } { $name } exists already and is not of this source
    .next = choose another name in the source, or remove what is there
error-object-kind = { $kind ->
        [table] table
        [view] view
        [index] index
        [trigger] trigger
        [function] function
        [materialized_view] materialized view
        [foreign_table] foreign table
        [sequence] sequence
       *[relation] relation
    }
error-source-duplicates = more than one current row for { $count ->
        [one] 1 key
       *[other] { $count } keys
    } of { $table }, with the number of rows: { $keys }
    .next = leave one current row per key, then install again; or set one_current_per_key = false
error-ident-empty = a name in the database is empty; give it 1 to { $max } bytes
    .next = correct it in the configuration
error-ident-long = "{ $name }" has more than { $max } bytes, and the database would cut it; shorten it
    .next = correct it in the configuration
error-ident-nul = a name or a text contains a NUL character; remove it
    .next = correct it in the configuration
