-- absorbed_purge
delete from absorbed
where queue = ?1 and id in (select id from absorbed where queue = ?1 and at < ?2 order by at limit ?3)
