-- item_purge
-- Finished long ago, but not exhausted: that stays until a person decides; oldest first, from done_age.
select seq from done where queue = ?1 and at < ?2 and ended <> 1 order by at limit ?3
