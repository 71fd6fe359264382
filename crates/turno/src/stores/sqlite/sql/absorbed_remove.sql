-- absorbed_remove
delete from absorbed where queue = ?1 and id = ?2
