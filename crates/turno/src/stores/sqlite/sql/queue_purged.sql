-- queue_purged
-- The number of accepted items always equals the sum of all states and this count.
update queue set purged = purged + ?2 where id = ?1
