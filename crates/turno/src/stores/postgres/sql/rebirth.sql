-- name: rebirth_note
-- Runs under the lane's lock: a finished item goes back to its old seq, which may be below cached floors.
select nextval('turno.rebirth')

-- name: rebirth_read
-- Read after the lanes' locks: tells whether the cached floors are still valid.
select case when is_called then last_value else 0 end from turno.rebirth
