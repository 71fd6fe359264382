-- delivered_purge
-- Keys that were deactivated that long ago: nothing known and deactivated are the same to a comparison.
delete from sync_delivered
where queue = ?1 and key in (
    select key from sync_delivered where queue = ?1 and digest is null and at < ?2 limit ?3
)
