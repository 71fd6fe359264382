-- queue_busy
-- Whether a queue has items that are unfinished, or exhausted and finished with that: these can come back. There is no
-- index on all unfinished ones, and none is worth its price on every write: each item is a head, or handed out, or stands
-- in a lane, and each of these has an index.
select exists (select 1 from hot where queue = ?1 and ready_at is not null)
    or exists (select 1 from hot where queue = ?1 and lane is not null)
    or exists (select 1 from hot where queue = ?1 and expires_at > 0)
    or exists (select 1 from done where queue = ?1 and ended <> 0 and ended = 1)
