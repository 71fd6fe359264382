-- hot_next_look
select ready_at from turno.hot where queue = $1::int and ready_at > $2::bigint order by ready_at limit 1
