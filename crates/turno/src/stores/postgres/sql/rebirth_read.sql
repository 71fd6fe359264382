-- rebirth_read
-- After the lanes' mutexes: whether what was remembered about their fronts still holds.
select case when is_called then last_value else 0 end from turno.rebirth
