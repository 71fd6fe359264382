-- name: schema_clear
-- The table has one row, which is replaced after each migration.
delete from schema_version

-- name: schema_exists
select count(*) from sqlite_master where type = 'table' and name = 'schema_version'

-- name: schema_read
select version, min_compatible from schema_version

-- name: schema_save
insert into schema_version (version, min_compatible) values (?1, ?2)
