-- name: queue_rates
-- Acked items and failed attempts after ?2, counted up to a bound. Uses done_age and attempt_error_age.
select
    (select count(*) from (select 1 from done where queue = ?1 and at > ?2 and ended = 0 limit ?3)),
    (select count(*) from (
        select 1 from attempt_error cross join body on body.seq = attempt_error.seq
        where attempt_error.at > ?2 and body.queue = ?1 limit ?3
    ))
