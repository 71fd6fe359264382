-- name: body_acted
-- Stores the action that was decided at the hand-out, for display. A newer change may have replaced the item's action
-- meanwhile. The newer action stays.
update body set action = ?3 where seq = ?1 and queue = ?2 and action is ?4 and action is not ?3

-- name: body_add
insert into body (seq, queue, id, key, action, payload, enqueued_at)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7)

-- name: body_find
-- Without the payload, which may be megabytes.
select seq, key, enqueued_at from body where queue = ?1 and id = ?2

-- name: body_id
select id from body where seq = ?1

-- name: body_read
-- Runs after the hand-out was written, so that the handed-out revision and its data match.
select seq, queue, id, key, action, payload, enqueued_at from body where seq = ?1

-- name: body_remove
delete from body where seq = ?1

-- name: body_replace
-- A newer change of a sync key: the item keeps its id, its seq and the time it was accepted. Also keeps what was
-- accepted first under the id, so that a repeat can be told from a different item with the same id.
update body set action = ?2, payload = ?3, accepted = coalesce(accepted, payload) where seq = ?1
