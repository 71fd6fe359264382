-- hot_add
insert into hot (
    seq, queue, lane, enqueued_at, not_before, ready_at, expires_at, claimed_at, attempt, fence, grp, last,
    revision, handed, parked, holder, size
)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
