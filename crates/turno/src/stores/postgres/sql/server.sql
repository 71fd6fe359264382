-- name: server
-- The server resets its statistics when it recovers from a crash. After that, a transaction id from before may have
-- been given out again, so its status proves nothing. The mark is the one of the startup packet, unless a pooler shares
-- the session.
select current_setting('server_version'), coalesce(pg_stat_get_bgwriter_stat_reset_time()::text, ''),
    coalesce(current_setting('turno.mark', true), '')

-- name: setting_unsafe
-- Settings under which a committed transaction can be lost, with their values.
select name, setting from pg_settings
where name in ('fsync', 'full_page_writes', 'synchronous_commit') and setting = 'off'
order by name
