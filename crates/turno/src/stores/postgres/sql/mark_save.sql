-- mark_save
-- Processes may commit in any order, so the mark only rises.
update turno.mark set high = $1::bigint where high < $1::bigint
