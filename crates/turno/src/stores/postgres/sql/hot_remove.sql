-- hot_remove
delete from turno.hot h
using unnest($1::bigint[]) as u (seq)
where h.seq = u.seq
