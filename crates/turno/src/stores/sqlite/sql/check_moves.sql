-- name: check_moves
-- K1: Every stock move belongs to an applied line, and a completed task has only applied lines.
select x.what, x.detail
from (
    select 'task ' || m.task || ', line ' || m.line as what, 'stock moved for a line that is not applied' as detail
    from stock_move m
    left join task_line l on l.task = m.task and l.number = m.line and l.status = 'applied'
    where l.task is null
    union all
    select 'task ' || t.id || ', line ' || l.number, 'the task is completed and this line is not applied'
    from task t
    join task_line l on l.task = t.id and l.status <> 'applied'
    where t.status = 'completed'
) x
order by x.what
limit ?1
