-- lease_due
-- The command Look decides again in the write transaction; this only finds candidates.
select resource from lease where look_at <= ?1 order by look_at limit ?2
