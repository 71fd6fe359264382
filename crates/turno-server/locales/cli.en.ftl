# Messages of the command line. The attribute `next` of a failure says what the person can do. A cause is a fragment that
# fits after "error: ".

# Failures.

failure-next = next

# Errors of the operating system.

io-not-found = no such file or folder
io-permission = permission denied
io-exists = the file exists already
io-folder = it is a folder
io-no-folder = a part of the path is not a folder
io-not-utf8 = it is not UTF-8
io-full = the disk is full
io-read-only = the disk is read-only
io-address-in-use = the address is in use
io-address-unknown = this machine does not have the address
io-refused = connection refused
io-reset = connection lost
io-timeout = timeout

# Starting.

threads-failed = failed to start threads: { $cause }
    .next = check the limit of processes (ulimit -u)
signals-failed = failed to listen for signals: { $cause }
    .next = start it again; report it if it repeats
log-filter = the log filter "{ $filter }" is not valid: { $cause }
    .next = use error, warn, info, debug or trace, also by module as in info,turno=debug
traces-failed = failed to prepare sending traces: { $cause }
    .next = set { $variable } or otlp_endpoint to http://HOST:4318, or remove both
traces-client = the client could not be created
http-client-failed = failed to prepare for HTTP: { $cause }
    .next = check the variables for proxies and certificates
listen-port-taken = failed to listen on { $address }: the address is in use
    .next = stop the program that listens there, or choose another port with --listen (port 0 takes a free one)
listen-permission = failed to listen on { $address }: permission denied
    .next = choose a port above 1023 with --listen
listen-unknown-address = failed to listen on { $address }: this machine does not have the address
    .next = choose an address of this machine with --listen; 127.0.0.1:7171 always works
listen-failed = failed to listen on { $address }: { $cause }
    .next = check the address of --listen or TURNO_LISTEN

# Databases.

database-url = the database URL cannot be used: { $cause }
    .next = use sqlite:PATH, for example sqlite:turno.db, or postgres://USER@HOST/DATABASE
database-url-file = the sqlite URL names no file
    .next = use sqlite:PATH, for example sqlite:turno.db, or postgres://USER@HOST/DATABASE
database-missing = no database here: there is no { $path }
    .next = go to its folder, or name it with --database or TURNO_DATABASE; `turno migrate` creates a new one
database-created = created a new, empty database: { $place }
database-no-folder = failed to open { $place }: its folder does not exist
    .next = check that its folder exists and can be written
database-file = failed to open { $place }: { $cause }
    .next = check that its folder exists and can be written
database-server = failed to open { $place }: { $cause }
    .next = check that the server runs, and the user, password and database of the URL
database-tls = failed to open { $place }: { $cause }
    .next = { $fault ->
        [refused] switch TLS on at the server (ssl = on), or use sslmode=prefer if the network is trusted
        [unknown_issuer] name the authority that issued the server's certificate: sslrootcert=FILE
        [wrong_name] use a host that the certificate names, or sslmode=verify-ca
        [expired] renew the server's certificate
        [not_yet_valid] check the clocks of this machine and of the server
        [client_required] add sslcert=FILE and sslkey=FILE to the database URL
        [client_refused] use a client certificate of the authority that the server trusts, and check its dates
        [file] correct the file, or its path in the database URL
       *[other] check the server's certificate and its TLS versions
    }
database-not-admitted = failed to open { $place }: { $cause }
    .next = { $tls ->
        [false] check pg_hba.conf at the server; if it demands TLS, use sslmode=require
       *[true] { $client ->
            [false] check pg_hba.conf at the server; if it demands a client certificate, add sslcert=FILE and sslkey=FILE
           *[true] check pg_hba.conf at the server, and that the client certificate is for this user
        }
    }
database-schema-old = failed to open { $place }: its schema is older than this program needs
    .next = run `turno migrate` with the same --database, or leave out --no-migrate
database-schema-new = failed to open { $place }: its schema is newer than this program knows
    .next = install a newer turno, or open another database
database-damaged = failed to open { $place }: the file is damaged
    .next = put the last backup in its place, and keep the damaged file for analysis
database-other-file = failed to open { $place }: it is not a SQLite database
    .next = name another file with --database; this one stays as it is
database-no-create = failed to open { $place }: this role may not create a schema
    .next = grant create on the database to this role, because Turno creates its schema there the first time
database-unknown = failed to open { $place }: there is no database { $name }
    .next = create it with `createdb { $name }`, or correct the database in the URL
refused-unknown = { $cause }
    .next = check the id; `turno user list` and `turno token list` show the known ones
refused-exists = { $cause }
    .next = use `turno user change`, or another id
refused-last-admin = { $cause }
    .next = add another one first: `turno user add ID --role admin`
refused-invalid = { $cause }
    .next = correct it and try again
refused-overloaded = { $cause }
    .next = try again in a moment
refused-database = { $cause }
    .next = check that the database runs and can be written, and try again

# migrate, check, backup, audit.

schema-created = { $place }: created with schema { $wanted }
schema-upgraded = { $place }: upgraded from schema { $found } to { $wanted }
schema-current = { $place } has schema { $found }, which is current
schema-compatible = { $place } has schema { $found }; this program knows { $wanted } and can work with it
schema-missing = { $place } has no schema yet; this program needs { $wanted }
    .next = run `turno migrate`
schema-old = { $place } has schema { $found }; this program needs { $wanted }
    .next = run `turno migrate`
schema-new = { $place } has schema { $found }; this program needs { $wanted }
    .next = use a newer program
check-step = checking { $number } of { $total }: { $what }
check-step-done = checked { $number } of { $total }: { $what }
check-declared = { $place } is treated as restored: task ids and event positions of the lost time were skipped
check-sound = { $place } keeps all invariants
check-found = { $count ->
        [one] 1 finding
       *[other] { $count } findings
    } in { $place }
    .next = keep a copy (`turno backup FILE`, or pg_dump) before anything else, and report the findings
check-repairable = { $count ->
        [one] 1 finding
       *[other] { $count } findings
    } in { $place }
    .next = keep a copy (`turno backup FILE`, or pg_dump), then run `turno check --repair`
check-subject = { $parts }
check-audit = the audit
check-queue = queue { $name }
check-key = key { $name }
check-item = item { $name }
check-lane = lane { $name }
check-place = place { $name }
check-task = task { $name }
check-line = line { $name }
check-article = article { $name }
check-position = position { $name }
check-token = token { $name }
check-several-heads = { $count } items are ready at once
check-head-not-first = its head is not its first item
check-several-deliveries = { $count } deliveries are in process or ready
check-group-size = the delivery with fence { $fence } was handed out with { $size } items and has { $count }
check-finished-twice = it is finished and unfinished at once
check-no-row = it was accepted and is neither unfinished nor finished
check-no-contents = it is unfinished and has no contents
check-finished-without-contents = it is finished and has no contents
check-contradiction = its state contradicts itself
check-no-error = it is exhausted and no error is stored
check-unreachable = no claim can reach it
check-sync-doubles = { $count } unfinished items
check-revision-ahead = revision { $handed } was handed out, the newest is { $newest }
check-beyond-sequence = { $number } is beyond the sequence, which has reached { $newest }
check-fence-not-newer = fence { $fence } is held, and { $ended } ended before it
check-overlap = fence { $fence } began at { $began }, and the previous one ended at { $ended }
check-fence-never-held = fence { $fence } never held the task
check-moved-unapplied = stock moved for a line that is not applied
check-completed-unapplied = the task is completed and this line is not applied
check-stock-differs = { $quantity } in stock, the moves add up to { $moved }; { $serials } serial numbers, the moves name { $named }
check-gap = the next position is { $next }
check-not-a-hash = the secret is not stored as a hash
check-repaired = repaired
check-corrected = { $count ->
        [one] 1 item corrected
       *[other] { $count } items corrected
    }
check-ended = { $count ->
        [one] 1 delivery ended
       *[other] { $count } deliveries ended
    }
check-removed = { $count ->
        [one] 1 row removed
       *[other] { $count } rows removed
    }
check-restored = { $count ->
        [one] 1 item restored
       *[other] { $count } items restored
    }
check-merged = { $count ->
        [one] 1 item merged
       *[other] { $count } items merged
    }
backup-postgres = { $place } is a PostgreSQL database, which has its own tools for backups
    .next = use pg_dump, for example: pg_dump --format=custom --schema=turno --file=turno.dump DATABASE
backup-failed = { $cause }
    .next = name a file that does not exist yet, in a folder that can be written
backup-done = copied { $place } to { $file }
audit-none = no audit entries match
audit-entries = entries
audit-intact = the audit log of { $count ->
        [one] 1 entry
       *[other] { $count } entries
    } is intact; keep its head elsewhere
audit-broken = the audit log was tampered with: { $cause }
    .next = keep a copy of the database as it is, and find out who could write to it

# The demo.

demo-database = the demo works only on a temporary file or on PostgreSQL
    .next = leave out --database, name an empty PostgreSQL database, or use `turno serve --database URL`
demo-folder = failed to create { $path }: { $cause }
    .next = set TMPDIR to a folder that can be written
demo-folders-full = { $path } is full of folders of earlier demos
    .next = remove the folders named turno-demo-* there
demo-port = failed to get a port for the demo's module: { $cause }
    .next = end other programs on this machine to free a port
demo-title = Turno { $version } · demo · { $kind }, { $place } ({ $end }) · stop with Ctrl-C
demo-end-drop = drop the database when you are done
demo-end-removed = removed at the end
demo-console = {"  "}console   { $url }/   API { $url }/docs
demo-try = {"  "}try       1 as Ana, process a task · 2 as Leo, claim the same one · 3 as Eva, release it
demo-try-sync = { demo-try } · 4 in SQL, update siper.usuarios
demo-editor = an editor
demo-editor-beside = another editor, beside Ana in the same browser
demo-editor-private = another editor, in a private window
demo-admin-private = an administrator, in a private window
demo-unreachable = failed to reach the database: { $cause }
    .next = name a database that exists and can be reached, or leave out --database
demo-not-empty = the database already has a schema { $schema }, and the demo changes no existing data
    .next = create an empty database, for example with `createdb turno_demo`
demo-setup = failed to set up the demo: { $cause }
    .next = use an empty database
demo-stopped = the demo stopped: { $cause }
    .next = start it again

# serve, man, healthcheck.

queue-policy-refused = the queue { $queue } cannot have the policy of the configuration: { $cause }
    .next = a queue with unfinished items keeps its kind; use another name for the new queue
setup-needed = there is no administrator yet; create the first one
setup-link = {"  "}in a browser, once, within 30 minutes: { $url }
setup-command = {"  "}or on the command line: turno user add YOUR-ID --role admin --password-stdin
man-failed = failed to write { $place }: { $cause }
    .next = check that the folder can be written
man-page = the page
man-written = the manual is in { $folder }; begin with `man -l { $folder }/turno.1`

# Users and tokens.

user-changed = { $user } is now { $role }, with the name { $name }
user-disabled = { $user } is disabled, and what they held is free
user-enabled = { $user } is enabled again
user-password-set = { $user } has a new password
user-linked = { $user } is linked, and signs in with the OpenID provider
user-unlinked = { $user } is not linked any more
user-identity = the { $field } is not valid: { $cause }
    .next = give the issuer of [oidc] and the claim sub of the person
user-no-admin = { $user } is no enabled administrator
    .next = list the users with `turno user list`
user-break-glass = this link signs { $user } in once, within 15 minutes:
user-removed = { $user } is removed, with all their tokens
user-added = added { $user } ({ $name }), { $role }
user-token-hint = to create a token for the API: turno token create --user { $user }
user-none = no users yet; add one with `turno user add ID --role admin`
user-unknown = { $user } is not known
    .next = list the users with `turno user list`
user-no-change = there is nothing to change
    .next = name the change: turno user change { $user } --role viewer|editor|admin, or --name NAME
user-state-active = active
user-state-disabled = disabled
user-tokens = { $live }, and { $expired } expired
password-prompt = type the password and press Enter (it is shown as you type):
password-stdin = failed to read stdin: { $cause }
    .next = pipe the password in as UTF-8
password-refused = a password has at least { $min } characters and at most { $max } bytes; choose another
    .next = give one line on stdin, for example: { $example }
password-common = this password is easy to guess; choose another
    .next = give one line on stdin, for example: { $example }
password-hash = failed to hash the password
    .next = try again
answer-yes = yes
answer-no = no
token-resources-max = a token may have at most { $max } prefixes of resources and { $max } queues
    .next = give shorter prefixes that cover them
token-is-revoked = { $token } is revoked
token-user-unknown = there is no user { $user }
    .next = add the user first: turno user add { $user } --role editor
token-unknown = there is no token { $token }
    .next = list the ids with `turno token list`
token-not-an-id = there is no token with that id; give the id, not the token itself
    .next = list the ids with `turno token list`
token-none = no tokens yet; create one with `turno token create --user ID`
token-for-machine = machine
token-for-person = person
token-may-all = all of the user
token-resources-all = all
token-resources-none = none
never = never

# Servers.

token-on-command-line = a token on the command line can be read by everyone on this machine
    .next = put it into the variable TURNO_TOKEN or into a file for --token-file, and revoke this one if others use the machine
token-file = failed to read the token from { $path }: { $cause }
    .next = check --token-file; the file contains one token and nothing else
credentials-read = failed to read { $path }: { $cause }
    .next = check its permissions, or set TURNO_TOKEN
credentials-write = failed to write { $path }: { $cause }
    .next = check the permissions of its folder, or set TURNO_TOKEN
credentials-broken = { $path } is not a file of turno login
    .next = remove it and run `turno login` again
credentials-nowhere = there is no configuration folder to keep the token in
    .next = set XDG_CONFIG_HOME or HOME, or use TURNO_TOKEN
login-open = sign in here, in a browser on this machine: { $url }
login-timeout = no sign-in arrived within 10 minutes
    .next = run `turno login` again
login-random = the system has no random numbers: { $cause }
    .next = try again
login-listen = failed to listen on 127.0.0.1: { $cause }
    .next = try again, or set TURNO_TOKEN
login-answer = the answer of { $server } is not one of a Turno server
    .next = check --server or TURNO_URL
login-done = signed in to { $server } as { $user }; the token is in { $path }
login-page-done = Signed in. You can close this page.
login-page-unknown = This page expects a sign-in of turno login.
logout-none = there is no kept token for { $server }
    .next = nothing to do, or name another server with --server
logout-done = signed out of { $server }; the token of { $user } is revoked
server-url = the server's address is not a URL
    .next = give --server or TURNO_URL as http://HOST:PORT or https://HOST
server-url-scheme = the server's address begins with neither http:// nor https://
    .next = give --server or TURNO_URL as http://HOST:PORT or https://HOST
server-url-credentials = the server's address has a user or a password, but Turno needs a token
    .next = give --server or TURNO_URL as http://HOST:PORT or https://HOST
list-more = there are more: add --cursor { $cursor }
server-other = { $server } answered { $status }, but not as a Turno server
    .next = check --server or TURNO_URL, because another program may listen there
server-unexpected = the answer of { $server } is not one of a Turno server
    .next = check --server or TURNO_URL, because another program may listen there
server-unreachable = no server answers at { $server }: { $cause }
    .next = start it with `turno serve`, or name another server with --server or TURNO_URL
server-slow = { $server } took too long to answer, so the outcome is not known
    .next = check the state before you repeat the command; check the server with `turno healthcheck`
server-lost = the connection to { $server } was lost: { $cause }
    .next = check the state before you repeat the command; check the server with `turno healthcheck`
server-reconnect = the connection to { $server } was lost; trying again

# Problems that a server answered. The server wrote $cause in this language.

problem-line = line { $line }: { $cause }
problem-after = { $cause } (the first { $stored } items are stored)
answer-unauthenticated = { $cause }
    .next = create a token where the database is, with `turno token create --user ID`, and put it into the variable TURNO_TOKEN
answer-forbidden = { $cause }
    .next = use a token of a user who has { $permission }; `turno user list` shows the roles
answer-forbidden-any = { $cause }
    .next = use a token of a user who has the permission; `turno user list` shows the roles
answer-other-resource = { $cause }
    .next = use a token that is not bound to other resources
answer-instance-required = { $cause }
    .next = add --instance NAME, which tells the processes of a machine apart
answer-held = { $cause }
    .next = wait for it with --wait 30s, or ask its holder with `turno lease request-release`
answer-lost = { $cause }
    .next = stop working on it, and claim it again if it is free (`turno why` shows the holder)
answer-lines-applied = { $cause }
    .next = repeat the command with --keep-applied to cancel the task and keep those lines
answer-not-found = { $cause }
    .next = check the name; `list` of the same command shows the known ones (`turno queue items QUEUE` for items)
answer-wrong-state = { $cause }
    .next = look at it first: `turno queue item QUEUE ID` shows its state and its history
answer-queue-changed = { $cause }
    .next = look at it with `turno queue get QUEUE`, and repeat the command
answer-kind-fixed = { $cause }
    .next = finish its items (`turno queue items QUEUE` shows them), or create a queue under another name
answer-too-large = { $cause }
    .next = send less at once, or store large data elsewhere and enqueue its address
answer-managed = { $cause }
    .next = change it in the server's configuration file and restart the server
answer-delivered = { $cause }
    .next = send a key again with `turno sync resync --key KEY`; to consume the changes yourself, remove `deliver` of the source
answer-claimed-mine = { $cause }
    .next = settle its delivery with `turno queue ack` or `fail`; otherwise it ends by itself
answer-exhausted = { $cause }
    .next = retry it with `turno queue retry QUEUE ID`, or go on with the next item
answer-cancelled = { $cause }
    .next = go on with the next item; enqueue it again under another --id if it is needed after all
answer-done = { $cause }
    .next = go on with the next item
answer-invalid = { $cause }
    .next = correct it and try again; --help of the command shows the arguments
server-busy = { $server } is busy ({ $status }); trying again in { $span }
answer-busy = { $cause }
    .next = try again in a moment; nothing was stored
answer-internal = { $cause }
    .next = try again; the server's log has more under request { $request }
answer-other = { $cause }
    .next = change what the answer names and try again; `turno why` may explain more

# Times.

when-now = now
when-just-now = just now
when-moment = in a moment
when-past = { $span } ago
when-future = in { $span }
when-for = for { $span }
when-since = since { $time }
when-soon = soon

# Leases and turno run.

lease-not-asked = the lease is free, so no request was sent
lease-asked = the holder was asked to release it
lease-line-left = you left the waiting line
lease-your-turn = it is your turn: claim it within { $span }
lease-place = number { $position } in the waiting line
lease-place-for = number { $position } in the waiting line; the place lasts { $span }
lease-not-renewed = the lease was not renewed ({ $reason }) and ends { $when }
    .next = do some work and report it with --worked, or claim it again once it is free
lease-none = no lease is held
lease-no-history = it was never held before
lease-unless-work = in { $span } unless there is work
lease-by = by { $person }
lease-requested = by { $person }, { $when }
lease-requested-message = by { $person }, { $when }: { $message }
lease-mine = { $state }, yours
lease-kept-state = { $state }, released by its holder
lease-you = you
lease-this = this lease
lease-held = { $resource } is held by { $person } { $lasting }; it ends { $until } unless it is renewed
lease-kept = { $resource } was released by { $person } and stays held; it ends { $until }
lease-offered = { $resource } is free, but reserved for { $person }, the next in line
lease-free = { $resource } is free
lease-and-waiting = { $sentence }; { $count ->
        [one] one is waiting
       *[other] { $count } are waiting
    }
run-outlived = { $command } ran for a moment without its lease: { $cause }
    .next = check the holder with `turno why`; the work of the command may be incomplete
run-stopped = { $command } was stopped: { $cause }
    .next = check the holder with `turno why`; the work of the command may be incomplete
run-stopping = stopping the command: { $cause }
run-forced = the lease was lost: { $person } forced it away
run-forced-note = the lease was lost: { $person } forced it away. Reason: { $note }
run-not-found = failed to run { $command }: there is no such command
    .next = check the name and PATH; write the command after -- as you would type it
run-not-executable = failed to run { $command }: permission denied
    .next = make it executable (chmod +x)
run-failed = failed to run { $command }: { $cause }
    .next = check the command; the lease was released
run-held = { $resource } is held by { $person } since { $time }
    .next = try again later, or wait in line with --wait 10m; `turno why` tells more
run-kept = { $resource } has been used in this period: it stays held until { $time }
    .next = nothing to do: run the command again after that time, or wait in line with --wait 10m
run-at-least = { $resource } can be held for at most { $max } after its command, and --at-least-for is { $asked }
    .next = give a shorter time, or raise max_ttl_ms in the policy of its prefix ([leases.…] in the configuration)
run-offered = { $resource } is reserved for { $person }, the next in line
    .next = try again later, or wait in line with --wait 10m; `turno why` tells more
run-just-held = { $resource } was held by another process until just now
    .next = try again later, or wait in line with --wait 10m; `turno why` tells more
run-not-granted = { $cause }
    .next = try again later, or wait in line with --wait 10m; `turno why` tells more
run-not-released = the lease could not be released ({ $cause }); it expires by itself
run-no-renewal = the lease was lost: no renewal arrived in time
run-no-answer = the lease was granted, but the server stopped answering
run-no-fence = the server granted a lease without a fence
    .next = check --server or TURNO_URL
instance-random = the system has no randomness: { $cause }
    .next = give --instance NAME

# Queues.

typing-noted = noted
cancel-item = { $item } is cancelled
queue-paused = { $queue } is paused: no items are handed out until it is resumed
queue-resumed = { $queue } hands out items again
payload-not-json = the payload is not JSON: { $cause }
    .next = put it into single quotes, as in { $object }; a text needs its own quotes, as in { $text }
input-keyboard = reading from the keyboard; end with Ctrl-D
input-unreadable = failed to read { $name }: { $cause }
    .next = check its name, and that it is UTF-8
input-empty = stdin is empty: there are no items to enqueue
    .next = write one JSON object per line, for example { $example }
input-array = stdin is a JSON array, not one JSON object per line
    .next = write each of its items on a line of its own, for example with: jq -c '.[]'
input-line-json = line { $line } is not JSON: { $cause }
    .next = write one item per line, for example { $example }
input-line-object = line { $line } is not a JSON object
    .next = write one item per line, for example { $example }
input-progress = { $sent } of { $all }
item-differs = { $outcome }, with another payload
items-none-sent = nothing was sent
queue-none = no queues yet; create one with `turno queue put NAME --kind lane`
queue-state-paused = paused
queue-state-pushed = pushed
queue-state-down = destination down { $lasting }
queue-latency = { $half } (half of the last minute), { $most } (95 of 100)
queue-nothing-out = no items are handed out until it is resumed
queue-set-by-file = the configuration file
destination-down = down since { $since }; no attempts are spent on it
destination-failing = { $count ->
        [one] answers, but the last call failed
       *[other] answers, but the last { $count } calls in a row failed
    }
destination-well = no failures known
push-signed = { $method } { $url } (signed with { $variable }, answers within { $span })
push-unsigned = { $method } { $url } (unsigned, answers within { $span })
push-nowhere = none: workers claim the deliveries
items-none = no such items
item-decided = decided at delivery
event-attempt = attempt { $attempt }
event-fence = fence { $fence }
event-by = by { $user }
event-handed = handed out { $when }
why-nothing = neither an item nor a key
    .next = name an item, or a key with --key
queue-needs-kind = there is no queue { $queue } yet, and a new one needs a kind
    .next = add --kind lane, inbox or sync; `turno queue list` shows the known queues
queue-kind-differs = queue { $queue } is of kind { $kind }; as { $other } it would keep nothing of its policy
    .next = add --reset to begin with the defaults of the new kind, or choose another name
policy-not-json = { $file } contains no policy: { $cause }
    .next = write a JSON object, for example { $example }
queue-kind-changed = { $queue } was { $kind } and is { $other } now; what was not named has the default of that kind
purge-matching = { $count ->
        [one] 1 finished item of { $queue } is
       *[other] { $count } finished items of { $queue } are
    } beyond the retention; nothing was changed
purge-done = { $count ->
        [one] 1 finished item
       *[other] { $count } finished items
    } of { $queue } purged
retry-matching = { $count ->
        [one] 1 exhausted item of { $queue } matches
       *[other] { $count } exhausted items of { $queue } match
    }; nothing was changed
retry-done = { $count ->
        [one] 1 item of { $queue } will be retried
       *[other] { $count } items of { $queue } will be retried
    }
retry-item = { $item } will be retried
item-retried-corrected = { $item } will be retried with the new payload
queue-nothing-due = nothing is due
settled-again = { $outcome }, again { $when }
settle-limited = the delivery cannot be extended: max_hold_ms of its queue ends it { $when }
settle-not-in-delivery = nothing was settled: the named item is not in this delivery
    .next = name one of its items, as the claim showed them; `turno queue item` shows the state of an item
settle-stale = this delivery has expired, and another worker may have it
    .next = stop working on it, and claim again
work-stopping = stopping the commands
work-draining = claiming nothing more; a second signal stops the commands at once
work-left = returned, and left for another run: { $count }
work-retrying = { $cause }; trying again
work-lost = the claim of { $delivery } was lost; the command was stopped
work-limited = { $delivery } cannot be extended: max_hold_ms of its queue ends it
work-stale = { $delivery } was not settled: it has expired, and another worker may process it again
work-failed = { $delivery } failed, { $outcome }: { $error }
work-unsettled = { $delivery } could not be settled: { $cause }
work-paused = { $queue } is paused and hands out no items; `turno queue resume { $queue }` resumes it
work-source = { $queue } carries changes of the source { $source }, which only a server hands out
    .next = leave out --database, and name the server with --server
work-unreadable = a delivery cannot be read
    .next = use the same version of turno here and on the server
work-not-found = there is no command { $command }
    .next = check the name and PATH; write the command after -- as you would type it
work-not-executable = { $command } is not executable
    .next = make it executable (chmod +x)
work-command-failed = failed to run { $command }: { $cause }
    .next = check the command; the delivery was returned

# Tasks and why.

task-none = no such tasks; create one with `turno task create`
task-lines-json = { $file } contains no lines: { $cause }
    .next = write a JSON array such as { $example }
lines-none = the task has no lines
task-title = task { $task }
task-is = task { $task } is { $status }
task-explained = Task { $task } is { $status }. { $lock }
task-lines-failed = task { $task } is { $status }: { $failed } of { $all } lines were not applied
    .next = correct those lines, claim the task again and finalize it again; applied lines are not applied twice
task-no-history = the task has no history yet
task-line = line { $line }
lock-held = held by { $person } { $lasting }
lock-offered = reserved for { $person }
lock-free = free
why-many = that is more than one thing
    .next = ask for a resource, task:N, a queue, QUEUE/ITEM, or QUEUE key KEY
why-unknown = there is no queue { $queue }, and no lease { $resource } was ever held
    .next = check the name; `turno queue list` and `turno lease list` show the known ones
why-down = the destination of { $queue } is down; Turno probes it
queue-empty = { $queue } has no unfinished items
why-unpolled = { $queue } is ready, but no worker is processing it
why-working = { $queue } is being processed
why-waiting = { $count } waiting
why-in-process = { $count } in process
queue-exhausted = { $count } exhausted
why-oldest = the oldest waits { $lasting }

# Synchronisation.

sync-none = the configuration has no [[sync.source]]
    .next = add one (`preset = "siper"` is an example), and name the file with --config FILE
sync-unknown = there is no source { $source }
    .next = use one of: { $names }
sync-installed = { $source }: changes of { $table } go into the queue { $queue }
sync-resync-hint = existing rows are sent by `turno sync resync --all`
sync-not-installed = { $source }: not installed
sync-removed = { $source }: removed { $object }
sync-forbidden = { $cause }
    .next = grant this role usage on the table's schema, select and trigger on the table, create on the schema of the view, and for the index membership in the role that owns the table; or let a superuser run the output of `turno sync plan`
sync-rejected = { $cause }
    .next = correct it in the source or in the table, and repeat the command
sync-failure = { $source }: { $cause }; { $next }
sync-failed = { $failed } of { $all } sources failed: { $names }
    .next = correct the failures above; the other sources were served
sync-several = there are several sources
    .next = name the source of the key: --source NAME
sync-bad-key = { $cause }
    .next = pass the key as it is
sync-key-queued = { $source }: { $key } is queued
sync-differences-listed = { $source }: only the first { $count } differences are listed
sync-pending = { $count ->
        [one] 1 key is
       *[other] { $count } keys are
    } still being delivered
sync-equal = the destination has what the sources say
sync-equal-else = nothing else differs from what the sources say
sync-differ = { $count ->
        [one] 1 key differs
       *[other] { $count } keys differ
    }
    .next = send them: `turno sync check --queue-differences`
sync-differ-queued = { $count ->
        [one] 1 key differs
       *[other] { $count } keys differ
    }; queued
sync-unfit = { $count ->
        [one] 1 key
       *[other] { $count } keys
    } cannot be queued: { $names }
    .next = change it in the table: a key has 1 to 200 characters, without control characters
sync-progress = { $source }: { $count ->
        [one] 1 key
       *[other] { $count } keys
    }, { $queued } queued
sync-progress-to = { $source }: { $count ->
        [one] 1 key
       *[other] { $count } keys
    }, { $queued } queued, up to { $key }
sync-after = { $cause }
    .next = write the key of --after as the table's column shows it, for example a number in a column of numbers
sync-unreadable = { $cause }
    .next = check the source in the configuration, and that this role may read its table
sync-continue = { $cause }
    .next = go on with --source { $source } --after { $key }; { $next }
sync-fault-absent = its triggers are not installed
    .next = run `turno sync install`
sync-fault-differs = its triggers are not as configured
    .next = run `turno sync install`
sync-fault-exhausted = exhausted: { $count ->
        [one] 1 key
       *[other] { $count } keys
    }
    .next = read their errors, then send them again: `turno queue retry-exhausted { $queue }`
sync-fault-gone = active at the destination, without a row: { $count ->
        [one] 1 key
       *[other] { $count } keys
    }
    .next = send them: `turno sync check --queue-differences`
sync-fault-refused = cannot be sent: { $count ->
        [one] 1 key
       *[other] { $count } keys
    }
    .next = change them in the table, then delete their rows from turno.intake_refused
sync-no-queue = the queue does not exist yet, so no changes are recorded: `turno sync install` or a starting server creates it
sync-no-queue-server = the queue does not exist yet: a server with this configuration creates it when it starts
sync-is-installed = yes, as configured
sync-is-absent = no: run `turno sync install`
sync-is-different = not as configured: run `turno sync install`
sync-is-blocked = no, and `turno sync install` refuses
sync-is-sqlite = no triggers on SQLite: feed the queue through the API
sync-is-unknown = unknown: { $cause }
sync-part = { $object } { $name } { $state }
sync-part-good = is as configured
sync-part-missing = is missing
sync-part-differs = is not as configured
sync-part-disabled = is disabled
sync-part-stale = is of an earlier configuration
sync-part-taken = is the name of another object
sync-left = { $count ->
        [one] 1 key left
       *[other] { $count } keys left
    } the condition, and the destination was not told (on_leave = "ignore")
sync-gone = { $count ->
        [one] 1 key is
       *[other] { $count } keys are
    } active at the destination without a row, and nothing is queued
sync-unsendable = { $count ->
        [one] 1 key
       *[other] { $count } keys
    } cannot be sent; see turno.intake_refused
sync-destination-none = none: workers claim the changes from the queue
sync-destination-well = { $endpoint }: no failures known
sync-destination-down = { $endpoint }: down for { $span }, no attempts are spent on it, next probe in { $probe }
sync-destination-down-now = { $endpoint }: down for { $span }, no attempts are spent on it, next probe now
sync-destination-failing = { $endpoint }: { $count ->
        [one] the last call failed
       *[other] the last { $count } calls failed
    }

# Arguments.

argument-duration = expected a duration such as 30s, 5m, 1h30m, 7d or 500ms
argument-unit = a unit is missing: { $number }s, { $number }m, { $number }h or { $number }ms?
argument-address = expected HOST:PORT, for example 127.0.0.1:7171 or [::1]:0
argument-task = expected a task's number, for example 7
argument-quantity = expected SKU=N, for example TORN-8=40
argument-serials = expected SKU=SERIAL,SERIAL, for example ROUTER=A1,A2
argument-negative = { $value } was taken for an option, and there is no option of that name
    .next = write a value of 0 or more; write an argument that begins with a dash after --, as in: turno queue enqueue QUEUE -- -5

# States and outcomes, by their codes.

word-item-pending = pending
word-item-in-process = in_process
word-item-processed = processed
word-item-error = error
word-item-exhausted = exhausted
word-item-cancelled = cancelled
word-item-duplicate = duplicate
word-item-queued = queued
word-item-coalesced = coalesced
word-item-acked = acked
word-item-retrying = retrying
word-item-returned = returned
word-item-superseded = superseded
word-item-stale = stale
word-item-renewed = renewed
word-item-not-in-delivery = not_in_delivery
word-sync-missing = missing
word-sync-differs = differs
word-sync-gone = gone
word-line-pending = pending
word-line-validated = validated
word-line-applied = applied
word-line-failed = failed
word-line-skipped = skipped
word-happened-created = created
word-happened-edited = edited
word-happened-ready = ready
word-happened-processing = processing
word-happened-line-edited = line edited
word-happened-line-validated = line validated
word-happened-line-applied = line applied
word-happened-line-failed = line failed
word-happened-finalized = finalized
word-happened-cancelled = cancelled
word-happened-lock-ended = lock ended
word-server-ready = ready
word-movement-in = in
word-movement-out = out
word-lease-free = free
word-lease-locked = locked
word-lease-offered = offered
word-ending-expired = expired
word-ending-released = released
word-ending-forced = forced
word-ending-no-heartbeat = no heartbeat
word-ending-idle = idle
word-ending-rolling-timeout = rolling timeout
word-ending-override = override
word-ending-user-disabled = user disabled
word-status-draft = draft
word-status-ready = ready
word-status-processing = processing
word-status-completed = completed
word-status-partially-completed = partially completed
word-status-cancelled = cancelled
word-object-function = function
word-object-view = view
word-object-index = index
word-object-table = table

# Labels of values and columns, by their names in the code. Columns are shown in capitals.

head-number = N
head-when = when
head-who = who
head-action = action
head-what = what
head-detail = detail
head-resource = resource
head-holder = holder
head-since = since
head-expires = expires
head-waiting = waiting
head-from = from
head-to = to
head-ending = how it ended
head-outcome = outcome
head-queue = queue
head-kind = kind
head-oldest = oldest
head-done-per-minute = done/min
head-key = key
head-state = state
head-attempts = attempts
head-attempt = attempt
head-came = came
head-last-error = last error
head-delivery = delivery
head-item = item
head-payload = payload
head-task = task
head-status = status
head-title = title
head-lines = lines
head-lock = lock
head-line = line
head-movement = movement
head-user = user
head-for = for
head-may = may
head-resources = resources
head-queues = queues
head-last-used = last used
head-name = name
head-role = role
head-identity = identity
head-password = password
head-claim = claim
head-heartbeat = heartbeat
head-rolling = idle limit
head-offered-to = offered to
head-asked-for = release requested
head-waited = waited
head-done-after = done after
head-destination = destination
head-next-probe = next probe
head-paused = paused
head-set-by = set by
head-oldest-waiting = oldest waiting
head-push = push
head-due = due
head-revision = revision
head-table = table
head-installed = installed
head-conflict = conflict
head-to-do = to do
head-failing = failing
head-left = left
head-gone = gone
head-refused = refused
head-created = created
head-lease = lease

# Counts of items by their state.

head-count-pending = pending
head-count-in-process = in process
head-count-processed = processed
head-count-error = error
head-count-exhausted = exhausted
head-count-cancelled = cancelled

# Rates of a queue.

head-rate-enqueued = enqueued in the last minute
head-rate-processed = processed in the last minute
head-rate-failed = failed in the last minute

# Events of an item, by their codes.

head-event-enqueued = enqueued
head-event-handed-out = handed out
head-event-failed = failed
head-event-claimed = claimed
head-event-acked = acked
head-event-retrying = retrying
head-event-returned = returned
head-event-expired = expired
head-event-retried = retried
head-event-superseded = superseded
head-event-skipped = skipped
head-event-cleared = cleared
head-event-edited = edited
head-event-exhausted = was exhausted
head-event-processed = was processed
head-event-cancelled = was cancelled

# Keys of a queue's policy.

head-policy-kind = kind
head-policy-lock-timeout = lock timeout
head-policy-max-hold = max hold
head-policy-window = window
head-policy-typing-extension = typing extension
head-policy-max-wait = max wait
head-policy-batch-max = batch max
head-policy-max-attempts = max attempts
head-policy-backoff = backoff
head-policy-retention = retention
head-policy-on-exhausted = on exhausted
