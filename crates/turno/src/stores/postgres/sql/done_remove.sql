-- name: done_remove
delete from turno.done d
using unnest($1::bigint[]) as u (seq)
where d.seq = u.seq
