-- item_purge
-- Finished long ago, oldest first, from done_age.
select seq from done where queue = ?1 and at < ?2 order by at limit ?3
