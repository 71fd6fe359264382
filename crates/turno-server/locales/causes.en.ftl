# Causes from further inside: the library's and the readers' own sentences, with places for what varies. They are looked up
# by their English text, so this file repeats what the code says, word for word; see src/texts/causes.rs. The first that fits
# is taken: the more particular stand above. A `$field` has no spaces, a `$min`, `$max`, `$number`, `$line` or `$column` is a
# number; `$cause`, `$then`, `$what` and `$expected` are looked
# up in their turn.

# JSON and forms.

because-at = { $cause } at line { $line } column { $column }
because-broke-off = the body broke off before its end; send all of it
because-eof = EOF while parsing { $what }
because-eof-value = a value
because-eof-object = an object
because-eof-list = a list
because-eof-string = a string
because-trailing = trailing characters
because-trailing-comma = trailing comma
because-key-string = key must be a string
because-control = control character (\u0000-\u001F) found while parsing a string
because-escape = invalid escape
because-number = invalid number
because-range = number out of range
because-unicode = invalid unicode code point
because-surrogate = lone leading surrogate in hex escape
because-deep = recursion limit exceeded
because-digit = invalid digit found in string
because-empty-number = cannot parse integer from empty string
because-large = number too large to fit in target type
because-small = number too small to fit in target type
because-bool = provided string was not `true` or `false`
because-missing-field = missing field `{ $field }`
because-unknown-field = unknown field `{ $field }`, { $expected }
because-twice = duplicate field `{ $field }`
because-variant = unknown variant `{ $found }`, { $expected }
because-list = invalid type: sequence, expected an object
because-type = invalid type: { $found }, { $expected }
because-value = invalid value: { $found }, { $expected }
because-length = invalid length { $found }, { $expected }
because-no-variant = data did not match any variant of untagged enum { $name }
because-no-fields = there are no fields
because-one-of = expected one of { $words }
because-expected = expected { $what }
because-json-value = value
because-json-ident = ident
because-string = a string
because-boolean = a boolean
because-sequence = a sequence
because-map = a map
because-i64 = i64
because-u32 = u32
because-u64 = u64
because-missing = missing

# Names and bounds.

because-name-empty = { $what } is empty; give it 1 to { $max } characters
because-name-long = { $what } has more than { $max } characters; shorten it
because-name-control = { $what } contains a control character; remove it
because-resource = resource
because-user-id = user id
because-instance = instance
because-queue-name = queue name
because-item-id = item id
because-key = key
because-scope = scope
because-request-id = request id
because-sku = sku
because-serial = serial number
because-reason-empty = it is empty; say why, for whoever reads the audit
because-text-long = it has more than { $max } bytes; shorten it
because-zero-or-more = 0 or more
because-policy = { $field } must be between { $min } and { $max }
because-is-between = is { $number }, but must be between { $min } and { $max }
because-between = between { $min } and { $max }
because-must-between = must be between { $min } and { $max }
because-lie = must lie between 0 and a year
because-to-characters = 1 to { $max } characters, without control characters
because-title = must have 1 to { $max } characters
because-to = { $min } to { $max }
because-split = at most { $max }, not { $number }; split it
because-beginnings = at most { $max }; give the beginnings that they share
because-items = at most { $max } items at once, not { $number }
because-deliveries = at most { $max } deliveries at once, not { $number }
because-at-once = at most { $max } at once
because-at-most = at most { $max }, not { $number }
because-nul = without NUL
because-ttl = the ttl must lie between { $min } and { $max } ms
because-concurrency = a worker's concurrency must be between 1 and { $max }
because-answer = an answer is kept up to { $max } bytes, and without NUL

# Words that are known.

because-no-state = { $found } is no state of an item; the states are { $words }
because-no-status = { $found } is no status of a task
because-no-permission = { $found } is no permission; there are { $words }
because-no-role = { $found } is no role; there are viewer, editor and admin
because-roles = viewer, editor or admin
because-topic = { $found } is no topic; use leases, tasks, queues, sync or audit
because-no-topic = unknown topic { $found }; there are { $words }
because-boolean-word = true or false
because-format = { $found }; csv or json
because-no-place = { $found } is no place in a history
because-no-head = { $found } is not a head of the audit; expected NUMBER:HASH as `audit verify` prints it
because-cursor = pass on the next_cursor of the page before, unchanged
because-delivery = not a delivery; pass the text on exactly as it was handed out

# Tasks and queues.

because-engine-looks = the engine looks at leases itself, when they are due
because-serialized-quantity = a serialized line has serials, and no quantity
because-serialized-none = a serialized line needs its serials
because-one-needed = at least one is needed
because-quantity-serials = a line by quantity has a quantity, and no serials
because-quantity-none = a line by quantity needs its quantity
because-serial-twice = { $serial } is there twice
because-no-lines = a task needs at least one line before it is ready
because-takeable = a task that can be taken has at least one
because-lives = { $what } lives 1 to { $max } seconds
because-a-link = a link
because-a-session = a session
because-larger = larger than { $max } bytes
because-nul-json = contains a NUL character, which no JSON text has
because-lock-out = lock the user out instead; their leases end with that
because-whose = a lane or sync queue needs to know whose item it is
because-no-key = a delivery without a key is none of a source

# People and tokens.

because-not-around = a handle that acts for somebody cannot go around the rules
because-behalf = only somebody who is signed in can act for somebody else; authenticate first
because-hold-as = { $user } cannot hold anything as { $other }; act on their behalf instead
because-copy = only a full administrator's token can copy the database
because-randomness = the system has no randomness: { $cause }
because-database = the database must be given as sqlite:PATH or postgres://USER@HOST/DATABASE
because-token-people = a token for some resources cannot manage people
because-own-token = only a full token of your own can change your account
because-role-token = { $user } is { $role } and may not { $permission }, so no token of theirs can; change the role first
because-token-expired = the token would have expired already; give it a later time
because-tokens-most = { $user } has { $max } tokens, which is the most; revoke some first
because-session-holds = a session cannot hold { $permission }; use a token of its own
because-outlives = this token cannot make one that outlives it or is of another kind
because-reach = a token cannot reach further than the one that makes it
because-admin-already = there is an administrator already; ask them, or make a link to sign in as somebody
because-nobody-signed-in = nobody who is signed in can { $what }; the program itself does
because-make-link = make a link
because-use-link = use a link
because-own-password = only they themselves can change their password

# What there is not.

because-task-line = task { $task } line { $line }
because-task = task { $field }
because-line = line { $field }
because-queue = queue { $field }
because-source = source { $field }
because-token = token { $field }
because-the-link = the link

# The audit's chain.

because-chain-place = entry { $found } stands where entry { $expected } belongs
because-chain-changed = entry { $n } is not what it was when it was written
because-chain-end = the chain ends at entry { $found }, its head says { $expected }
because-chain-kept = entry { $n } has another hash than the head kept elsewhere; the chain was rewritten

# Sources.

because-no-triggers = triggers need PostgreSQL; on SQLite a sync queue is fed through the API
because-secret-not-set = the variable { $name }, which is to sign deliveries, is not set
because-set-the-secret = set { $name } to the secret, or remove `secret_env` to send unsigned requests
because-no-triggers-next = put changes into the queue with `turno queue enqueue` or { $way }, or use PostgreSQL
because-no-table = there is no table { $table }
because-no-table-next = create it first, or correct `table` of the source: capitals count, and it is written without quotes
because-not-table = { $table } is not a table
because-not-table-next = name an ordinary or a partitioned table
because-no-column = table { $table } has no column { $columns }
because-no-column-next = correct `key`, `watch` and `payload` of the source; capitals count
because-key-type = column { $name } is of type { $kind }, which cannot be a key
because-key-type-next = choose a column of whole numbers, numeric, text, uuid or an enum
because-too-long-for = { $given } is too long for { $kind }
because-not-a-key = this cannot be a key of column { $name }: { $said }
because-not-a-key-next = pass a value of { $name } as it stands in the table
because-row-delivered = what is delivered is the row in { $table }; correct it there, and retry without a payload
because-key-or-all = either key, or all
because-unreadable = { $role } may not read { $table }
because-unreadable-next = grant usage on its schema, and select on { $table }, to { $role }
because-hidden = row security of { $table } hides rows from { $role }, which would look as if they were gone
because-hidden-next = give { $role } bypassrls, or a policy for all rows
because-condition = the conditions cannot be used: { $cause }
because-condition-next = correct `current_when` and `enqueue_when`; names outside pg_catalog need their schema
because-kind-stays = queue { $name } has unfinished or exhausted items, so it stays of kind { $kind }; empty it first, or use another name
because-no-queue = there is no queue { $queue } of kind sync
because-no-queue-next = create it, or let `turno sync install` do it
because-a-table = table
because-a-view = view
because-an-index = index
because-a-trigger = trigger
because-a-function = function
because-a-materialized-view = materialized view
because-a-foreign-table = foreign table
because-a-sequence = sequence
because-a-relation = relation
because-taken = { $what } { $name } exists already and is not of this source
because-taken-next = choose another name in the source, or remove what is there
because-duplicates = more than one current row for { $keys } of { $table }: { $found }
because-duplicates-next = leave one current row per key, then install again; or set one_current_per_key = false
because-ident-empty = a name in the database is empty; give it 1 to { $max } bytes
because-ident-long = { $name } has more than { $max } bytes, and the database would cut it; shorten it
because-ident-nul = a name or a text contains a NUL character; remove it
because-ident-next = correct it in the configuration

# Settings of a queue.

because-is-no-url-of-http = is no URL of HTTP
because-write-http-host-port-path-or = write http://HOST[:PORT]/PATH or https://HOST[:PORT]/PATH
because-has-a-user-or-a-password = has a user or a password in it
because-leave-user-and-password-out-of = leave user and password out of it; use `secret_env` where requests are to be signed
because-has-stars-where-the-rest-is = has *** where the rest is hidden, and is not what is kept here with its rest hidden
because-write-the-whole-url-or-leave = write the whole URL, or leave out push to keep what there is
because-has-braces-around-something-other-than = has braces around something other than key
because-the-only-placeholder-is-key = the only placeholder is {"{"}key{"}"}
because-has-key-where-it-may-not = has {"{"}key{"}"} where it may not be
because-use-key-in-the-path-or = use {"{"}key{"}"} in the path or behind ? only
because-is-not-the-name-of-a = is not the name of a variable
because-write-the-variables-name-for-example = write the variable's name, for example MODULE_SECRET, and put the secret into the variable
because-is-longer-than-a-delivery-of = is longer than a delivery of this queue lasts, which is { $number } ms
because-shorten-it-or-give-the-queue = shorten it, or give the queue a longer max_hold_ms
because-raise-max-ttl-ms-or-lower = raise max_ttl_ms or lower ttl_ms
because-correct-the-table = correct the table
because-private-address = leads to a private address
because-private-address-next = let the configuration file set it, or allow its network there with push.allow
because-begin-with = must begin with { $field }
because-begin-with-next = set a variable of the server whose name begins with { $field }, and name that
because-form = is { $found }, but must be { $expected }
because-write-number = write a number from { $min } to { $max }
because-did-you-mean = did you mean { $word }?
because-write = write { $what }
because-must-be = must be { $what }
because-is-missing = is missing
because-no-url = has no url
because-methods = POST, PUT or PATCH
because-capitals = one of them, in capitals
because-not-set = is not set in this server

# Put together: what it is about, and what to do.

because-of = { $field }: { $cause }
because-both = { $cause }; { $then }
because-or = { $one } or { $two }
