-- queue_read
-- Read by every claim, to notice a changed policy and a pause without locking anything.
select version, paused from queue where id = ?1
