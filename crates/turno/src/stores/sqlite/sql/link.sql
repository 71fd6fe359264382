-- name: link_add
insert into link (hash, user_id, expires_at, created_at) values (?1, ?2, ?3, ?4)

-- name: link_purge
-- Oldest expiry first, from link_expiry.
delete from link where hash in (select hash from link where expires_at < ?1 order by expires_at limit ?2)

-- name: link_read
select hash, user_id, expires_at, created_at from link where hash = ?1

-- name: link_remove_of
-- For a user with a new password, and for one who is disabled or removed. There are few links, so no index is needed.
delete from link where user_id = ?1

-- name: link_spend
delete from link where hash = ?1
