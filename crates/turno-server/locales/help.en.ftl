# What stands beside commands and options in --help. English is the definition of the command line, word for word.

# Commands.

help-one-at-a-time-in-turn = One at a time, in turn, nothing lost
help-one-at-a-time-in-turn-2 = One at a time, in turn, nothing lost.
help-turno-coordinates-work-who-may-work = Turno coordinates work: who may work on something until when (leases), and in which order work is handed out, once each (queues).
help-try-turno-in-a-temporary-place = Try Turno in a temporary place that disappears at the end
help-serve-on-a-database-that-stays = Serve on a database that stays
help-create-or-upgrade-the-schema-of = Create or upgrade the schema of the database
help-show-which-settings-are-in-force = Show which settings are in force, and where each comes from
help-ask-a-server-whether-it-can = Ask a server whether it can do its work
help-people-add-list-change-lock-out = People: add, list, change, lock out (on the database)
help-tokens-for-the-api-create-list = Tokens for the API: create, list, revoke (on the database)
help-leases-who-may-work-on-something = Leases: who may work on something until when
help-queues-enqueue-claim-settle-look-inside = Queues: enqueue, claim, settle, look inside, repair
help-tasks-with-lines-that-are-applied = Tasks with lines that are applied once
help-say-in-a-sentence-who-has = Say in a sentence who has something, or why it is not running
help-run-a-command-while-holding-a = Run a command while holding a lease, and stop it if the lease is lost
help-follow-what-happens-as-it-happens = Follow what happens, as it happens
help-the-audit-who-did-what-with = The audit: who did what with more than ordinary rights
help-look-whether-what-is-stored-keeps = Look whether what is stored keeps the promises (on the database)
help-copy-an-sqlite-database-to-a = Copy an SQLite database to a new file while it is in use
help-triggers-that-carry-changes-of-your = Triggers that carry changes of your tables elsewhere (on the database)
help-print-a-script-that-completes-commands = Print a script that completes commands in your shell
help-print-the-manual-or-write-its = Print the manual, or write its pages into a folder

# On every command.

help-sqlite-path-or-postgres-user-host = sqlite:PATH, or postgres://USER@HOST/DATABASE
help-the-configuration-file-toml = The configuration file (TOML)
help-an-empty-database-of-postgresql-to = An empty database of PostgreSQL, to show sync with real triggers
help-not-used-by-the-demo = Not used by the demo
help-the-server-to-ask = The server to ask
help-a-file-with-the-token = A file with the token
help-refused-everybody-on-the-machine-could = Refused: everybody on the machine could read it in the list of processes
help-mend-damaged-lanes-of-queues-two = Mend damaged lanes of queues: two heads, no head, groups of a wrong size, items that nothing hands out
help-print-json-for-programs = Print JSON, for programs
help-print-the-servers-json-for-programs = Print the server's JSON, for programs
help-at-most-so-many = At most so many
help-go-on-where-an-earlier-list = Go on where an earlier list ended

# Settings.

help-address-and-port-port-takes-a = Address and port; port 0 takes a free one
help-development-or-production-production-refuses-to = development or production; production refuses to start with unsafe settings
help-do-not-create-or-upgrade-the = Do not create or upgrade the schema; end if it does not fit
help-the-address-under-which-people-reach = The address under which people reach the server, for links and cookies
help-something-in-front-of-the-server = Something in front of the server speaks HTTPS with the world
help-a-pages-origin-that-may-call = A page's origin that may call the server from a browser; may be repeated
help-serve-metrics-without-a-token-on = Serve metrics, without a token, on an address of their own
help-send-traces-to-this-opentelemetry-collector = Send traces to this OpenTelemetry collector
help-how-long-it-is-remembered-who = How long it is remembered who held what
help-text-json-or-auto-text-on = text, json, or auto: text on a terminal, json elsewhere
help-error-warn-info-debug-or-trace = error, warn, info, debug or trace, also by module as in info,turno=debug
help-requests-under-way-at-once-a = Requests under way at once; a waiting claim is one
help-open-connections = Open connections
help-open-streams-of-live-events = Open streams of live events
help-how-long-a-request-may-take = How long a request may take; streams of events are exempt
help-how-long-requests-under-way-may = How long requests under way may go on once the server was told to stop
help-a-private-network-that-endpoints-set = A private network that endpoints set over the API may name; may be repeated
help-let-endpoints-set-over-the-api = Let endpoints set over the API name any private address (development only)
help-change-nothing-and-create-nothing-exit = Change nothing and create nothing; exit code 1 if the schema is not current

# People and tokens.

help-add-a-person = Add a person
help-their-id-as-it-appears-in = Their id, as it appears in leases and in the audit
help-what-they-may-do = What they may do
help-how-people-call-them = How people call them
help-list-everybody = List everybody
help-show-one-person-with-their-tokens = Show one person with their tokens
help-who = Who
help-change-a-users-role-or-name = Change a user's role or name
help-what-they-may-do-from-now = What they may do from now on
help-how-people-call-them-from-now = How people call them from now on
help-disable-a-user-their-tokens-are = Disable a user: their tokens are refused and their leases end
help-enable-a-disabled-user-again = Enable a disabled user again
help-set-a-users-new-password-read = Set a user's new password, read from stdin
help-remove-a-user-with-all-their = Remove a user with all their tokens
help-read-the-password-from-the-first = Read the password from the first line of stdin
help-make-a-token-and-print-it = Make a token and print it, and nothing else, to stdout
help-list-tokens-without-their-secrets = List tokens, without their secrets
help-only-those-of-this-person = Only those of this person
help-kill-a-token-with-the-sessions = Kill a token, with the sessions made by it
help-its-id-as-list-shows-it = Its id, as `list` shows it; not the token itself
help-for-whom-it-speaks = For whom it speaks
help-it-speaks-for-a-machine-which = It speaks for a machine, which must name its instance wherever it holds something
help-at-most-these-permissions = At most these permissions
help-only-leases-whose-names-begin-with = Only leases whose names begin with one of these
help-it-dies-after-this-long = It dies after this long

# Leases and turno run.

help-show-the-lease-of-a-resource = Show the lease of a resource; one never seen is free
help-which-resource = Which resource
help-list-what-is-held-now = List what is held now
help-show-who-held-it-before-and = Show who held it before, and how it ended
help-take-it-or-renew-what-is = Take it, or renew what is already one's own
help-keep-it = Keep it
help-give-it-back = Give it back
help-take-the-lease-from-its-holder = Take the lease from its holder; audited, needs locks.override
help-release-the-lease-of-its-holder = Release the lease of its holder; audited, needs locks.override
help-ask-the-holder-to-let-go = Ask the holder to let go
help-a-message-for-the-holder = A message for the holder
help-stand-in-line-or-keep-ones = Stand in line, or keep one's place: a place lives for 30 s and is kept by asking again
help-leave-the-line = Leave the line
help-which-process-waits-machines-must-say = Which process waits; machines must say so
help-only-what-this-person-holds = Only what this person holds
help-only-resources-that-begin-with-this = Only resources that begin with this
help-which-process-holds-it-machines-must = Which process holds it; machines must say so
help-for-how-long-the-claim-and = For how long the claim and every renewal last
help-stand-in-line-for-at-most = Stand in line for at most this long
help-for-how-long-the-person-has = For how long the person has done nothing; required where the policy has an idle guard
help-there-was-real-work-since-the = There was real work since the last beat
help-the-fence-that-the-claim-was = The fence that the claim was answered with
help-which-process-holds-it-if-the = Which process holds it, if the claim named one
help-only-if-nothing-was-claimed-since = Only if nothing was claimed since: the claim's number
help-why-it-is-written-into-the = Why; it is written into the audit and shown to the holder
help-the-fence-of-the-ownership-to = The fence of the ownership to end, as `lease get` shows it; a newer ownership is left alone
help-what-to-hold = What to hold
help-how-soon-others-may-have-it = How soon others may have it after this machine has died
help-stand-in-line-for-at-most-2 = Stand in line for at most this long; without it, do not wait
help-how-this-process-is-called = How this process is called
help-ask-this-server-without-it-the = Ask this server; without it the lease is taken on --database
help-the-command-and-its-arguments = The command and its arguments

# Queues.

help-list-the-queues-with-what-is = List the queues with what is in them
help-show-one-queue-policy-counts-rates = Show one queue: policy, counts, rates
help-make-a-queue-or-change-its = Make a queue, or change its policy; needs queues.manage
help-put-an-item-or-many-into = Put an item, or many, into a queue
help-report-that-the-sender-is-typing = Report that the sender is typing: the window of this key stays open a little longer
help-which-queue = Which queue
help-whose-messages-wait = Whose messages wait
help-take-what-is-due = Take what is due
help-keep-what-was-taken = Keep what was taken
help-say-that-it-is-done = Say that it is done
help-say-that-it-went-wrong = Say that it went wrong
help-give-it-back-untried = Give it back untried
help-run-a-command-for-every-delivery = Run a command for every delivery: a script as a worker
help-list-items-in-the-order-of = List items in the order of arrival
help-show-one-item-with-its-attempts = Show one item with its attempts and errors
help-let-an-exhausted-or-failed-item = Let an exhausted or failed item be tried again, perhaps corrected; needs queues.manage
help-cancel-an-item-that-waits-needs = Cancel an item that waits; needs queues.manage
help-hand-nothing-out-any-more-needs = Hand nothing out any more; needs queues.manage
help-hand-out-again-needs-queues-manage = Hand out again; needs queues.manage
help-let-exhausted-items-be-tried-again = Let exhausted items be tried again, all or those that match; needs queues.manage
help-forget-processed-and-cancelled-items-beyond = Forget processed and cancelled items beyond the retention now; needs queues.manage
help-say-why-an-item-or-a = Say why an item, or a key, is not running
help-the-items-id = The item's id
help-the-payload-json-file-or-for = The payload: JSON, @FILE, or - for stdin
help-read-many-items-from-stdin-one = Read many items from stdin, one JSON object per line: {"{"}"id","key","action","payload","delay_ms"{"}"}
help-the-items-id-the-same-id = The item's id: the same id is accepted once
help-whose-item-it-is-items-of = Whose item it is: items of one key are handled in order
help-the-action-for-the-receiver = The action for the receiver
help-not-before-this-long-from-now = Not before this long from now
help-only-in-this-state = Only in this state
help-only-of-this-key = Only of this key
help-ask-about-a-key-instead-of = Ask about a key instead of an item
help-lane-per-key-in-order-inbox = lane: per key in order; inbox: each item once, in no order; sync: per key only the newest. Needed for a new queue
help-the-whole-policy-as-a-json = The whole policy as a JSON object in this file, or - for stdin; flags replace what it says
help-set-what-is-not-named-to = Set what is not named to the defaults of the kind, instead of leaving it as it is
help-how-long-a-hand-out-lasts = How long a hand-out lasts without a heartbeat
help-how-long-it-lasts-at-most = How long it lasts at most, whatever the heartbeats
help-how-long-a-group-stays-open = How long a group stays open after its last message (lanes)
help-how-long-it-stays-open-after = How long it stays open after the last typing signal (lanes)
help-how-long-it-stays-open-at = How long it stays open at most (lanes)
help-so-many-items-at-once-at = So many items at once at most (lanes)
help-so-many-attempts-before-an-item = So many attempts before an item is exhausted
help-how-long-to-wait-after-the = How long to wait after the first failure; it doubles
help-how-long-finished-items-and-their = How long finished items and their ids are kept
help-what-an-exhausted-item-does-to = What an exhausted item does to its key: let the next run, or hold all of them
help-call-this-endpoint-for-every-delivery = Call this endpoint for every delivery; {"{"}key{"}"} stands for the key
help-the-servers-variable-with-the-secret = The server's variable with the secret that signs the calls; its name begins with TURNO_PUSH_SECRET
help-stop-calling-the-endpoint = Stop calling the endpoint
help-carry-this-from-now-on-json = Carry this from now on: JSON, @FILE, or - for stdin
help-only-those-whose-last-error-contains = Only those whose last error contains this
help-only-what-was-exhausted-within-the = Only what was exhausted within the last so long
help-only-say-how-many-there-are = Only say how many there are
help-which-process-takes-it = Which process takes it
help-so-many-deliveries-at-most = So many deliveries at most
help-wait-for-work-at-most-s = Wait for work, at most 30s
help-the-same-id-returns-the-same = The same id returns the same deliveries while they live
help-take-just-this-item = Take just this item
help-the-delivery-as-the-claim-was = The delivery, as the claim was answered with
help-its-fence = Its fence
help-done-up-to-and-including-this = Done up to and including this item; the rest goes back
help-what-went-wrong = What went wrong
help-which-item-failed-what-stands-before = Which item failed: what stands before it is done, what stands behind it goes back
help-try-again-after-this-long = Try again after this long
help-do-not-try-again = Do not try again
help-so-many-commands-at-the-same = So many commands at the same time
help-how-long-commands-may-go-on = How long commands may go on once the worker was asked to stop
help-end-when-nothing-is-due-but = End when nothing is due but what this run gave back, also of a paused queue, instead of waiting for more

# Tasks.

help-list-tasks = List tasks
help-show-a-task-with-its-lines = Show a task with its lines
help-make-a-task = Make a task
help-say-that-a-draft-can-be = Say that a draft can be processed
help-cancel-a-task = Cancel a task
help-keep-lines-that-are-applied = Cancel it although lines are applied; their effects stay
help-take-a-task-for-processing = Take a task for processing
help-give-a-task-back = Give a task back
help-apply-every-line-each-once-and = Apply every line, each once, and free the task
help-look-whether-a-line-could-be = Look whether a line could be applied
help-the-lines-number-from = The line's number, from 1
help-show-what-happened-to-a-task = Show what happened to a task
help-the-tasks-number = The task's number
help-only-in-this-status = Only in this status
help-only-locked-tasks = Only locked tasks
help-only-free-tasks = Only free tasks
help-what-people-call-it = What people call it
help-a-line-for-a-quantity-of = A line for a quantity of an article; may be repeated
help-a-line-for-units-with-serial = A line for units with serial numbers; may be repeated
help-whether-these-lines-come-in-or = Whether these lines come in or go out
help-the-lines-as-a-json-array = The lines as a JSON array in this file, or - for stdin; they stand before those of flags
help-it-can-be-processed-at-once = It can be processed at once; otherwise it is a draft

# The rest.

help-a-resource-task-n-a-queue = A resource, `task:N`, a queue, `QUEUE/ITEM`, or the three words `QUEUE key KEY`
help-list-entries-asks-a-server = List entries (asks a server)
help-follow-the-chain-from-its-first = Follow the chain from its first entry, and print its head to be kept elsewhere (on the database)
help-a-head-that-was-kept-elsewhere = A head that was kept elsewhere: tells whether anything up to it was rewritten since
help-only-this-action-for-example-lock = Only this action, for example lock_force_release
help-only-what-this-person-did = Only what this person did
help-only-what-was-done-to-this = Only what was done to this
help-the-new-file-one-that-exists = The new file; one that exists is not overwritten
help-only-these-leases-tasks-queues-sync = Only these: leases, tasks, queues, sync, audit
help-begin-behind-this-position-instead-of = Begin behind this position instead of now: a number, the `id:` of an event of GET /v1/events; 0 is the oldest kept
help-end-after-so-many-events = End after so many events
help-print-each-events-json-on-a = Print each event's JSON on a line, for programs
help-for-which-shell = For which shell
help-a-folder-for-one-page-per = A folder for one page per command; without it the first page goes to stdout

# Synchronisation.

help-only-this-source-of-the-configuration = Only this source of the configuration
help-print-exactly-the-sql-that-install = Print exactly the SQL that `install` runs
help-install-the-triggers-of-the-configured = Install the triggers of the configured sources, each in one transaction; again and again with the same end
help-show-whether-what-is-installed-is = Show whether what is installed is what is configured, what waits and what fails; exit code 1 if something is wrong
help-send-rows-again-those-that-were = Send rows again: those that were there before, or were loaded with triggers off
help-compare-every-key-of-the-sources = Compare every key of the sources with what was delivered last; exit code 1 if something differs
help-remove-what-install-has-made-and = Remove what `install` has made, and nothing else; the queue stays
help-send-every-key-of-the-source = Send every key of the source
help-send-this-key = Send this key
help-begin-behind-this-key = Begin behind this key
help-put-the-keys-that-differ-into = Put the keys that differ into the queue

# Defaults, in words.

help-the-policys = the policy's
help-the-variable-turno-token = the variable TURNO_TOKEN
help-all-that-the-person-has = all that the person has
help-when-it-is-revoked = when it is revoked
help-the-machine-the-process-and-a = the machine, the process and a random word
help-the-back-off = the back-off
help-the-id = the id
help-where-the-configuration-lets-one-listen = where the configuration lets one listen, http://127.0.0.1:7171
