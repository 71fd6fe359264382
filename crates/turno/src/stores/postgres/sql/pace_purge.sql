-- name: pace_purge
-- Every attempt removes a few rows that have no effect any more, so that the table stays as small as the recent attempts.
-- Rows that another attempt has locked are skipped.
delete from turno.sign_in_pace
where key in (
    select key from turno.sign_in_pace where paid_until < $1::bigint order by paid_until limit $2::bigint
    for update skip locked
)
