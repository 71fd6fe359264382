-- name: hint_listen
listen turno

-- name: hint_notify
-- Runs after the commit on its own connection. Inside a transaction it would hold a server-wide lock during the commit.
select pg_notify('turno', $1::text)
