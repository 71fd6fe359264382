-- name: schema_lock
-- Instances that start at once migrate one after another. The number is reserved for this program ("turno").
select pg_advisory_xact_lock(500270919279)

-- name: schema_read
select version, min_compatible from turno.schema_version order by version desc limit 1

-- name: schema_save
insert into turno.schema_version (version, min_compatible) values ($1::int, $2::int)
