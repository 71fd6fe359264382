# Problems: what an error says. The value is the detail, `.title` the title; codes are in http/problem.rs.

problem-bad_body = The body of the request is not the JSON that is expected: { $cause }
    .title = The body cannot be understood
problem-bad_field = { $fault ->
        [missing] The field { $field } is missing; add it
        [unknown] The field { $field } is not known; check its name, or leave it out
        [twice] Serial number { $serial } is there twice
       *[other] The field { $field } is not valid: { $cause }
    }
    .title = A field is not valid
problem-bad_query = A query parameter is not valid: { $cause }
    .title = A parameter is not valid
problem-bad_header = The header { $header } is not valid
    .title = A header is not valid
problem-invalid = This cannot be asked for: { $cause }
    .title = The request is not valid
problem-instance_required = Say in instance which of your processes holds it; a machine's token always needs it
    .title = The instance is missing
problem-ttl_out_of_bounds = { $field } must lie between { $min } and { $max }
    .title = The ttl is out of bounds
problem-idle_required = This lease has an idle guard; say in idle_ms for how long the person has done nothing
    .title = The idle time is missing
problem-weak_password = { $why ->
    [common] This password is easy to guess; choose another
   *[length] A password has at least 8 characters and at most 1000 bytes; choose another
}
    .title = The password is too weak
problem-unauthenticated = There is no valid token: send Authorization: Bearer TOKEN, or sign in again
    .title = Authentication required
problem-wrong_password = User or password are not right; check them and try again
    .title = Sign-in failed
problem-user_disabled = Your user is disabled; ask an administrator to enable it
    .title = The user is disabled
problem-oidc_refused = { $cause }
    .title = The provider did not sign you in
problem-no_role = Your account at the provider has no role here; ask an administrator for one
    .title = No role
problem-identity_not_linked = The user { $user } exists here and is not linked to your account at the provider; ask an administrator to link it to the subject { $subject }
    .title = The user is not linked
problem-passwords_off = Passwords are off; sign in with the provider
    .title = Passwords are off
oidc-cause-unavailable = it does not answer as expected
oidc-cause-state = This sign-in has expired or was begun in another tab; sign in again
oidc-cause-provider = The provider refused the sign-in ({ $code }); sign in again
oidc-cause-token = The answer of the provider is not valid; sign in again, or ask an administrator to read the log
oidc-cause-claim = The provider sends no valid { $claim } for you; ask an administrator
login-malformed = it is not what turno login sends
problem-forbidden = This needs the permission to { $permission }; ask an administrator for it
    .title = A permission is missing
problem-other_resource = This token is not for { $resource }; use one whose resources or queues include it
    .title = The token is not for this resource
problem-cross_site = With the console's session only our own pages may change something; use a token
    .title = The request comes from another site
problem-development_only = This is not allowed in production
    .title = Only for development
problem-more_than_held = You do not hold the permission to { $permission }, so you cannot grant or take it; ask a person who does
    .title = You cannot grant more than you hold
problem-not_found = { $thing } was not found
    .title = Not found
problem-method_not_allowed = { $path } does not take { $method }
    .title = The method is not allowed here
problem-body_timeout = The body of the request did not arrive in time; send it again
    .title = The body took too long
problem-lease_held = Held by { $holder } for { $since }; join the line, ask for its release, or wait
    .title = Held by another holder
problem-lease_offered = Free, but reserved for { $holder }; join the line
    .title = Reserved for the next in line
problem-lease_lost =
    This lease is not yours any more: { $how ->
        [no_heartbeat] it expired because your page or program stopped renewing it
        [idle] it expired because there was no activity
        [rolling_timeout] it expired because there was no work for too long
        [override] { $by } took or released it. Reason: { $note }
        [user_disabled] your user was disabled
        [released] it had been released already
        [taken] another holder has it
       *[other] no lease with that fence was found
    }{ $taken ->
        [yes] ; { $holder } has it now
       *[no] { "" }
    }. { $kept ->
        [some] What was applied stays applied; claim it again to finish the rest
        [beat] What was stored stays. Claim it again if it is free
       *[nothing] This request changed nothing; what was stored before stays. Claim it again if it is free
    }
    .title = The lease was lost
problem-lease_pinned = An operation is finishing under this lease; try again in a moment
    .title = Some work is finishing
problem-line_full = The waiting line is full; try again later
    .title = The line is full
problem-already_holder = The holder cannot join the line
    .title = You already hold it
problem-wrong_status = Task { $task } is { task-status }, and this cannot be done then; { $status ->
        [draft] mark it as ready first
        [completed] it does not change any more, and if something is missing another one is created
        [cancelled] it does not change any more, and if it is needed another one is created
       *[other] to correct its lines, process it
    }
    .title = The status does not allow it
problem-line_applied = Line { $line } has been applied and does not change any more
    .title = The line is applied already
problem-lines_applied = Lines { $lines } of task { $task } are applied, and cancelling does not take them back; cancel with keep_applied to keep them
    .title = Lines are applied
problem-line_changed = Line { $line } was changed meanwhile in another window or program; read it again and save
    .title = The line has changed
problem-draft_changed = Another person changed the draft of task { $task } meanwhile; read it again and save
    .title = The draft has changed
problem-already_claimed = { $mine ->
        [yes] This instance has it already, from an earlier claim; settle that delivery, or ask with the same request_id to get it again
       *[no] Another process is working on it; go on with the next
    }
    .title = Already claimed
problem-already_processed = { $state ->
        [exhausted] This item is exhausted: it has no attempts left. Send it round again with retry, or go on with the next
        [cancelled] This item was cancelled; go on with the next, or queue it again under another id
       *[processed] This item is finished already; go on with the next
    }
    .title = It is finished already
problem-not_available = It is not handed out yet: { $cause }
    .title = It cannot be handed out yet
problem-wrong_state = { $state ->
        [changing] A newer change of item { $id } waits while an older one is still being processed; try again once that one is settled
       *[other] Item { $id } is { item-state }, and this cannot be done then
    }
    .title = The item's state does not allow it
problem-managed_by_config = { $thing } is set in the configuration file; change it there and restart
    .title = It is set by the configuration
problem-delivered_by_turno = Turno delivers the changes of queue { $queue } itself, so they cannot be claimed or settled by hand; to send one again use resync, to consume them yourself remove deliver from the source
    .title = Turno delivers it
problem-kind_fixed = A queue with unfinished or exhausted items keeps its kind; empty it first, or use another name
    .title = The kind does not change while there is work
problem-queue_changed = Another person changed queue { $queue } meanwhile; read it again and change it
    .title = It was changed meanwhile
problem-already_exists = { $thing } exists already; change it, or choose another name
    .title = It exists already
problem-identity_linked = This identity is linked to { $user } already; remove that link first
    .title = The identity is linked already
problem-last_admin = { $user } is the last administrator; make another person administrator first
    .title = It is the last administrator
problem-already_created = { $thing } was created with this Idempotency-Key already; its secret was shown then and is not kept
    .title = It was created already
problem-link_used = The link was used already or has expired; ask for another
    .title = The link is no longer valid
problem-too_large = The body is larger than { $max }; split it
    .title = Too large
problem-uri_too_long = Use the form with a body
    .title = The address is too long
problem-line_invalid = Line { $line } cannot be applied: { line-error }
    .title = The line is not valid
problem-payload_too_deep = { $field } is nested deeper than { $limit } levels; flatten it, or send it as a text
    .title = The payload is nested too deep
problem-idempotency_key_reused = That key came with another content before; use a new one
    .title = The Idempotency-Key was used for something else
problem-too_many_requests = Wait a moment before trying again; nothing was stored
    .title = Too many requests
problem-internal = The error is ours and was logged; try again, and if it repeats report the request_id
    .title = Internal error
problem-audit_broken = The audit log is damaged: { $cause }. Keep a copy of the database and tell its operator
    .title = The audit log is damaged
problem-overloaded = The server has no room for more work; nothing was stored, try again in a moment
    .title = The server is overloaded
problem-stopping = Nothing was stored; try another instance, or again in a moment
    .title = The server is stopping
problem-database_unavailable = { $reason ->
        [gone] The database file was deleted or moved; stop the server and put the file or a backup in its place
        [replaced] The database file was replaced by another one; restart the server to use that, or put the first one back
        [cut_short] The database file was cut short; stop the server and put a backup in its place
        [log_gone] The log beside the database file (-wal) was deleted or replaced; stop the server and put a backup in its place
        [unwritable] The database file cannot be written; see whether the disk is full or read-only
        [schema] The database has a schema that this version cannot use; install a newer Turno
       *[other] Nothing was stored; try again in a moment
    }
    .title = The database does not answer
problem-oidc_unavailable = The OpenID provider cannot be used now: { $cause }; try again, or sign in with a password
    .title = The provider is not available
problem-outcome_unknown = The connection to the database was lost while storing; repeat the request, which is safe with the same Idempotency-Key
    .title = The outcome is unknown

# Permissions, in words and by the name that programs know.

permission-inventory_manage = process tasks (inventory.manage)
permission-leases_use = take locks (leases.use)
permission-queues_produce = put into queues (queues.produce)
permission-queues_consume = take from queues (queues.consume)
permission-locks_override = override others' locks (locks.override)
permission-queues_manage = manage queues (queues.manage)
permission-audit_read = read the audit (audit.read)
permission-users_manage = manage people (users.manage)
permission-sync_manage = manage synchronisation (sync.manage)
permission-sessions_mint = open others' sessions (sessions.mint)
permission-queues_read = read queues (queues.read)
permission-tasks_read = read tasks (tasks.read)
permission-metrics_read = read metrics (metrics.read)

# Items: in which state one is.

item-state = { $state ->
    [pending] waiting
    [in_process] in process
    [processed] processed
    [error] failed and waiting for its next attempt
    [exhausted] exhausted
    [cancelled] cancelled
   *[other] in state { $state }
    }

# Tasks: in which status one is, and why a line cannot be applied; also used in the problems above.

task-status = { $status ->
    [draft] a draft
    [ready] ready
    [processing] being processed
    [partially_completed] partially completed
    [completed] completed
    [cancelled] voided
   *[other] { $status }
    }
line-error = { $error ->
    [incomplete] its serial numbers are missing; capture them first
    [duplicate_serial] serial number { $serial } is in stock already
    [unknown_serial] serial number { $serial } is not in stock
    [not_enough] { $wanted } wanted, { $available } in stock
    [too_much] stock would grow beyond its bound
   *[refused] { $message }
    }

# Why something in a queue is not running; the codes are those of the library.

why-running = { $instance } has been working on it for { $ago }; unless it reports, it is free again in { $left }
why-completing = { $instance } is completing it in a transaction of its application, which is still open ({ $ago } since it was handed out); no other process gets it until the transaction ends
why-paused = The queue is paused. Resume it to continue
why-window_open = The grouping window of { $key } is open; its messages are delivered together in { $left }
why-delayed = Delayed; it is due in { $left }
why-retry_later = { $attempt ->
        [0] It could not even be tried: { $error }. No attempt was spent, and it is tried again in { $left }
       *[other] The last attempt ({ $attempt }) failed: { $error }. It is tried again in { $left }
    }
why-behind_in_flight = { $instance } has been working on { $behind }, of the same key, for { $ago }; its turn comes when that is done, or in { $left } unless it reports
why-behind_head = It waits behind { $behind }, of the same key, which came first
why-lane_held = { $behind } is exhausted and holds the items behind it; retry it or cancel it
why-damaged = The rows of its lane contradict each other, so nothing of it is handed out. An operator mends it with `turno check --repair`
why-exhausted = It is not tried any more, after { $attempt ->
        [one] 1 attempt
       *[other] { $attempt } attempts
    }: { $error }. Retry it when the cause is gone
why-processed = It was done { $ago } ago
why-cancelled = It was cancelled { $ago } ago
why-ready = Ready. No worker is polling this queue
why-destination_down = Its destination does not answer (for { $ago }); it is tried again in { $left }, and no attempts are spent meanwhile. The last it said: { $error }
why-empty = { $key } has no unfinished items
why-only_exhausted = { $key } has only exhausted items; retry or cancel them
why-a-process = A process
why-no_error = no error text

# Spans of time, as a person says them.

span-moment = less than a second
span-seconds = { $count ->
        [one] 1 second
       *[other] { $count } seconds
    }
span-minutes = { $count ->
        [one] 1 minute
       *[other] { $count } minutes
    }
span-hours = { $count ->
        [one] 1 hour
       *[other] { $count } hours
    }
span-days = { $count ->
        [one] 1 day
       *[other] { $count } days
    }

# /locks/clear

