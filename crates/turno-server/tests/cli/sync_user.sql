insert into siper.usuarios (idper, nombre, apellido, hashpass, algoritmo_pass, principal)
values ($1, 'Nombre', 'Apellido', 'h', 'PG-SHA256', true)
