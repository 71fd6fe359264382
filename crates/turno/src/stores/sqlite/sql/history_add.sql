-- name: history_add
-- Without `on conflict`: an ownership ends once, so a second end under the same fence must fail.
insert into lease_history (
    {grant}, at, reason, cause, by_user, note, resource
)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
