-- lease_walk
-- The last of the next `?2` names, along the primary key.
select max(resource) from (select resource from lease where resource > ?1 order by resource limit ?2)
