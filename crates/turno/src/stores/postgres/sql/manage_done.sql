-- manage_done
select d.seq, d.queue, d.ended, d.at, d.attempt, d.fence, d.revision, d.holder
from turno.done d
where d.seq = $1::bigint
