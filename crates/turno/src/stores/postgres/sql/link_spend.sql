-- link_spend
-- Under the mutex of all changes of access: whoever comes second has read that it is gone.
delete from turno.link where hash = $1::bytea
