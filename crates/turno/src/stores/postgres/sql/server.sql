-- server
-- The statistics are reset when the server recovers from a crash, and only then by itself: a transaction id of
-- before may have been given out again after it, so it proves nothing any more.
select current_setting('server_version'), coalesce(pg_stat_get_bgwriter_stat_reset_time()::text, '')
