# Messages about the configuration, for the command line and for queues that are set over the API. A cause follows the
# name of its key. The attribute `next` says what to write instead.

# The place of a value.

from-default = default
from-file = { $path } line { $line }
from-preset = preset { $name }
from-demo = demo

# A refused value, with its place.

setting-refused = { $origin }: { $setting } { $wrong }
    .next = { $next }; { $page } explains every key
setting-refused-default = { $setting } { $wrong }
    .next = { $next }; { $page } explains every key
setting-detail = { $wrong }; { $next }
setting-nested = { $field } { $wrong }
    .next = { $next }
setting-unknown = { $origin }: unknown key `{ $key }`
    .next = remove the line; known keys: { $names }
setting-unknown-in = { $origin }: unknown key `{ $key }` in [{ $table }]
    .next = remove the line; known keys: { $names }
setting-unknown-meant = { $origin }: unknown key `{ $key }`; did you mean `{ $meant }`?
    .next = write `{ $meant }`, or remove the line; { $page } lists every key
setting-unknown-meant-in = { $origin }: unknown key `{ $key }` in [{ $table }]; did you mean `{ $meant }`?
    .next = write `{ $meant }`, or remove the line; { $page } lists every key
setting-no-table = { $origin }: { $setting } is { $found }
    .next = write it as a table, [{ $setting }]; { $page } has an example
setting-lease-prefix = { $origin }: a table under [leases] has a name that is not a prefix
    .next = write the part of the resource's name before the first `:`, as in [leases.file]
setting-queue-name = { $origin }: a table under [queues]: { $cause }
    .next = give the queue another name
setting-source-list = { $origin }: sync.source is { $found }
    .next = write [[sync.source]] with two brackets, because there may be several

# The file.

config-unreadable = failed to read the configuration { $path }: { $cause }
    .next = check the path of --config or TURNO_CONFIG, and that this user may read the file
config-too-large = failed to read the configuration { $path }: it has { $size } bytes, more than { $max }
    .next = check the path of --config or TURNO_CONFIG
config-syntax = { $origin }: { $cause }
    .next = correct the line; the file is TOML, in which texts have quotes

# Forms and bounds.

setting-bound = is { $number }, but must be between { $min } and { $max }
    .next = write a number from { $min } to { $max }
setting-between = must be between { $min } and { $max }
    .next = write a number from { $min } to { $max }
setting-form = is { $found }, but must be { $expected }
    .next = write { $expected }
setting-choice = must be one of { $choices }
    .next = write one of { $choices }
setting-choice-meant = must be one of { $choices }
    .next = write "{ $meant }"
form-text = a text
form-text-quoted = a text in quotes
form-texts = a list of texts, such as ["one", "two"]
form-number = a whole number
form-number-between = a whole number between { $min } and { $max }
form-number-or-false = a whole number between { $min } and { $max }, or false
form-switch = true or false
form-table = a table
form-list = a list
form-list-with = a list with { $found }
form-large-number = a number beyond 64 bits
form-fraction = a number with a fraction
form-date = a date
form-other = something else
form-choice = one of { $choices }

# Texts.

setting-database = is not the URL of a database
    .next = write sqlite:PATH, for example sqlite:turno.db, or postgres://USER@HOST/DATABASE
setting-database-kind = names { $scheme }://, which is not supported
    .next = use sqlite: or postgres://, for example sqlite:turno.db or postgres://USER@HOST/DATABASE
setting-database-parameter = cannot be used: { $cause }
    .next = correct the parameter; docs/operating/tls.md lists the parameters of TLS
setting-address = is not an address
    .next = write HOST:PORT, for example 127.0.0.1:7171 or [::1]:0
setting-url = is not an HTTP URL
    .next = write http://HOST[:PORT]/PATH or https://HOST[:PORT]/PATH
setting-url-credentials = has a user or a password in it
    .next = leave out user and password; use `secret_env` to sign requests
setting-url-query = has something after ? or #
    .next = end it with the host or a path
setting-oidc-missing = is missing
    .next = write issuer, client_id and client_secret_env in [oidc]
setting-oidc-scopes = has no "openid"
    .next = add "openid" to the list
setting-oidc-role = is not a role
    .next = write "viewer", "editor" or "admin"
setting-oidc-roles = is missing or empty, so no person could sign in
    .next = map a group of the provider to a role, as in roles = {"{"} "staff" = "editor" {"}"}
setting-endpoint-hidden = has *** in place of its query, and differs from the stored URL
    .next = write the whole URL, or leave out push to keep the stored one
setting-endpoint-braces = has braces around something other than key
    .next = use {"{"}key{"}"}, the only placeholder
setting-endpoint-key = has {"{"}key{"}"} where it may not be
    .next = use {"{"}key{"}"} only in the path or after ?
setting-origin = has an entry that is not an origin
    .next = write scheme, host and port only, for example https://app.example.com
setting-origin-path = has an entry with something after the host
    .next = write scheme, host and port only, for example https://app.example.com
setting-log-filter = is not a filter of log levels
    .next = write error, warn, info, debug, trace or off, or directives such as info,turno=debug
setting-variable = is not the name of a variable
    .next = write the variable's name, for example MODULE_SECRET, and put the secret into the variable
setting-name = is not a name
    .next = write 1 to { $max } characters without control characters
setting-identifier = is not a name in the database
    .next = write 1 to 63 bytes without control characters
setting-identifier-dot = has a dot in it
    .next = leave out the dot: only tables and views have a schema
setting-relation = is not the name of a table
    .next = write TABLE or SCHEMA.TABLE, without quotes
setting-condition = is not a condition
    .next = write a condition of 1 to { $max } bytes, or leave out the key
setting-network = has an entry that is not a network
    .next = write networks such as 10.0.0.0/8 or 192.168.1.7

# Values that conflict with others.

setting-metrics-address = is the same address as listen
    .next = give metrics a port of their own
setting-max-ttl = is { $number }, but must be at least ttl_ms, which is { $ttl }
    .next = raise max_ttl_ms or lower ttl_ms
setting-heartbeat = is { $number }, but must be below ttl_ms, which is { $ttl }
    .next = lower heartbeat_interval_ms or raise ttl_ms
setting-queue-kind = is missing
    .next = add kind = "lane", "inbox" or "sync"
setting-queue-fields = is refused: { $cause }
    .next = correct the table
setting-push-url = has no url
    .next = add url = "https://…"
setting-deliver-url = has no url
    .next = add url = "https://…/{"{"}key{"}"}"
setting-push-method = must be POST, PUT or PATCH
    .next = write one of them, in capitals
setting-push-timeout = is longer than a delivery of this queue lasts, which is { $hold } ms
    .next = shorten it, or give the queue a longer max_hold_ms
setting-push-private = leads to a private address
    .next = set it in the configuration file, or allow its network there with push.allow
setting-push-secret-name = must begin with { $prefix }
    .next = set a variable of the server whose name begins with { $prefix }, and name that one
setting-push-secret-unset = is not set in this server
    .next = set a variable of the server whose name begins with { $prefix }, and name that one
setting-source-missing = is missing
    .next = add { $field }, or start from preset = "{ $preset }"
setting-source-watch = is missing
    .next = list the columns whose changes matter
setting-source-current = needs current_when
    .next = add current_when, or remove one_current_per_key
setting-source-queue = is refused: { $cause }
    .next = choose another name
setting-columns-empty = is an empty list
    .next = name at least one column
setting-columns-twice = names { $column } twice
    .next = remove one of them
setting-trigger-missing = is missing, and the name of this source cannot serve as one
    .next = add trigger with a name of at most 63 bytes, without dots
setting-actions-same = gives both the same name
    .next = give each action a name of its own
setting-actions-both = must name both update and deactivate
    .next = write actions = {"{"} update = "…", deactivate = "…" {"}"}
setting-source-shared = is also that of the source { $source }
    .next = give each source a { $field } of its own
setting-source-kind = must be "sync", because the source { $source } uses the queue
    .next = write kind = "sync"
setting-source-owns = belongs to the source { $source }, which uses the queue
    .next = give { $field } in its [[sync.source]]
secret-unset = the variable { $variable }, which is to sign deliveries, is not set
    .next = set { $variable } to the secret, or remove `secret_env` to send unsigned requests

# Production.

production-unsafe = production does not start with these settings:{ $causes }
    .next = { $steps }
production-leave = or use --env development on a developer's machine
production-push-private = push.allow_private lets endpoints set over the API reach every private address
    .next = name the wanted networks in push.allow, and remove push.allow_private
production-cors-all = cors_origins has "*", so every page in the world may call the server
    .next = list the origins of your pages in cors_origins
production-cors-http = cors_origins has { $origin }, a page that anyone on the way can change
    .next = serve that page over https and write https:// in cors_origins
production-url-http = public_url is { $url }, so tokens and sessions would travel unencrypted
    .next = serve it over https and write https:// in public_url
production-oidc-http = oidc.issuer is { $url }, so sign-ins would travel unencrypted
    .next = write the https:// address of the provider in oidc.issuer
production-listen = listen is { $address }, which others can reach, and no setting says that HTTPS is in front
    .next = set public_url to the https:// address that people use, or behind_proxy = true, or listen on 127.0.0.1
production-memory = database is in memory and ends with the process
    .next = give the database a file, for example sqlite:/var/lib/turno/turno.db
production-plaintext = { $hosts } is reached without TLS, so that passwords and data can be read on the way
    .next = add sslmode=verify-full to the database URL (at least sslmode=require), or set database_plaintext = true
production-database = the database runs with { $setting }, so accepted work can be lost
    .next = switch it on in postgresql.conf and restart PostgreSQL
production-demo-user = { $user } is an account of the demo
    .next = remove it: turno user remove { $user }
