-- body_known
-- What was accepted under this id before, so that a repetition can be told from a mix-up; and since when it may be
-- forgotten, which is never for what is exhausted (ended 1).
select b.seq, b.key, coalesce(b.accepted, b.payload), d.at
from body b
left join done d on d.seq = b.seq and d.ended <> 1
where b.queue = ?1 and b.id = ?2
