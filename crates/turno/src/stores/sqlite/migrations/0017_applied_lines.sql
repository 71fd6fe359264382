-- A task with applied lines is partially completed. Earlier programs left it in processing when a finalize ended early, where
-- a list of unfinished work did not show it.
update task set status = 'partially_completed'
where status = 'processing'
    and exists (select 1 from task_line l where l.task = task.id and l.status = 'applied');
