-- One statement, two events: the person ($1) who is left, and the next one, unless that has a principal.
update siper.usuarios u set idper = $1::int + 100, apellido = $2::text
where u.idper = $1::int and not exists (select from siper.usuarios o where o.idper = $1::int + 100)
