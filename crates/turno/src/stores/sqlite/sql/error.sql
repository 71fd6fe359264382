-- name: error_add
insert into attempt_error (seq, attempt, fence, at, error, retry_at, holder, handed_at, expired)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)

-- name: error_remove
delete from attempt_error where seq = ?1
