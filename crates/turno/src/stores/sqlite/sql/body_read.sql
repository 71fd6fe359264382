-- body_read
-- Runs after the hand-out was written, so that the handed-out revision and its data match.
select seq, queue, id, key, action, payload, enqueued_at from body where seq = ?1
