-- task_lock
-- Does not wait: the row is locked while a line is applied, which takes as long as its effect, or by a command on
-- another instance. The columns are read by the next statement, behind the lock, together with the lines.
select id from turno.task where id = $1::bigint for update skip locked
