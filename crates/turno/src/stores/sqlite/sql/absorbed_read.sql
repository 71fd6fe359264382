-- absorbed_read
select digest, at from absorbed where queue = ?1 and id = ?2
