-- lease_purge
-- Within a range of names. A lease without holder, waiting line and recent ownership carries no information.
delete from lease
where resource > ?1 and resource <= ?2 and fence is null and waiting is null and (ended_at is null or ended_at < ?3)
