-- answer_read
select fingerprint, status, body, made_at from answer where scope = ?1 and key = ?2
