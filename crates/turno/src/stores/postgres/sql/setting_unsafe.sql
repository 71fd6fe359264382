-- setting_unsafe
-- Settings under which a committed transaction can be lost, with their values.
select name, setting from pg_settings
where name in ('fsync', 'full_page_writes', 'synchronous_commit') and setting = 'off'
order by name
