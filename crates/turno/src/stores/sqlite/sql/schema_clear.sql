-- schema_clear
-- The table has one row, which is replaced after each migration.
delete from schema_version
