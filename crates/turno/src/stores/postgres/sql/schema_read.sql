-- schema_read
select version, min_compatible from turno.schema_version order by version desc limit 1
