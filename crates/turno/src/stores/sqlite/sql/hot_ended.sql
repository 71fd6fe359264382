-- hot_ended
-- How the last hand-out of an unfinished item ended, if it was this one.
select last
from hot
where seq = ?1 and queue = ?2 and fence = ?3 and expires_at is null
