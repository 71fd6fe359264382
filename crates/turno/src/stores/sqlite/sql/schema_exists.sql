-- schema_exists
select count(*) from sqlite_master where type = 'table' and name = 'schema_version'
