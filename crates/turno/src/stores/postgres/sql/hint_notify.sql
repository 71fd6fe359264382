-- hint_notify
-- After the commit and on a connection of its own: inside a transaction, it would hold a lock of the whole
-- server through the commit.
select pg_notify('turno', $1::text)
