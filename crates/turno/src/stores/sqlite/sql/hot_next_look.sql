-- hot_next_look
select min(ready_at) from hot where queue = ?1 and ready_at > ?2
