-- rebirth_note
-- Runs under the lane's lock: a finished item goes back to its old seq, which may be below cached floors.
select nextval('turno.rebirth')
