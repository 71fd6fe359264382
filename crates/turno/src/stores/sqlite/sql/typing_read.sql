-- typing_read
select at from typing where queue = ?1 and lane = ?2
