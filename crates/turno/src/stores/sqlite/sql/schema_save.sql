-- schema_save
insert into schema_version (version, min_compatible) values (?1, ?2)
