-- mark_read
select high from turno.mark
