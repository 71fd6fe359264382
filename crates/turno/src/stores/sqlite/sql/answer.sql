-- name: answer_purge
-- Oldest first, from answer_age. The outer search is by primary key.
delete from answer
where (scope, key) in (select scope, key from answer where made_at < ?1 order by made_at limit ?2)

-- name: answer_read
select fingerprint, status, body, made_at from answer where scope = ?1 and key = ?2
