-- item_purge_count
-- Counts what item_purge would find.
select count(*) from done where queue = ?1 and at < ?2 and ended <> 1
