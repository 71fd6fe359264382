-- check_deliveries
-- Q2: At most one delivery of a lane is handed out, and none is ready meanwhile.
select 'queue ' || h.queue || ', lane ' || h.lane,
       count(distinct h.fence) || ' deliveries are in process or ready'
from turno.hot h
where h.lane is not null and (h.expires_at is not null or h.ready_at is not null)
group by h.queue, h.lane
having count(distinct case when h.expires_at is not null then h.fence else -h.seq end) > 1
    and count(h.expires_at) > 0
order by h.queue, h.lane
limit $1::bigint
