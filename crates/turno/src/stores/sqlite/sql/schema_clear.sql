-- schema_clear
-- The table has one row; it is written anew after each migration.
delete from schema_version
