# Tasks: states.

state-draft = Draft
state-ready = Ready
state-processing = In process
state-partially_completed = Partly finalized
state-completed = Finalized
state-task_cancelled = Cancelled
state-line_pending = Pending
state-validated = Validated
state-applied = Applied
state-failed = Failed

# The list.

tasks-lead = Work to be done: who processes what, and what is free.
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
tasks-empty = There are no tasks
tasks-none-match = No task matches the filters
tasks-bad-lock = "{ $value }" does not say how the lock is; choose from the list
tasks-empty-what = A task is a movement of stock with its lines. Create the first one; whoever processes it has it locked while they work.
tasks-empty-viewer = As soon as somebody creates a task it is shown here, with who processes it.
tasks-held-mine = You are processing it since
tasks-offered-to = Offered to { $name }
tasks-offer-ends = It ends
tasks-place = · your place in line: { $place }
tasks-waiting = { $count ->
        [one] · 1 waits
       *[other] · { $count } wait
    }

# One task.

task-number = Task { $id }
task-by = Created by { $name }
task-ready = Mark as ready
task-readied = The task is ready to be processed
task-cancel = Cancel the task
task-cancel-title = Cancel the task?
task-cancel-what = It will not be processed any more. What was applied stays applied.
task-cancel-keep = { $count ->
        [one] 1 line is applied. Keep it in stock
       *[other] { $count } lines are applied. Keep them in stock
    }
task-cancel-reason = Reason (optional)
task-cancelled = The task is cancelled
task-no-lines = It has no lines yet
task-no-lines-what = Edit the draft and add at least one; then mark it as ready.
task-result-all = { $applied ->
        [one] Its only line is applied.
       *[other] Its { $applied } lines are applied.
    }
task-result-some = { $applied ->
        [0] No line was applied
        [one] 1 line was applied
       *[other] { $applied } lines were applied
    } and { $open ->
        [one] 1 is missing: below it says why.
       *[other] { $open } are missing: below it says why.
    }
task-result-again = Process it again, correct and finalize; what was applied is not repeated.
task-next = Next: { $title }
task-others = See the free ones
task-result-cancelled = It will not be processed any more.
task-held-from = had it from
task-held-to = to
task-history-more = What came before is in the API.
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
task-did-cancelled = cancelled it

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
line-kind = Counted
line-by-quantity = By quantity
line-by-serials = By serial number

# Drafts.

draft-edit = Edit draft
draft-lead = Write what moves. As long as it is a draft, anybody with the permission may change it; nobody can process it.
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
draft-over-kept = What you typed was not saved; it is still below, to be copied.
draft-see = See the task
draft-changed = { $name } changed this draft while you were writing
draft-changed-what = Yours is not saved yet and is still below. Compare, and save yours or load what is stored.
draft-stored = What is stored now
draft-load = Discard mine and load this
draft-save-anyway = Save mine anyway
draft-newer = Somebody else has saved changes to this draft while you write. Yours is still here; when you save you can compare.
draft-newer-over = The task is no draft any more: what you write here cannot be saved. Copy it if you need it.
draft-restored = What you typed and did not save is still here.
draft-ended = Your session ended; what you typed is still here. Save it again.
draft-no-answer = The server does not answer. Nothing was saved; what you typed is still here, even if you close the page. Try again.
draft-discard = Discard
draft-bad-sku = Line { $line }: write which article it is
draft-bad-quantity = Line { $line }: the quantity is a whole number from 1 to 1,000,000,000,000
draft-twice = Line { $line }: the serial number { $serial } is there twice
draft-bad-serial = Line { $line }: a serial number is too long or has odd characters

# Process mode.

process = Process
process-free = Nobody is processing it.
process-noscript = Processing needs JavaScript: only the page knows whether you are still there.
process-read-only = You can look; only whoever has it can change it.
process-reserved = It is their turn first, for a moment.
process-ask = Ask for release
process-ask-what = Whoever has it is told at once, with your name.
process-ask-message = Message (optional)
process-ask-send = Ask
process-asked = You asked at { $at } for it to be released; { $name } was told.
process-declined = { $name } answered at { $at }: not now.
process-not-asked = Nobody has it any more: you can process it.
process-turn = Take a number
process-position = You are in line: place { $position }
process-next = You are next in line
process-leave-turn = Leave the line
process-missed = It was your turn and it has passed; you can take another number.
process-missed-free = It was your turn and it has passed; it is still free, you can process it.
process-over-completed = You were waiting for your turn: there is no need any more, the task was finalized.
process-over-cancelled = You were waiting for your turn: there is no need any more, the task was cancelled.
turns-over = You do not wait any more: the task was finalized.
turns-cancelled = You do not wait any more: the task was cancelled.
turns-missed = It was your turn and it has passed.
process-left = What you typed was not saved: { $typed }
process-offered = It is your turn!
process-offered-what = It is kept for you for another { $left }.
process-offered-title = Your turn! { $left } · { $title }
process-pass = Let it pass
process-elsewhere = You are processing it in another window since
process-moved-near = You went on in another window at { $at }
process-moved-far = You went on in another browser or machine at { $at }
process-moved-what = In this window you can only look now.
process-here = Go on here
process-renewing = It renews itself while you work.
process-waiting = { $count ->
        [one] 1 person waits for a turn
       *[other] { $count } people wait for a turn
    }
process-silent = No answer from the server since { $since }. Your lock is good until { $until }; go on, it is saved later.
process-leave = Leave the task
process-warned = Still there?
process-warn-idle = Without activity you lose it in { $left }. Any key or touch keeps it.
process-warn-rolling = Nothing was saved for a while: you lose it in { $left }. Save or validate a line to keep it.
process-keep = Go on working
process-requested = { $name } asks you to let go (at { $at }).
process-release = Release
process-not-now = Not now
process-unknown = Nobody knows whether it is still yours
process-unknown-what = The server has not answered for too long. Until it does nothing can be changed; what you typed is still here.
process-ended = You are not signed in any more
process-ended-what = Who has the task now is not known, and nothing can be changed here.
process-ended-kept = What you typed and did not save is still below: you can copy it, and you find it here if you come in again as yourself in this browser.
process-lost = Lock lost
process-lost-no_heartbeat = It expired because this page ceased to renew it: the connection was cut, the machine slept or the server did not answer.
process-lost-idle = It expired because there was no activity.
process-lost-rolling_timeout = It expired because nothing was saved or validated for too long.
process-lost-override = { $name } stepped in: { $note }
process-lost-user_disabled = Your user was disabled.
process-lost-released = You released it, in another window or on leaving this one.
process-lost-other = It is not yours any more.
process-kept = What you typed is still below, not saved.
process-retry = Claim again
process-finishing = Finalizing line by line…
process-force-release-title = Release this task by force?
process-force-claim-title = Take the lock of this task?
process-save = Save
process-discard = Discard mine
process-saving = Saving…
process-saved = Saved
process-unsaved = Not saved
process-conflict = Not saved. Meanwhile this was saved: { $saved }
process-conflict-by = Not saved. Meanwhile { $name } saved: { $saved }
process-conflict-mine = Not saved. Meanwhile you saved in another window: { $saved }
process-retrying = Not saved: there was no answer. It is tried again by itself.
process-no-answer = The server did not answer. Try again.
process-asking = Asking…
process-slow = The server takes long to answer; still waiting.
process-leaving = The server does not answer: the task is left as soon as it does.
process-leaving-save = The server does not answer: the task is left as soon as what you typed is saved.
process-sign-out-unsaved = Something you typed cannot be saved as it is. It stays in this browser, not saved. Sign out anyway?
process-validate-none = It is not known whether it is validated: there was no answer. Try again.
process-finishing-silent = The server has not answered since { $since }: it is not known yet whether it is finalized. It is asked again by itself; nothing is applied twice.
process-stuck = Not everything could be saved; look at what is marked before you finalize.
process-stuck-line = It cannot be finalized yet. Line { $line }: { $why }
process-bad-quantity = The quantity is a whole number from 1 to 1,000,000,000,000.
process-bad-serials = Write at least one serial number.
process-validate = Validate
process-validate-line = Validate line { $line }
process-validated = Line { $line } is validated.
process-finalize = { $count ->
        [one] Finalize (1 line)
       *[other] Finalize ({ $count } lines)
    }
process-finalize-what = Every line is applied on its own: if one fails, the others go on.
process-keys-save = What you type is saved by itself
process-keys-next = goes to the next line (in serial numbers, to the next row)
process-keys-finalize = finalizes
key-enter = Enter
