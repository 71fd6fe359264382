-- came_back_add
insert into came_back (seq, fence, how, at, holder, handed_at, error)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
