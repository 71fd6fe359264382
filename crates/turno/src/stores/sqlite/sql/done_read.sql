-- done_read
select seq, queue, ended, at, attempt, fence, revision, holder, handed_at
from done
where seq = ?1
