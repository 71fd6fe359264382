-- name: absorbed_add
insert into absorbed (queue, id, digest, at) values (?1, ?2, ?3, ?4)

-- name: absorbed_purge
delete from absorbed
where queue = ?1 and id in (select id from absorbed where queue = ?1 and at < ?2 order by at limit ?3)

-- name: absorbed_read
select digest, at from absorbed where queue = ?1 and id = ?2

-- name: absorbed_remove
delete from absorbed where queue = ?1 and id = ?2
