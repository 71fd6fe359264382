-- Changes a column that the source does not watch: the trigger leaves no mark.
update siper.usuarios set telefono = $2::text where idper = $1::int
