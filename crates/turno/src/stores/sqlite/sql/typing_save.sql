-- typing_save
insert into typing (queue, lane, at) values (?1, ?2, ?3)
on conflict (queue, lane) do update set at = excluded.at
