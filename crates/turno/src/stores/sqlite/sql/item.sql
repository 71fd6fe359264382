-- name: item_purge
-- Finished items, oldest first, from done_age. Exhausted items stay until a person decides.
select seq from done where queue = ?1 and at < ?2 and ended <> 1 order by at limit ?3

-- name: item_purge_count
-- Counts what item_purge would find.
select count(*) from done where queue = ?1 and at < ?2 and ended <> 1
