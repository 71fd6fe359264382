-- schema_lock
-- Instances that start at once migrate one after another. The number is reserved for this program ("turno").
select pg_advisory_xact_lock(500270919279)
