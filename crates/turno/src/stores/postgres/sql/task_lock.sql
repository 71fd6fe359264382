-- task_lock
-- Waits for nobody: whoever has it is applying a line, for as long as its effect takes, or runs a command of another
-- instance. What it says is read next, behind the lock, together with its lines.
select id from turno.task where id = $1::bigint for update skip locked
