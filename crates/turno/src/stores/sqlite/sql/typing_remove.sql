-- typing_remove
delete from typing where queue = ?1 and lane = ?2
