-- item_purge_count
-- What item_purge would find, one after the other.
select count(*) from done where queue = ?1 and at < ?2 and ended <> 1
