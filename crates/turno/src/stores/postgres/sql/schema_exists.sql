-- schema_exists
select to_regclass('turno.schema_version') is not null
