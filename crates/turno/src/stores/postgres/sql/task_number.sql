-- task_number
select nextval(pg_get_serial_sequence('turno.task', 'id'))
