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
live-lost = Offline since { $since }. { $updated }. Retrying automatically.
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

session-ended = Your session ended and nothing was saved. Sign in again to return to this page.
session-over = Your session ended: it expired, you signed out in another window, or an administrator closed it. This page no longer updates or saves.
session-again = Sign in again
way-in-provider = Sign in with { $provider }
way-in-only = Sign in with your account at { $provider }.
leaving-title = Signed out
leaving-lead = Your session here has ended. The provider's session ends next.
leaving-button = Sign out of { $provider }
login-title = Sign in on the command line
login-lead = turno login on { $machine } asks for access.
login-as = It will act as { $user }, with all of your rights, for 30 days.
login-hint = Confirm only if you have just started turno login.
login-button = Allow access
login-cancel = Cancel
way-in-title = { $kind ->
        [setup] First administrator
       *[sign_in] Sign in
    }
way-in-lead = { $kind ->
        [setup] Create the first administrator. You can add other users later.
        [link] Another site or a message opened this link.
       *[sign_in] Sign in with your user.
    }
way-in-as = The link signs you in as { $user }. Continue only if that is you.
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
        [setup] Create and sign in
       *[sign_in] Sign in
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
state-offered = Reserved
state-paused = Paused
state-active = Active

# Locks.

fence = Fence
instance = Instance
filters-clear = Clear filters
filters-none = No results for these filters
filters-none-what = Change the filters or clear them.
leases-lead = Active locks: holder, start and expiry.
leases-prefix = Resource starts with
filter-person = Person (name or user)
leases-resource = Resource
leases-holder = Holder
leases-since = Since
leases-until = Until
leases-beat = Last heartbeat
leases-worked = Last work
leases-expires = Expires
leases-waiting = Waiting
leases-asked = { $count ->
        [one] 1 release request
       *[other] { $count } release requests
    }
leases-empty = No active locks
leases-empty-what = A lock appears when a person processes a task or a program claims a resource. Try it:
leases-held-by = Locked by { $name } since
leases-kept = The holder released it. It stays held until it expires.
leases-request = { $name } asks for its release,
leases-offered-to = Reserved for { $name }; the offer ends
leases-is-free = Free
leases-line = Waiting line
leases-history = History
leases-history-empty = No previous holders
leases-ended = End
leases-force-release = Force release
leases-force-claim = Take the lock
leases-force-release-title = Release the lock of { $name }?
leases-force-claim-title = Take the lock of { $name }?
leases-force-release-what = The holder loses the lock now and sees the reason. Applied lines stay applied.
leases-force-claim-what = The lock passes to you now, ahead of the waiting line. The previous holder sees the reason.
leases-force-released = { $resource } is free
leases-force-claimed = You hold { $resource } now
leases-force-claim-still = This page does not renew it: it expires by its policy.
leases-force-claim-there = Take the lock in the task
leases-changed-hands = Nothing changed: { $name } holds it now.
cause-no_heartbeat = Expired: no heartbeat
cause-idle = Expired: idle
cause-rolling_timeout = Expired: no work for too long
cause-override = Override by an administrator
cause-user_disabled = The user was disabled
cause-released = Released

# Overview.

all = All
state = State
overview-lead = Now, the last hours, and what needs attention.
overview-now = Now
overview-held = Active locks
overview-held-what = people and programs
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
overview-failing-what = retried automatically
overview-exhausted-what = no attempts left, need a decision
overview-collisions = Conflicts prevented
overview-collisions-since = on this server since
overview-collisions-what = Claims refused because another holder had the lock, and calls with a stale fence
chart-span = on this server
chart-items = Throughput per minute
chart-processed = Processed
chart-failed = Failed
chart-locks = Locks per minute
chart-claimed = Claimed
chart-collisions = Refused
overview-all = See all
overview-locks = Active locks
needs = Needs attention
needs-none = All clear
needs-first = No queues and no locks yet. How to create them:
needs-first-what = Queue work and locks appear here.
needs-ready = { $more ->
        [yes] More than { $count } tasks ready to be processed
       *[no] { $count ->
            [one] 1 task ready to be processed
           *[other] { $count } tasks ready to be processed
        }
    }
needs-processing = { $more ->
        [yes] More than { $count } tasks in process without a holder
       *[no] { $count ->
            [one] 1 task in process without a holder
           *[other] { $count } tasks in process without a holder
        }
    }
needs-exhausted = { $count ->
        [one] 1 exhausted item in { $queue }: check and retry
       *[other] { $count } exhausted items in { $queue }: check and retry
    }
needs-exhausted-others = { $count ->
        [one] 1 exhausted item in { $queue }: needs a queue manager
       *[other] { $count } exhausted items in { $queue }: need a queue manager
    }
needs-paused = { $queue } is paused, { $count } waiting
needs-workers = { $queue } has waited more than 5 minutes. No worker is polling it.
needs-down = The destination of { $queue } does not answer: { $error }
needs-task = The task "{ $title }" is partly finalized

# Queues.

kind = { $kind ->
        [lane] Lane
        [inbox] Inbox
       *[sync] Sync
    }
kind-what = { $kind ->
        [lane] Lane: items of a key in order, one delivery at a time, grouped by window.
        [inbox] Inbox: each item once, to one worker.
       *[sync] Sync: only the newest change of each key.
    }
queues-lead = Waiting items, oldest item and throughput.
queues-has = With items
queues-name = Queue
queues-kind = Kind
queues-waiting = Waiting
queues-failing = Failed
queues-exhausted = Exhausted
queues-oldest = Oldest
queues-none-waits = none
queues-waited = Wait (median / p95)
queues-processed-minute = Processed / min
queues-failed-minute = Failed / min
queues-unfinished = Unfinished
queues-error = Last error contains
queues-cut = First items only. Choose a state to page through the rest.
queues-states = States
queues-key = Key
queues-key-is = Key (exact)
queues-see-key = Open key
queues-items = Items
queues-empty = No queues
queues-empty-what = Declare a queue in the configuration file, or create one with a call:
queues-pause = Pause queue
queues-resume = Resume queue
queues-retry = Retry exhausted
queues-pause-title = Pause { $name }?
queues-pause-what = { $count ->
        [0] Deliveries stop until the queue is resumed. New items are kept.
        [one] Deliveries stop until the queue is resumed. New items are kept, and 1 item in process goes on.
       *[other] Deliveries stop until the queue is resumed. New items are kept, and { $count } items in process go on.
    }
queues-retry-title = { $count ->
        [one] Retry 1 item?
       *[other] Retry { $count } items?
    }
queues-retry-what = { $count ->
        [one] 1 exhausted item returns to its place with 0 attempts.
       *[other] { $count } exhausted items return to their places with 0 attempts. Up to 10,000 at a time.
    }
queues-paused = { $name } is paused
queues-resumed = { $name } is resumed
queues-retried = { $count ->
        [one] 1 item will be retried
       *[other] { $count } items will be retried
    }
queues-policy = Policy in force
queues-managed = set by the configuration file
policy-lock_timeout = Lock timeout
policy-window = Grouping window
policy-max_wait = Maximum wait
policy-on_exhausted = If the first item is exhausted
policy-hold = hold the lane
policy-continue = continue with the next
policy-max_attempts = Attempts
policy-backoff = First retry delay
policy-typing_extension = Typing extension
policy-max_hold = Maximum hold per delivery
policy-batch_max = Items per delivery, at most
policy-retention = Retention of finished items
items-id = Item
items-attempts = Attempts
items-came = Arrived
items-detail = Detail
items-due = Due
items-empty = No unfinished items
items-empty-what = New items appear here at once. Try it:
why = Why?
key-window = Grouping window { $window }, maximum wait { $max }
key-items = { $count ->
        [one] 1 unfinished
       *[other] { $count } unfinished
    }
key-all = Show finished items too
key-empty = No unfinished items
key-head = first
item-attempt = Attempt { $attempt }
item-attempts = { $attempts } of { $max }
item-gave-up = the worker gave up
item-again = retried
happened-enqueued = Arrived
happened-handed_out = Delivered
happened-failed = Failed
happened-expired = The worker did not answer in time
happened-exhausted = Exhausted
happened-processed = Processed
happened-skipped = Nothing to send
happened-returned = Returned unprocessed
happened-superseded = Changed while being processed
happened-cleared = Cancelled: its lane was cleared
happened-cancelled = Cancelled
happened-retried = Retried by a person
happened-edited = Corrected and retried by a person
item-timeline = Timeline
item-payload = Payload
item-until = expires without a heartbeat
item-due = Due
item-action = Action
item-revision = Revision
item-retry = Retry item
item-edit = Correct and retry
item-edit-title = Correct and retry
item-edit-what = The new payload replaces the old one. The audit keeps both fingerprints.
item-edit-bad = The payload is not valid JSON: { $cause }. Your text is still here
item-cancel = Cancel item
item-cancel-title = Cancel this item?
item-cancel-what = It is not processed. The items behind it continue. The audit records it.
item-retried = { $id } will be retried
item-cancelled = { $id } is cancelled

# More states.

state-partially_completed = Partly finalized

# Audit.

audit-lead = Every override and administrative change, with person, time and reason.
audit-verify = Verify audit log
audit-whole = Audit log intact: { $count } entries, up to { $head }
audit-action = Action
audit-actor = Person
audit-resource = Resource
audit-resource-is = Resource (exact)
who-system = The system
audit-n = No.
audit-when = When
audit-detail = Detail
audit-empty = No entries yet
audit-empty-what = The audit records forced locks, retries, and changes of users and queues.
audit-lock_force_claim = Took a lock by force
audit-lock_force_release = Released a lock by force
audit-item_retry = Retried an item
audit-item_edit = Corrected and retried
audit-item_cancel = Cancelled an item
audit-delivery_settle = Settled a delivery of another account
audit-lane_clear = Cleared a lane
audit-database_life = Database restored or failed over: counters moved
audit-queue_repair = Repaired a queue
audit-queue_put = Defined a queue
audit-queue_pause = Paused a queue
audit-queue_resume = Resumed a queue
audit-queue_purge = Purged finished items
audit-sync_install = Installed a source
audit-sync_remove = Removed a source
audit-sync_resync = Resent a source
audit-sync_revived = Revived after an outage
audit-task_cancel = Voided a task
audit-user_add = Added a person
audit-user_change = Changed a person
audit-user_remove = Removed a person
audit-user_link = Linked a person to an identity
audit-access_end = Lost access: no role at the provider
audit-token_create = Created a token
audit-token_rotate = Rotated a token
audit-token_revoke = Revoked a token
audit-choice-token_revoke = Revoked a token or signed out
audit-signed_out = Signed out
audit-session_open = Signed in
audit-sign_in = Signed in
audit-sign_in_failed = Failed to sign in
audit-session_mint = Opened a session for a user
audit-link_make = Created a link
audit-link_redeem = Used a link

# Details of entries, by their names in the audit.

detail-before_ms = Older than
detail-changed = Took effect
detail-count = How many
detail-disabled = Disabled
detail-expires_at_ms = Expires
detail-fence = New fence
detail-fence_before = Fence before
detail-holder_before = Previous holder
detail-machine = Program
detail-password_changed = Password changed
detail-payload_after = New fingerprint
detail-payload_before = Fingerprint before
detail-reason = Reason
detail-role = Role
detail-role_before = Role before
detail-scope = May
detail-status_before = Previous status
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
people-lead = Users and their roles.
people-add = Add a person
people-add-what = Then set a password on their page.
people-id = User
people-name = Name
people-role = Role
people-since = Since
people-added = { $name } was added. A password is still missing
people-changed = { $name } was saved
people-disabled = { $name } was disabled. Their locks are free
people-enabled = { $name } can sign in again
people-removed = { $name } was removed
people-enable = Enable user
people-disable = Disable user
people-remove = Remove user
people-disable-title = Disable { $name }?
people-disable-what = Their sessions and tokens end now, and their locks are released. You can undo this.
people-remove-title = Remove { $name }?
people-remove-what = Their sessions and tokens end now. Their audit entries stay. You cannot undo this.
people-password = New password
people-password-what = At least 8 characters. Their other sessions end.
people-password-set = Set password
people-identity = OpenID account
people-subject = Subject
people-subject-what = The claim sub at { $issuer }. That account then signs in as this user.
people-link = Link account
people-unlink = Remove link
people-linked = { $name } was linked
people-unlinked = { $name } is not linked any more
people-change = Details
people-way-in = Access
role = { $role ->
        [admin] Administrator
        [editor] Editor
       *[viewer] Viewer
    }
secret-kept = Done, copied
token-lead = Programs call the API with a token. A token is shown once.
token-new = Program token
token-title = Token of { $name }
token-what = Copy it now. It is not shown again.
token-id = Token
token-user = Owner
token-kind = Kind
token-of = { $kind ->
        [console] Session of the console
        [session] Session of another application
       *[token] Token
    }
token-scope = Permissions
token-all = all permissions of its owner
token-expires = Expires
token-never = never
token-used = Last used
token-speaks = Acts as
token-person = the person
token-machine = a program
token-queue = queue { $queue }
token-days = Expires in (days)
token-make = Create token
token-rotate = Rotate token
token-revoke = Revoke token
token-revoked = The token was revoked
token-empty = No tokens
token-empty-what = Create a token on the page of its owner.
settings-lead = Settings in force and their origin.
settings-key = Key
settings-value = Value
settings-origin = Origin
settings-queues = Queue policies in force
settings-callers = Largest callers of this server
settings-caller = Caller
settings-caller-requests = Requests
settings-caller-waiting = Claims
settings-caller-streams = Event streams
settings-caller-leases = Live locks
origin-default = default
origin-demo = the demo
origin-preset = the preset { $name }
origin-file = { $path }, line { $line }
origin-config = the configuration file
origin-call = an API call
state-expires_soon = Expires soon
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
state-good = OK
state-missing = Missing
state-stale = Outdated
state-healthy = The module answers
state-down = The module is down
