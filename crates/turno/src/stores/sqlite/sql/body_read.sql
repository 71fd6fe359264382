-- body_read
-- After the hand-out was written, so that the revision that was handed out and its data belong together.
select seq, queue, id, key, action, payload, enqueued_at from body where seq = ?1
