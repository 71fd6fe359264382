-- queue_purged
-- What was accepted is always the sum of all states and this.
update queue set purged = purged + ?2 where id = ?1
