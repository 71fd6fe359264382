-- done_add
insert into done (seq, queue, ended, at, attempt, fence, revision, holder, handed_at)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
