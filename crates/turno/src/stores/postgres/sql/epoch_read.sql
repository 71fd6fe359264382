-- epoch_read
select epoch from turno.mark
