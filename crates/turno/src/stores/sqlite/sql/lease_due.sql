-- lease_due
-- What is due is decided anew in the write transaction; this only says where to look.
select resource from lease where look_at <= ?1 order by look_at limit ?2
