-- name: pace_purge
-- Every attempt removes a few rows that have no effect any more, so that the table stays as small as the recent attempts.
delete from sign_in_pace
where key in (select key from sign_in_pace where paid_until < ?1 order by paid_until limit ?2)

-- name: pace_read
select key, paid_until from sign_in_pace where key in (?1, ?2, ?3)

-- name: pace_save
insert into sign_in_pace (key, paid_until) values (?1, ?2)
on conflict (key) do update set paid_until = excluded.paid_until
