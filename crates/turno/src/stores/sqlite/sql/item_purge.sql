-- item_purge
-- Finished items, oldest first, from done_age. Exhausted items stay until a person decides.
select seq from done where queue = ?1 and at < ?2 and ended <> 1 order by at limit ?3
