-- life_jump
-- The database may have gone back, so values given out in the lost time are skipped: ids of tasks and queues, positions
-- of events (earlier ones are purged, so that listeners get a reset), the epoch of access, and the versions of
-- policies.
with positions as (
    update turno.event_purged set pos = greatest(pos, $2::bigint)
), events as (
    delete from turno.event_log
), epoch as (
    update turno.mark set epoch = epoch + 1000000
), policies as (
    update turno.queue set version = version + 1000000
)
select setval('turno.task_id_seq', greatest($1::bigint, t.last_value)), setval('turno.queue_id_seq', q.last_value + 1000)
from turno.task_id_seq t cross join turno.queue_id_seq q
