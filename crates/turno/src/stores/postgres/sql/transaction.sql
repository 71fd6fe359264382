-- name: commit
commit

-- name: rollback
rollback

-- name: xact_status
select pg_xact_status($1::text::xid8)
