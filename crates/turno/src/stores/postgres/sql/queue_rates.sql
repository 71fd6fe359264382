-- name: queue_rates
-- Acked items and failed attempts after $2, counted up to a bound. Uses done_recent and attempt_error_recent.
select (select count(*)
        from (select d.seq from turno.done d where d.at > $2::bigint and d.queue = $1::int and d.ended = 0 limit $3::bigint) p),
       (select count(*)
        from (select e.seq
              from turno.attempt_error e
              join turno.body b on b.seq = e.seq
              where e.at > $2::bigint and b.queue = $1::int
              limit $3::bigint) f)
