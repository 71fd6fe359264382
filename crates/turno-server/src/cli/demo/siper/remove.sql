-- Whoever goes, now and then; the name ($2) is as good as any.
delete from siper.usuarios where idper in ($1::int, $1::int + 100) and $2::text is not null
