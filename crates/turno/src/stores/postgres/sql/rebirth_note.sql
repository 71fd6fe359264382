-- rebirth_note
-- Under the lane's mutex: a finished item goes back to its old place, before what others remember as the front.
select nextval('turno.rebirth')
