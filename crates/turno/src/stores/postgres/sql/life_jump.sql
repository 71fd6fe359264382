-- name: life_jump
-- The database may have gone back. Skips the numbers that were given in the lost time: ids of tasks and queues, positions of
-- events (all below are purged, so that listeners get a reset), the epoch of access and the versions of policies. Epoch and
-- versions move to $2, which is made from the clock: two standbys that are promoted one after the other must not reuse
-- them, because a process may have cached rights or a policy under the same number.
with positions as (
    update turno.event_purged set pos = greatest(pos, $2::bigint)
), events as (
    delete from turno.event_log
), epoch as (
    update turno.mark set epoch = greatest(epoch + 1, $2::bigint)
), policies as (
    update turno.queue set version = greatest(version + 1, $2::bigint)
)
select setval('turno.task_id_seq', greatest($1::bigint, t.last_value)), setval('turno.queue_id_seq', q.last_value + 1000)
from turno.task_id_seq t cross join turno.queue_id_seq q
