create or replace function {function}() returns trigger
language plpgsql volatile security definer
{settings}
as {body};
