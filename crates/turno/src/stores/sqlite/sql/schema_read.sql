-- schema_read
select version, min_compatible from schema_version
