-- lease_lines
-- In the order of the key, over those for which nobody waits: asked for only when somebody is locked out.
where k.resource > $1::text and k.waiting is not null
order by k.resource
limit $2::bigint
