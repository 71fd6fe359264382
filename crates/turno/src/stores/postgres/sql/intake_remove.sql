-- intake_remove
delete from turno.intake i
using unnest($1::bigint[]) as u (n)
where i.n = u.n
