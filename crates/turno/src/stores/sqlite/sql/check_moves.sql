-- name: check_moves
-- K1: Every stock move belongs to an applied line, and a completed task has only applied lines.
select json_object('task', x.task, 'line', x.line, 'problem', x.problem)
from (
    select m.task as task, m.line as line, 'moved_unapplied' as problem
    from stock_move m
    left join task_line l on l.task = m.task and l.number = m.line and l.status = 'applied'
    where l.task is null
    union all
    select t.id, l.number, 'completed_unapplied'
    from task t
    join task_line l on l.task = t.id and l.status <> 'applied'
    where t.status = 'completed'
) x
order by x.task, x.line
limit ?1
