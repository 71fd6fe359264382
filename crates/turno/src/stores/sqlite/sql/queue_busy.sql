-- name: queue_busy
-- Whether a queue has unfinished items, or finished exhausted ones, which can be re-queued. No index covers all
-- unfinished items, because it would cost every write. Each item is a head, or handed out, or in a lane, and each of
-- these has an index.
select exists (select 1 from hot where queue = ?1 and ready_at is not null)
    or exists (select 1 from hot where queue = ?1 and lane is not null)
    or exists (select 1 from hot where queue = ?1 and expires_at > 0)
    or exists (select 1 from done where queue = ?1 and ended <> 0 and ended = 1)
