-- lease_pin
-- Holds the ownership against takers (FOR UPDATE) but not against heartbeats (FOR NO KEY UPDATE) while a line is
-- applied. The columns are read later, behind the line's lock, because heartbeats may arrive during that wait.
select k.resource from turno.lease k where k.resource = $1::text for key share
