-- Lives of the database: one row that says which file this was when its life began. A copy is another file, and a
-- backup that was written over the file is newer than what the database says of itself; `timeline` counts those.
create table life (
    identifier text,
    timeline text,
    started text
) strict;
insert into life default values;
