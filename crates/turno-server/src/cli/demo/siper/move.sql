-- Moves a row to another key: two marks in one statement, for the person ($1) and for the next one, unless that has a row.
update siper.usuarios u set idper = $1::int + 100, apellido = $2::text
where u.idper = $1::int and not exists (select from siper.usuarios o where o.idper = $1::int + 100)
