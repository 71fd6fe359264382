-- name: check_fences_of_lines
-- K2: Every line was applied under a fence that its task's lease had.
select json_object('task', l.task, 'line', l.number, 'problem', 'fence_never_held',
           'fence', l.applied_fence)
from task_line l
left join lease_history h on h.resource = 'task:' || l.task and h.fence = l.applied_fence
left join lease c on c.resource = 'task:' || l.task and c.fence = l.applied_fence
where l.applied_fence is not null and h.fence is null and c.fence is null
    -- If the history was purged, the fence cannot be checked.
    and exists (select 1 from lease_history o where o.resource = 'task:' || l.task and o.fence < l.applied_fence)
order by l.task, l.number
limit ?1
