# Tasks: states.

state-draft = Draft
state-ready = Ready
state-processing = In process
state-partially_completed = Partly finalized
state-completed = Finalized
state-task_cancelled = Voided
state-line_pending = Pending
state-validated = Validated
state-applied = Applied
state-failed = Failed

# The list.

tasks-lead = Who processes each task, and which tasks are free.
tasks-task = Task
tasks-number = no. { $id }
tasks-status = Status
tasks-lock = Lock
tasks-lines = Lines
tasks-lines-done = { $done } of { $all }
tasks-lines-applied = applied
tasks-changed = Last change
tasks-any-status = All
tasks-any-lock = All
tasks-lock-free = Free
tasks-lock-locked = Locked
tasks-lock-mine = Mine
tasks-new = New task
tasks-empty = No tasks
tasks-none-match = No task matches the filters
tasks-bad-lock = "{ $value }" is not a lock state; choose from the list
tasks-empty-what = A task is a stock movement with lines. While a person processes it, it is locked.
tasks-empty-viewer = New tasks appear here, with the person who processes them.
tasks-held-mine = You are processing it since
tasks-offered-to = Reserved for { $name }
tasks-offer-ends = It ends
tasks-place = · your place: { $place }
tasks-waiting = { $count ->
        [one] · 1 waits
       *[other] · { $count } wait
    }

# One task.

task-number = Task { $id }
task-by = Created by { $name }
task-ready = Mark as ready
task-readied = The task is ready to be processed
task-cancel = Void task
task-cancel-title = Void the task?
task-cancel-what = It can no longer be processed. Applied lines stay applied.
task-cancel-keep = { $count ->
        [one] 1 line is applied. Keep it in stock
       *[other] { $count } lines are applied. Keep them in stock
    }
task-cancel-reason = Reason (optional)
task-cancelled = The task was voided
task-no-lines = No lines yet
task-no-lines-what = Edit the draft and add a line. Then mark it as ready.
task-result-all = { $applied ->
        [one] Its only line is applied.
       *[other] Its { $applied } lines are applied.
    }
task-result-some = { $applied ->
        [0] No lines applied
        [one] 1 line applied
       *[other] { $applied } lines applied
    }, { $open ->
        [one] 1 failed: see below.
       *[other] { $open } failed: see below.
    }
task-result-again = Process it again, correct the lines and finalize. Applied lines are not repeated.
task-next = Next: { $title }
task-others = Show free tasks
task-result-cancelled = It can no longer be processed.
task-held-from = had it from
task-held-to = to
task-history-more = Earlier entries: see the API.
task-did-created = created the task
task-did-edited = changed the draft
task-did-ready = marked it as ready
task-did-processing = began to process it
task-did-line_edited = changed line { $line }
task-did-line_validated = validated line { $line }
task-did-line_applied = applied line { $line }
task-did-line_failed = could not apply line { $line }
task-did-finalized = { $status ->
        [completed] finalized it
       *[other] finalized it partly
    }
task-did-cancelled = voided it

line-article = Article
line-amount = Quantity or serials
line-amount-or-serials = Quantity, or serial numbers
line-actions = Actions
line-quantity = Quantity
line-serials = Serial numbers
line-quantity-of = Quantity of line { $line }, { $sku }
line-serials-of = Serial numbers of line { $line }, { $sku }
line-no-serials = No serial numbers yet
line-movement = Movement
line-in = In
line-out = Out
line-kind = Counted by
line-by-quantity = By quantity
line-by-serials = By serial number

# Drafts.

draft-edit = Edit draft
draft-lead = List what moves. A draft can be edited by anyone with permission and cannot be processed.
draft-title = Title
draft-title-example = Reception of notebooks, invoice 1182
draft-more = Add a line
draft-hint = Empty lines do not count. Several serial numbers: one per row, or separated by commas.
draft-save = Save draft
draft-save-ready = Save and mark as ready
draft-saved = The draft is saved
draft-over = The task is no draft any more: it is { task-status }. { $status ->
        [completed] It does not change any more; if something is missing, create another one.
        [cancelled] It does not change any more; if it is needed, create another one.
       *[other] To correct its lines, process it.
    }
draft-over-kept = Your text was not saved. Copy it below if you need it.
draft-see = Open task
draft-changed = { $name } changed this draft while you were writing
draft-changed-what = Your version is not saved. Compare, then save yours or load the stored one.
draft-stored = Stored version
draft-load = Discard mine and load the stored version
draft-save-anyway = Save mine anyway
draft-newer = Another person saved this draft while you were writing. You can compare when you save.
draft-newer-over = The task is no longer a draft. Your text cannot be saved; copy it if you need it.
draft-restored = Restored your unsaved text.
draft-ended = Your session ended. Your text is still here; save it again.
draft-no-answer = The server does not answer. Nothing was saved; your text stays in this browser. Try again.
draft-discard = Discard
draft-bad-sku = Line { $line }: enter an article
draft-bad-quantity = Line { $line }: the quantity is a whole number from 1 to 1,000,000,000,000
draft-twice = Line { $line }: serial number { $serial } is repeated
draft-bad-serial = Line { $line }: a serial number is too long or has invalid characters

# Process mode.

process = Process
process-free = Ready to process.
process-noscript = Processing needs JavaScript, which reports your activity.
process-read-only = Read-only.
process-reserved = Reserved for the next person in line.
process-ask = Ask for release
process-ask-what = The holder gets a message with your name.
process-ask-message = Message (optional)
process-ask-send = Send request
process-asked = You asked { $name } for the release at { $at }.
process-declined = { $name } answered at { $at }: not now.
process-not-asked = The task is free now. You can process it.
process-turn = Join the line
process-position = You are in line: place { $position }
process-next = You are next in line
process-leave-turn = Leave the line
process-missed = Your turn passed. You can join the line again.
process-missed-free = Your turn passed. The task is still free.
process-over-completed = The task was finalized. You left the line.
process-over-cancelled = The task was voided. You left the line.
turns-over = The task was finalized. You left the line.
turns-cancelled = The task was voided. You left the line.
turns-missed = Your turn passed.
process-left = Not saved: { $typed }
process-offered = Your turn!
process-offered-what = Reserved for you · { $left }
process-offered-title = Your turn! { $left } · { $title }
process-pass = Pass
process-elsewhere = You are processing it in another window since
process-moved-near = You continued in another window at { $at }
process-moved-far = You continued in another browser or computer at { $at }
process-moved-what = This window is read-only.
process-here = Continue here
process-renewing = Lock active
process-waiting = { $count ->
        [one] 1 person waits for a turn
       *[other] { $count } people wait for a turn
    }
process-silent = Offline since { $since } · lock valid until { $until }
process-leave = Release task
process-warned = Still there?
process-warn-idle = No activity: the lock ends in { $left }. Press any key to keep it.
process-warn-rolling = Nothing saved lately: the lock ends in { $left }. Save or validate a line to keep it.
process-keep = Keep lock
process-requested = { $name } asks for the release ({ $at }).
process-release = Release
process-not-now = Not now
process-unknown = Lock state unknown
process-unknown-what = The server does not answer. Editing is paused; your text is still here.
process-ended = Your session ended
process-ended-what = The lock state is unknown. Editing is disabled.
process-ended-kept = Your unsaved text is below. Sign in again in this browser to continue with it.
process-lost = Lock lost
process-lost-no_heartbeat = It expired: this page stopped renewing it (connection, sleep or server).
process-lost-idle = It expired: no activity.
process-lost-rolling_timeout = It expired: nothing was saved or validated for too long.
process-lost-override = { $name } took or released the task. Reason: { $note }
process-lost-user_disabled = Your user was disabled.
process-lost-released = You released it in another window or when you left this page.
process-lost-other = You no longer hold it.
process-kept = Your unsaved text is below.
process-retry = Claim again
process-finishing = Finalizing line by line…
process-force-release-title = Release this task by force?
process-force-claim-title = Take the lock of this task?
process-save = Save
process-discard = Discard mine
process-saving = Saving…
process-saved = Saved
process-unsaved = Not saved
process-before = Before: { $value }
process-conflict = Not saved. Meanwhile this was saved: { $saved }
process-conflict-by = Not saved. Meanwhile { $name } saved: { $saved }
process-conflict-mine = Not saved. Meanwhile you saved in another window: { $saved }
process-retrying = Not saved: no answer. Retrying automatically.
process-no-answer = The server did not answer. Try again.
process-asking = Asking…
process-slow = The server is slow. Still waiting.
process-leaving = No answer. The task is released when the server answers.
process-leaving-save = No answer. The task is released when your text is saved.
process-sign-out-unsaved = Some text cannot be saved. It stays in this browser. Sign out anyway?
process-validate-none = No answer: validation unknown. Try again.
process-finishing-silent = No answer since { $since }. Asking again automatically. No line is applied twice.
process-stuck = Some lines are not saved. Check the marked lines before you finalize.
process-stuck-line = Cannot finalize yet. Line { $line }: { $why }
process-bad-quantity = The quantity is a whole number from 1 to 1,000,000,000,000.
process-bad-serials = Write at least one serial number.
process-validate = Validate
process-validate-line = Validate line { $line }
process-validated = Line { $line } validated.
process-finalize = { $count ->
        [one] Finalize (1 line)
       *[other] Finalize ({ $count } lines)
    }
process-finalize-what = Each line is applied on its own. If one fails, the others continue.
process-keys-save = Changes are saved automatically
process-keys-next = next line (in serial numbers: next row)
process-keys-finalize = finalize
key-enter = Enter
