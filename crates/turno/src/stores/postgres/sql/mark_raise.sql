-- mark_raise
-- Only upwards, whoever comes last.
update turno.mark set high = $1::bigint where high < $1::bigint
