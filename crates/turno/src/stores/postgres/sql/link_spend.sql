-- link_spend
-- Runs under the lock of all changes of access, so that a second use of the link reads that it is gone.
delete from turno.link where hash = $1::bytea
