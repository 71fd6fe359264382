-- name: answer_read
select fingerprint, status, body, made_at from turno.answer where scope = $1::text and key = $2::text
