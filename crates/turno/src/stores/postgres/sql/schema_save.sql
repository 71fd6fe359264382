-- schema_save
insert into turno.schema_version (version, min_compatible) values ($1::int, $2::int)
