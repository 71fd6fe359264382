-- epoch
select epoch from turno.mark
