-- rebirth_read
-- Read after the lanes' locks: tells whether the cached floors are still valid.
select case when is_called then last_value else 0 end from turno.rebirth
