# The console: what stands on every page.

motto = One at a time, in turn, nothing lost
skip = Skip to the content
nav = Sections
nav-overview = Overview
nav-tasks = Tasks
nav-leases = Locks
nav-queues = Queues
nav-sync = Sync
nav-audit = Audit
nav-admin = Administration
sign-out = Sign out
sign-in = Sign in
theme-now = Now: { $theme ->
        [dark] dark colours
        [light] light colours
       *[auto] the colours of the machine
    }
theme-next = { $theme ->
        [dark] Switch to dark
        [light] Switch to light
       *[auto] Follow system
    }
live-updated = Updated { $ago }
live-lost = No connection since { $since }. { $updated }. It retries by itself.
ago-now = now
ago-s = { $n } s ago
ago-m = { $n } min ago
ago-h = { $n } h ago
ago-d = { $n } d ago
in-s = in { $n } s
in-m = in { $n } min
in-h = in { $n } h
in-d = in { $n } d
copied = Copied
copy = Copy
filter = Filter
pages = Pages
page-first = ‹ To the beginning
page-next = Next ›
dismiss = Back
reason = Reason
reason-hint = It stays in the audit, with your name.
go-home = Go to the overview
request-id = If you ask for help, give this number:

# The way in.

session-ended = Your session ended and nothing was saved. Come in again and you are back on the same page.
session-over = Your session ended: its time was up, it was closed in another window, or an administrator closed it. From now on this page neither updates nor saves anything.
session-again = Come in again
way-in-title = { $kind ->
        [setup] First administrator
       *[sign_in] Sign in
    }
way-in-lead = { $kind ->
        [setup] Nobody is here yet. You will be the one who adds the others.
       *[sign_in] Sign in to see your work and do it.
    }
way-in-user = { $kind ->
        [setup] Your user name
       *[sign_in] User
    }
way-in-password = { $kind ->
        [setup] A new password
       *[sign_in] Password
    }
way-in-hint = { $kind ->
        [setup] At least 8 characters.
       *[sign_in] Forgotten? Ask an administrator for a new password.
    }
way-in-button = { $kind ->
        [setup] Create and come in
       *[sign_in] Come in
    }

# States: the one word for each, wherever it is shown.

state-pending = Waiting
state-in_process = In process
state-processed = Processed
state-error = Failed
state-exhausted = Exhausted
state-cancelled = Cancelled
state-free = Free
state-locked = Locked
state-offered = Offered
state-paused = Paused
state-active = Active

# Locks.

fence = Fence
instance = Instance
filters-clear = Clear filters
filters-none = Nothing matches these filters
filters-none-what = There may be more; change the filters or clear them.
leases-lead = Who holds what, since when and until when.
leases-prefix = Resource that begins with
filter-person = Who, by name or user
leases-resource = Resource
leases-holder = Who
leases-since = Since
leases-until = Until
leases-beat = Last heartbeat
leases-worked = Last work
leases-expires = Expires
leases-waiting = Waiting
leases-asked = { $count ->
        [one] 1 person asks for it
       *[other] { $count } people ask for it
    }
leases-empty = Nobody holds anything
leases-empty-what = A lock shows up here as soon as a person processes a task or a program takes a resource. Try it:
leases-held-by = Locked by { $name } since
leases-request = { $name } asks them to let go,
leases-offered-to = It is free and offered to { $name } first; the offer ends
leases-is-free = Free. Nobody holds it.
leases-line = Waiting in line
leases-history = History
leases-history-empty = Nobody has held it before
leases-ended = How it ended
leases-force-release = Force release
leases-force-claim = Take the lock
leases-force-release-title = Release what { $name } holds?
leases-force-claim-title = Take what { $name } holds?
leases-force-release-what = They lose the lock at this moment and are told the reason. What was applied stays applied.
leases-force-claim-what = It becomes yours at this moment, before those who wait, and whoever held it is told the reason.
leases-force-released = { $resource } is free
leases-force-claimed = { $resource } is yours now
leases-force-claim-still = From here nobody renews it: it ends by itself after the time of its policy.
leases-force-claim-there = Take the lock in the task
leases-changed-hands = Nothing was done: it changed hands while you decided. { $name } has it now.
cause-no_heartbeat = Expired: it was not renewed any more
cause-idle = Expired: the person was idle
cause-rolling_timeout = Expired: too long without work
cause-override = An administrator stepped in
cause-user_disabled = The person was disabled
cause-released = They released it

# Overview.

all = All
state = State
overview-lead = What is happening now, how it has been going, and what waits for a person.
overview-now = Now
overview-held = Locks held
overview-held-what = by people and programs
overview-working = In process
overview-lanes = { $count ->
        [0] no key busy
        [one] 1 key busy
       *[other] { $count } keys busy
    }
overview-waiting = Waiting
overview-lanes-waiting = { $count ->
        [0] no key with messages
        [one] 1 key with messages
       *[other] { $count } keys with messages
    }
overview-failing = Failed
overview-failing-what = retried by themselves
overview-exhausted-what = out of attempts, need a decision
overview-collisions = Collisions avoided
overview-collisions-since = on this server since
overview-collisions-what = How often somebody wanted what another held, or came late with a fence that was over
chart-span = per minute, on this server
chart-items = Items of the queues
chart-processed = Processed
chart-failed = Failed
chart-locks = Locks
chart-claimed = Claimed
chart-collisions = Refused
overview-all = See all
overview-locks = Who holds what
needs = Needs a person
needs-none = Nothing waits for you
needs-first = There are no queues and no locks yet. To begin, see how they are made:
needs-first-what = When there is work in the queues, or somebody has something locked, it is shown here.
needs-ready = { $more ->
        [yes] More than { $count } tasks ready to be processed
       *[no] { $count ->
            [one] 1 task ready to be processed
           *[other] { $count } tasks ready to be processed
        }
    }
needs-processing = { $more ->
        [yes] More than { $count } tasks in process that nobody holds
       *[no] { $count ->
            [one] 1 task in process that nobody holds
           *[other] { $count } tasks in process that nobody holds
        }
    }
needs-exhausted = { $count ->
        [one] 1 exhausted item in { $queue }: look at it and retry
       *[other] { $count } exhausted items in { $queue }: look at them and retry
    }
needs-exhausted-others = { $count ->
        [one] 1 exhausted item in { $queue }: whoever manages queues decides about it
       *[other] { $count } exhausted items in { $queue }: whoever manages queues decides about them
    }
needs-paused = { $queue } is paused, with { $count } waiting
needs-workers = { $queue } has waited for more than 5 minutes and nobody asks for work
needs-down = The destination of { $queue } does not answer: { $error }
needs-task = The task "{ $title }" was finalized only in part

# Queues.

kind = { $kind ->
        [lane] Lane
        [inbox] Inbox
       *[sync] Sync
    }
kind-what = { $kind ->
        [lane] Lane: per key in order, one delivery at a time, and what arrives together is handed over together.
        [inbox] Inbox: each item on its own, for whoever takes it first.
       *[sync] Sync: of each key only the newest.
    }
queues-lead = How much waits, since when, and how fast it goes.
queues-has = With something
queues-name = Queue
queues-kind = Kind
queues-waiting = Waiting
queues-failing = Failed
queues-exhausted = Exhausted
queues-oldest = The oldest
queues-none-waits = nothing waits
queues-waited = Wait (median / p95)
queues-processed-minute = Processed / min
queues-failed-minute = Failed / min
queues-unfinished = Unfinished
queues-error = The last error contains
queues-cut = These are the first; choose a state to see the rest page by page.
queues-states = States
queues-key = Key
queues-key-is = Key, exactly
queues-see-key = See the key
queues-items = Items
queues-empty = There are no queues
queues-empty-what = A queue is declared in the configuration file, or made with a call:
queues-pause = Pause
queues-resume = Resume
queues-retry = Retry exhausted
queues-pause-title = Pause { $name }?
queues-pause-what = { $count ->
        [0] Nothing more is handed out until somebody resumes it. What arrives is kept.
        [one] Nothing more is handed out until somebody resumes it. What arrives is kept, and 1 item in process goes on.
       *[other] Nothing more is handed out until somebody resumes it. What arrives is kept, and { $count } items in process go on.
    }
queues-retry-title = { $count ->
        [one] Retry 1 item?
       *[other] Retry { $count } items?
    }
queues-retry-what = { $count ->
        [one] 1 exhausted item goes back to its place, with no attempts counted.
       *[other] { $count } exhausted items go back to their places, with no attempts counted. Up to 10,000 at a time.
    }
queues-paused = { $name } is paused
queues-resumed = { $name } goes on
queues-retried = { $count ->
        [one] 1 item is tried again
       *[other] { $count } items are tried again
    }
queues-policy = Policy in force
queues-managed = set by the configuration file
policy-lock_timeout = Free again without a sign of life after
policy-window = Grouping window
policy-max_wait = Longest wait
policy-on_exhausted = If the first one is exhausted
policy-hold = the key waits for a person
policy-continue = goes on with the next
policy-max_attempts = Attempts
policy-backoff = First pause between attempts
policy-typing_extension = While they type, wait
policy-max_hold = One hand-out, at most
policy-batch_max = Together, up to
policy-retention = Finished ones are kept
items-id = Item
items-attempts = Attempts
items-came = Arrived
items-detail = Detail
items-due = Handed out
items-empty = Nothing unfinished
items-empty-what = Whatever arrives is seen here at once. Try it:
why = Why?
key-window = Grouping window { $window }, at most { $max }
key-items = { $count ->
        [one] 1 unfinished
       *[other] { $count } unfinished
    }
key-all = See all, finished ones too
key-empty = Nothing unfinished
key-head = goes first
item-attempt = Attempt { $attempt }
item-attempts = { $attempts } of { $max }
item-gave-up = whoever worked on it gave up
item-again = tried again
happened-enqueued = Arrived
happened-handed_out = Handed out
happened-failed = Failed
happened-expired = Nobody answered in time
happened-exhausted = Exhausted
happened-processed = Processed
happened-skipped = There was nothing to tell
happened-returned = Given back unprocessed
happened-superseded = Changed while being processed
happened-cleared = Taken away: its lane was cleared
happened-cancelled = Cancelled
happened-retried = Somebody retried it
happened-edited = Somebody corrected and retried it
item-timeline = What happened
item-payload = Payload
item-until = free again without a sign of life
item-due = Handed out
item-action = Action
item-revision = Revision
item-retry = Retry
item-edit = Correct and retry
item-edit-title = Correct and retry
item-edit-what = The new payload replaces the old one. The audit keeps the fingerprints of both.
item-edit-bad = The contents are no JSON: { $cause }. What you typed is still here; correct it and try again
item-cancel = Cancel
item-cancel-title = Cancel this item?
item-cancel-what = It is not processed, and what waits behind it goes on. The audit says so.
item-retried = { $id } is tried again
item-cancelled = { $id } is cancelled

# More states.

state-partially_completed = Partly finalized

# Audit.

audit-lead = Who did what, to what and why. Nothing is deleted or changed without being noticed.
audit-verify = Verify the chain
audit-whole = The chain is whole: { $count } entries, up to { $head }
audit-action = Action
audit-actor = Who
audit-resource = About what
audit-resource-is = On what, exactly
who-system = The system
audit-n = No.
audit-when = When
audit-detail = Detail
audit-empty = Nobody has stepped in yet
audit-empty-what = Every intervention stays here: forced locks, retries, changes of people and queues.
audit-lock_force_claim = Took somebody's lock
audit-lock_force_release = Released somebody's lock
audit-item_retry = Retried an item
audit-item_edit = Corrected and retried
audit-item_cancel = Cancelled an item
audit-lane_clear = Cleared a key
audit-database_life = The database was found in another life; counters moved
audit-queue_repair = Repaired a queue
audit-queue_put = Defined a queue
audit-queue_pause = Paused a queue
audit-queue_resume = Resumed a queue
audit-queue_purge = Forgot finished items
audit-sync_install = Installed a source
audit-sync_remove = Removed a source
audit-sync_resync = Sent a source again
audit-sync_revived = Revived after an outage
audit-task_cancel = Cancelled a task
audit-user_add = Added a person
audit-user_change = Changed a person
audit-user_remove = Removed a person
audit-token_create = Made a token
audit-token_revoke = Revoked a token
audit-choice-token_revoke = Revoked a token or signed out
audit-signed_out = Signed out
audit-session_open = Signed in
audit-session_mint = Opened a session for another
audit-link_make = Made a link
audit-link_redeem = Used a link

# Details of entries, by their names in the audit.

detail-before_ms = Older than
detail-changed = Took effect
detail-count = How many
detail-disabled = Disabled
detail-expires_at_ms = Expires
detail-fence = New fence
detail-fence_before = Fence before
detail-holder_before = Held by
detail-machine = Of a machine
detail-password_changed = Password changed
detail-payload_after = New fingerprint
detail-payload_before = Fingerprint before
detail-reason = Reason
detail-role = Role
detail-role_before = Role before
detail-scope = May
detail-status_before = Was
detail-policy = Policy
detail-push = Destination
detail-created = New
detail-token = Token no.
yes = yes
no = no

# Administration.

save = Save
admin-people = People
admin-tokens = Tokens
admin-settings = Settings
people-lead = Who may come in and what they may do.
people-add = Add a person
people-add-what = Then give them a password on their page.
people-id = User
people-name = Name
people-role = Role
people-since = Since
people-added = { $name } is on the list; a password is still missing
people-changed = { $name } is saved
people-disabled = { $name } is disabled: cannot sign in, and what they held is free
people-enabled = { $name } can sign in again
people-removed = { $name } is gone
people-enable = Enable
people-disable = Disable
people-remove = Remove
people-disable-title = Disable { $name }?
people-disable-what = They are out at once: their sessions and tokens are dead and they lose what they hold. It can be undone.
people-remove-title = Remove { $name }?
people-remove-what = They are out at once, with their tokens. What they did stays in the audit. It cannot be undone.
people-password = A new password
people-password-what = At least 8 characters. Give it to them yourself; their other sessions end. A one-time link is made on the server's own machine.
people-password-set = Set it
people-change = Details
people-way-in = The way in
role = { $role ->
        [admin] Administrator
        [editor] Editor
       *[viewer] Viewer
    }
secret-kept = I have kept it
token-lead = A program calls with a token. It is shown when it is made, and never again.
token-new = New token
token-title = Token of { $name }
token-what = Copy it now: it is not kept and not shown again.
token-id = Token
token-user = Whose
token-kind = Kind
token-of = { $kind ->
        [console] Session of the console
        [session] Session of another application
       *[token] Token
    }
token-scope = May do
token-all = all that its owner may
token-expires = Expires
token-never = never
token-used = Last used
token-speaks = Speaks for
token-person = the person
token-machine = a machine
token-days = Days to live
token-make = Make the token
token-revoke = Revoke
token-revoked = The token is dead
token-empty = There are no tokens
token-empty-what = A token is made on the page of the person it speaks for.
settings-lead = What is in force and where each value comes from.
settings-key = Key
settings-value = Value
settings-origin = From
settings-queues = Policies of queues, in force
origin-default = default
origin-demo = the demo
origin-preset = the preset { $name }
origin-file = { $path }, line { $line }
origin-config = the configuration file
origin-call = a call of the API
state-enabled = Enabled
state-disabled = Disabled

# Synchronisation. The states are the seed's own words, which stand in the database's view too, in every language.

seed-pending = PENDIENTE
seed-in_process = EN_PROCESO
seed-processed = PROCESADO
seed-error = ERROR
seed-exhausted = AGOTADO
seed-cancelled = CANCELADO
state-installed = Trigger installed
state-absent = Not installed
state-differs = Differs from the configuration
state-blocked = Cannot be installed
state-taken = Name taken
state-no_triggers = No triggers
state-unknown = Unknown
state-good = Good
state-missing = Missing
state-stale = Of before
state-healthy = The module answers
state-down = The module is down
