-- queue_read
-- Every claim reads this, to notice a changed policy or a pause without a lock.
select version, paused from queue where id = ?1
