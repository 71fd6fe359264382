-- name: done_count
-- From done_age alone: processed, exhausted, cancelled.
select
    coalesce(sum(ended = 0), 0),
    coalesce(sum(ended = 1), 0),
    coalesce(sum(ended = 2), 0)
from done
where queue = ?1
