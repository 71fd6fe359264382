-- schema_lock
-- Instances that start at once migrate one after the other. The number is this program's alone ("turno").
select pg_advisory_xact_lock(500270919279)
