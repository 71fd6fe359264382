-- queue_pause
update queue set paused = ?2 where id = ?1
returning name
