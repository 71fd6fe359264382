-- absorbed_add
insert into absorbed (queue, id, digest, at) values (?1, ?2, ?3, ?4)
