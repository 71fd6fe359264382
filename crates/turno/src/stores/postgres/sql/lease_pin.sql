-- lease_pin
-- Holds the ownership against takers (FOR UPDATE) and not against heartbeats (FOR NO KEY UPDATE), for as long as a
-- line is being applied. What it says is read later, behind the line's lock: heartbeats may come while that is
-- waited for.
select k.resource from turno.lease k where k.resource = $1::text for key share
