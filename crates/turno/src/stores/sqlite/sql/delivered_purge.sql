-- name: delivered_purge
-- Keys that were deactivated before ?2. A comparison treats "deactivated" and "nothing recorded" alike.
delete from sync_delivered
where queue = ?1 and key in (
    select key from sync_delivered where queue = ?1 and digest is null and at < ?2 limit ?3
)
