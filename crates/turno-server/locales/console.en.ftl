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
theme-now = Colours: { $theme ->
        [dark] dark
        [light] light
       *[auto] as the machine has them
    }
theme-next = { $theme ->
        [dark] Dark
        [light] Light
       *[auto] Auto
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
       *[sign_in] Forgotten? Ask an administrator for a link to come in.
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
filters-clear = Clear the filters
leases-lead = Who holds what, since when and until when.
leases-prefix = Resource that begins with
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
leases-history-empty = Nobody has held it yet
leases-ended = How it ended
leases-force-release = Release
leases-force-claim = Take it
leases-force-release-title = Release what { $name } holds?
leases-force-claim-title = Take what { $name } holds?
leases-force-release-what = They lose the lock at this moment and are told the reason. What was applied stays applied.
leases-force-claim-what = It becomes yours at this moment, before those who wait, and whoever held it is told the reason.
leases-force-released = { $resource } is free
leases-force-claimed = { $resource } is yours now
cause-no_heartbeat = Expired: it was not renewed any more
cause-idle = Expired: the person was idle
cause-rolling_timeout = Expired: too long without work
cause-override = An administrator stepped in
cause-user_disabled = The person was disabled
cause-released = They released it
