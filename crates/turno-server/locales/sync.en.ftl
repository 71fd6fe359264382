# Synchronisation: the page of sources and their events.
sync-lead = Of every row its latest state always arrives; several changes in a row may arrive as one.
sync-empty = There is nothing to synchronise
sync-empty-what = A source is declared in the configuration file; turno sync install puts the trigger in place:
sync-absent = The source { $name } waits for its queue { $queue }, which does not exist yet
sync-down = The module has not answered since
sync-failing = { $count ->
    [one] The last call failed:
   *[other] The last { $count } calls failed:
}
sync-probe = It is tried again
sync-table = Table
sync-key = Identity
sync-watch = Columns
sync-install = This makes it as the configuration says:
sync-by-api = No triggers: it is fed by the API.
sync-refused = { $count ->
        [one] 1 change could not become an event, because its key cannot be one
       *[other] { $count } changes could not become events, because their keys cannot be such
    }
sync-resync = Send again
sync-resync-key = Send this key again
sync-resynced = { $key } is on its way again
sync-events = Events of { $queue }
sync-events-empty = Nothing unfinished
sync-error = Last error
sync-decided = decided at delivery
sync-nothing = nothing to tell
sync-all = Send everything again
sync-all-title = Send all of { $name } again
sync-all-what = { $count ->
        [one] 1 key of the table is sent again, and then those that were delivered and have no row any more.
       *[other] { $count } keys of the table are sent again, and then those that were delivered and have no row any more.
    }
sync-all-many = More than { $count } keys of the table are sent again, and then those that were delivered and have no row any more.
sync-all-sent = { $name } is on its way again, little by little
