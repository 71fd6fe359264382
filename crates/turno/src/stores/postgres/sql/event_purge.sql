-- name: event_purge
-- Deletes from the oldest event up to the first one to keep. Decision times are not quite in the order of positions,
-- and a hole in the middle would be an undetectable gap. Records how far it went, so that no position is given twice.
with head as (
    select e.pos, e.at from turno.event_log e
    where e.pos > (select p.pos from turno.event_purged p)
    order by e.pos
    limit $2::bigint
), last as (
    select max(h.pos) as pos from head h
    where h.pos < coalesce((select min(k.pos) from head k where k.at >= $1::bigint), 9223372036854775807)
), noted as (
    update turno.event_purged p set pos = l.pos from last l where p.pos < l.pos
), gone as (
    delete from turno.event_log e
    where e.pos > (select p.pos from turno.event_purged p) and e.pos <= (select l.pos from last l)
    returning e.pos
)
select count(*) from gone
