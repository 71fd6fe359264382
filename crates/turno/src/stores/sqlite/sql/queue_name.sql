-- queue_name
select name from queue where id = ?1
