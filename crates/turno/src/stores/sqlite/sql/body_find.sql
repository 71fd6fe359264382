-- body_find
-- Without the payload, which may be megabytes.
select seq, key, enqueued_at from body where queue = ?1 and id = ?2
