-- lease_purge
-- In a range of names that was looked at: what nobody holds, waits for or has held lately says nothing.
delete from lease
where resource > ?1 and resource <= ?2 and fence is null and waiting is null and (ended_at is null or ended_at < ?3)
